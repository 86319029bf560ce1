"""Settings of streams of real images, one class per dataset."""

from abc import abstractmethod
from collections.abc import Mapping
from math import tau
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from everlearn.errors import BadInput, unknown
from everlearn.factors import FACTOR_NAMES, FactorSpace, Poses
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import ScenarioSettings, SessionSettings
from everlearn.streams.settings import (
    ColourSetting,
    DrawnSize,
    FactorSetting,
    HeldOutSetting,
    ImageSize,
    check_drawn_size,
)
from everlearn.streams.source import Source, SplitSizes, check_split

# Readers are imported in the methods that need them: settings must not load compiled code or decoders.
if TYPE_CHECKING:
    from everlearn.streams.images.dataset import Dataset
    from everlearn.streams.images.source import ImageSource

VARIANTS = ("static", "moving", "posed", "inverted", "coloured")
ANY_POSITION = {"low": 0.0, "high": 1.0}


class ImageSettings(ScenarioSettings):
    """A stream of real images, shown as they are or under known factors.

    A variant is one or several of these, joined by "-": static (centered), moving (random integer pixel
    positions), posed (random scale, angle and position), inverted, coloured (random hues). A factor that is
    set overrides the variant.

    By default every image of the dataset occurs once. With `n_poses`, each class consists of its first image
    in that number of poses.
    """

    data: Path | None = None
    """folder of the dataset; default: EVERLEARN_DATA"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    drawn_size: DrawnSize | None = None
    """longer side of the dataset's image on the canvas in pixels; default: 7/16 of image_size"""
    variant: str | None = None
    """static, moving, posed, inverted, coloured or several; default: posed with n_poses, otherwise static"""
    rgb: bool = False
    """colour images instead of gray ones; always with the variant coloured"""
    background: Annotated[int, Field(ge=0, le=255)] = 0
    """gray level of the canvas: 0 is black, 255 white"""
    scale: FactorSetting | None = None
    """scales relative to drawn_size: a number of grid values, a list, or {"low": ..., "high": ...}"""
    angle: FactorSetting | None = None
    """angles in radians"""
    x: FactorSetting | None = None
    """horizontal positions from left (0) to right (1)"""
    y: FactorSetting | None = None
    """vertical positions from top (0) to bottom (1)"""
    colour: ColourSetting | None = None
    """a number of hues (1 is white), a list of RGB colours in 0..1, or a range of hues"""
    trimmed: bool | None = None
    """remove empty margins, so that the content fills drawn_size; default: true with n_poses"""
    n_poses: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    """show the first image of each class in this number of poses, instead of every image once"""
    held_out: HeldOutSetting = 0
    """poses excluded from training: a number, or a box such as {"scale": [0.9, 1.0], "x": [0.0, 0.3]}"""
    shuffled_classes: bool = False
    """shuffle the classes; labels are numbered in the new order"""
    split: Annotated[SplitSizes, AfterValidator(check_split)] = (0.7, 0.1, 0.2)
    """train, val and test images per class: counts or fractions; test images of a dataset stay test images"""

    @model_validator(mode="after")
    def _check_variant_and_poses(self) -> Self:
        for variant in self.variants:
            if variant not in VARIANTS:
                raise unknown("variant", variant, VARIANTS)
        if self.image_size is None:  # the size of arrays, which is known when they are loaded
            return self
        check_drawn_size(self.resolved_drawn_size, self.image_size)
        if self.n_poses is None and self.held_out:
            raise BadInput("held_out requires n_poses; set n_poses too, or remove held_out")
        _ = self.space() if self.n_poses is None else self.poses()
        return self

    @property
    def variants(self) -> tuple[str, ...]:
        """The parts of the variant."""
        return tuple((self.variant or ("posed" if self.n_poses else "static")).split("-"))

    @property
    def title(self) -> str:
        return "-".join([*(variant for variant in self.variants if variant != "static"), super().title])

    @property
    def resolved_drawn_size(self) -> int:
        """`drawn_size` or its default."""
        # Even, so that content in the center of an even image is aligned with its pixels.
        return self.drawn_size or 2 * round(self.image_size * 7 / 32)

    @property
    def in_colour(self) -> bool:
        """Whether images have three channels."""
        return self.rgb or "coloured" in self.variants

    def space(self) -> FactorSpace:
        """The values of each factor."""
        values: dict[str, Any] = {"scale": 1, "angle": 1, "x": 1, "y": 1, "colour": 1}
        if "moving" in self.variants:
            values |= dict.fromkeys(("x", "y"), pixel_positions(self.image_size, self.resolved_drawn_size))
        if "posed" in self.variants:
            values |= {"scale": {"low": 0.5, "high": 1.0}, "angle": {"low": 0.0, "high": tau}}
            values |= {"x": ANY_POSITION, "y": ANY_POSITION}
        if "coloured" in self.variants:
            values["colour"] = ANY_POSITION
        given = {name: getattr(self, name) for name in values}
        return FactorSpace(**values | {name: value for name, value in given.items() if value is not None})

    def poses(self) -> Poses:
        """The poses of the first image of a class."""
        space = self.space()
        n = self.n_poses if space.size is None else None
        poses = Poses(space, seed=self.seed, n=n, held_out=self.held_out)
        if n is None and (self.n_poses or 0) > len(poses.not_held_out):
            raise BadInput(
                f"n_poses is {self.n_poses}, but the factors allow only {len(poses.not_held_out)}; "
                "reduce it, set variant='posed', or give a factor more values"
            )
        return poses

    @abstractmethod
    def dataset(self) -> "Dataset":
        """Open the dataset."""

    def source(self) -> Source:
        from everlearn.streams.images.source import make_source

        return make_source(self)


class MnistSettings(ImageSettings):
    """MNIST: ten handwritten digits, 6,000 training and 1,000 test images of each, white on black.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("mnist")(variant="moving-coloured", n_tasks=3)
        >>> settings.title, settings.in_colour
        ('moving-coloured-class-incremental', True)
    """

    kind = "mnist"
    source_name: ClassVar[str] = "mnist"
    classes_per_task: Annotated[int, Field(ge=1, le=10)] = 2
    """new classes per task, at most 10"""

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.mnist import open_mnist

        return open_mnist(self.data, self.source_name)


class FashionSettings(MnistSettings):
    """Fashion-MNIST: ten kinds of clothes, with the numbers and sizes of MNIST.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("fashion")(n_poses=100, held_out={"scale": (0.9, 1.0)})
        >>> len(settings.poses().held_out), settings.variants
        (20, ('posed',))
    """

    kind = "fashion"
    source_name = "fashion-mnist"


class OmniglotSettings(ImageSettings):
    """Omniglot: characters of many alphabets, 20 images of each, white on black, sorted by alphabet.

    Example:
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> folder = Path(mkdtemp(), "images_background", "Greek")
        >>> for character in ("character01", "character02"):
        ...     (folder / character).mkdir(parents=True)
        ...     for number in range(4):
        ...         Image.new("1", (105, 105)).save(folder / character / f"{number}.png")
        >>> omniglot(data=folder.parents[1], classes_per_task=1)
        <omniglot/class-incremental-v1: 2 tasks>
    """

    kind = "omniglot"

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.omniglot import open_omniglot

        return open_omniglot(self.data)


class FullSizeSettings(ImageSettings):
    """A stream of images that fill the canvas unless they move."""

    drawn_size: DrawnSize | None = None
    """longer side of an image on the canvas in pixels; default: image_size, or 7/16 of it if it moves"""

    @property
    def resolved_drawn_size(self) -> int:
        moves = {"moving", "posed"} & {*self.variants} or any(getattr(self, name) for name in FACTOR_NAMES)
        return super().resolved_drawn_size if moves or self.drawn_size else self.image_size


class CutOutSettings(FullSizeSettings):
    """A stream of a user's own images, which may be cut out of their backgrounds, as in `everlearn teach`."""

    late: ClassVar[Mapping[str, Any]] = {"cut_out": False}

    cut_out: bool | None = None
    """cut the object out of each image, as `everlearn teach` does; default: true with n_poses"""

    @model_validator(mode="before")
    @classmethod
    def _choose_cut_out(cls, given: dict[str, Any]) -> dict[str, Any]:
        if given.get("cut_out") is None:
            given = {**given, "cut_out": given.get("n_poses") is not None}
        return given

    @property
    def title(self) -> str:
        return f"cut-out-{super().title}" if self.cut_out else super().title


class FolderSettings(CutOutSettings):
    """A folder of images: one sub-folder per class, or one image per class (set `n_poses`).

    The class folders may be in folders train, val and test. A zip file is read like a folder.

    Example:
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> images = Path(mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     Image.new("RGB", (30, 20)).save(images / f"{name}.png")
        >>> folder(data=images, n_poses=10, image_size=32, classes_per_task=1).task(1).train.images.shape
        (7, 32, 32, 3)
    """

    kind = "folder"
    rgb: bool = True
    """colour images instead of gray ones"""
    background: Annotated[int, Field(ge=0, le=255)] = 255
    """gray level of the canvas, visible around and through images: 0 is black, 255 white"""

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.folder import open_folder

        if self.data is None:
            raise BadInput("the folder of images is not given; set data=")
        return open_folder(
            self.data,
            drawn_size=self.resolved_drawn_size,
            rgb=self.in_colour,
            is_cut_out=bool(self.cut_out),
        )


class Core50Settings(SessionSettings):
    """CORe50 (Lomonaco and Maltoni, 2017): 50 objects, 8 sessions for training, 3 for testing.

    Files have their original layout (s1/o1/C_01_01_000.png); sessions 3, 7, 10 are for testing. A subset is
    accepted if every object is in every session. The order of objects depends on the seed.

    Example:
        >>> from itertools import product
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> root = Path(mkdtemp())
        >>> for session, number in product(range(1, 12), (1, 2)):
        ...     frames = root / f"s{session}" / f"o{number}"
        ...     frames.mkdir(parents=True)
        ...     Image.new("RGB", (16, 16)).save(frames / f"C_{session:02}_{number:02}_000.png")
        >>> core50(data=root, image_size=16, scenario="ni")
        <core50/ni-v1: 8 tasks>
    """

    kind = "core50"

    data: Path | None = None
    """folder with s1 to s11, or its parent; default: EVERLEARN_DATA"""
    image_size: ImageSize = 128
    """height and width in pixels, 16 to 512"""
    rgb: bool = True
    """colour images instead of gray ones"""
    frame_step: Annotated[int, Field(ge=1, le=1000)] = 1
    """use every n-th frame of a session"""

    def source(self) -> "ImageSource":
        from everlearn.streams.images.core50 import make_source

        return make_source(self)


def pixel_positions(image_size: int, drawn_size: int) -> list[float]:
    """The positions, from 0 to 1, at which content is aligned with pixels and inside the image."""
    quarter = image_size / 4
    centers = [corner + drawn_size / 2 for corner in range(image_size - drawn_size + 1)]
    return [2 * (center - quarter) / image_size for center in centers if quarter <= center <= 3 * quarter]


mnist = builder(MnistSettings)
fashion = builder(FashionSettings)
omniglot = builder(OmniglotSettings)
folder = builder(FolderSettings)
core50 = builder(Core50Settings)
