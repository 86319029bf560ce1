"""The settings of streams of real images, one kind per data set."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from everlearn.errors import BadInput, unknown
from everlearn.factors import FACTOR_NAMES, FactorSpace, Poses
from everlearn.streams.registry import builder
from everlearn.streams.scenarios import ScenarioSettings
from everlearn.streams.settings import Colours, DrawnSize, Factor, HeldOut, ImageSize, check_drawn
from everlearn.streams.source import Shares, check_shares
from everlearn.streams.stream import Stream

if TYPE_CHECKING:
    from everlearn.streams.images.dataset import Collection
    from everlearn.streams.images.source import ImageSource


VARIANTS = ("static", "moving", "posed", "inverted", "coloured")
FULL_TURN = 6.283185307179586
ANYWHERE = {"low": 0.0, "high": 1.0}


class ImageSettings(ScenarioSettings):
    """A stream of real images, each shown as it is or under factors that are known.

    A variant is a word or several joined by "-", such as "moving-inverted": static shows drawings in the
    middle, moving at random whole pixels, posed in random size, turn and place, inverted as negatives,
    coloured in random hues. A factor that is set by itself goes before what the variant says.

    In the default every drawing is one image. With `poses`, each class is only its first drawing, in so
    many poses. The exemplar of a class is the drawing of its first training image, in the middle.
    """

    data: Path | None = None
    """the folder that holds the data set; what EVERLEARN_DATA names if not said"""
    image_size: ImageSize = 64
    """height and width in pixels, 16 to 512"""
    drawn_size: DrawnSize | None = None
    """pixels of a drawing's longer side; 7/16 of the image if not said, 28 of 64"""
    variant: str | None = None
    """static, moving, posed, inverted or coloured, or several; posed with poses, else static"""
    rgb: bool = False
    """colour images instead of gray ones; coloured ones always are"""
    background: Annotated[int, Field(ge=0, le=255)] = 0
    """gray level of the bare canvas: 0 is black, 255 white"""
    scale: Factor | None = None
    """sizes relative to drawn_size: a number of grid values, a list, or {"low": ..., "high": ...}"""
    angle: Factor | None = None
    """turns in radians"""
    x: Factor | None = None
    """places from left (0) to right (1)"""
    y: Factor | None = None
    """places from top (0) to bottom (1)"""
    colour: Colours | None = None
    """a number of hues (1 is white), a list of red-green-blue colours in 0..1, or a range of hues"""
    trimmed: bool | None = None
    """leave empty margins away, so that what is drawn fills drawn_size; yes with poses, else no"""
    n_poses: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    """show each class's first drawing in so many poses, instead of every drawing once"""
    held_out: HeldOut = 0
    """poses never trained on: how many, or a box such as {"scale": [0.9, 1.0], "x": [0.0, 0.3]}"""
    shuffled_classes: bool = False
    """put the classes in a random order that follows from the seed; labels count in that order"""
    split: Annotated[Shares, AfterValidator(check_shares)] = (0.7, 0.1, 0.2)
    """train, val and test: images per class or shares; a data set's own test images stay test"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for word in self.words:
            if word not in VARIANTS:
                raise unknown("variant", word, VARIANTS)
        check_drawn(self.drawn, self.image_size)
        if self.n_poses is None and self.held_out:
            raise BadInput("held_out is only for streams with poses; set n_poses too, or leave it out")
        _ = self.space() if self.n_poses is None else self.pose_list()
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the variant."""
        return tuple((self.variant or ("posed" if self.n_poses else "static")).split("-"))

    @property
    def title(self) -> str:
        """The scenario's part of the stream's id, after the variant's."""
        shown = [word for word in self.words if word != "static"]
        return "-".join([*shown, super().title])

    @property
    def drawn(self) -> int:
        """The pixels of a drawing's longer side in canonical form."""
        # Even, so that in the middle of an even image a drawing lies on whole pixels.
        return self.drawn_size or 2 * round(self.image_size * 7 / 32)

    @property
    def in_colour(self) -> bool:
        """Whether images have three colours."""
        return self.rgb or "coloured" in self.words

    def space(self) -> FactorSpace:
        """How drawings may be shown."""
        allowed: dict[str, Any] = {"scale": 1, "angle": 1, "x": 1, "y": 1, "colour": 1}
        if "moving" in self.words:
            allowed |= dict.fromkeys(("x", "y"), whole_places(self.image_size, self.drawn))
        if "posed" in self.words:
            turns = {"low": 0.0, "high": FULL_TURN}
            allowed |= {"scale": {"low": 0.5, "high": 1.0}, "angle": turns, "x": ANYWHERE, "y": ANYWHERE}
        if "coloured" in self.words:
            allowed["colour"] = ANYWHERE
        own: Mapping[str, Any] = {name: getattr(self, name) for name in allowed}
        return FactorSpace(**allowed | {name: value for name, value in own.items() if value is not None})

    def pose_list(self) -> Poses:
        """The poses in which the first drawing of a class may be shown."""
        space = self.space()
        n = self.n_poses if space.size is None else None
        poses = Poses(space, seed=self.seed, n=n, held_out=self.held_out)
        if n is None and (self.n_poses or 0) > len(poses.not_held_out):
            raise BadInput(
                f"n_poses is {self.n_poses}, but the factors allow only {len(poses.not_held_out)}; "
                "ask for fewer, say variant='posed', or give a factor more values"
            )
        return poses

    @abstractmethod
    def collection(self) -> "Collection":
        """The drawings, opened."""

    def source(self) -> "ImageSource":
        """The images with these settings, whatever their order of arrival."""
        from everlearn.streams.images.source import make_source

        return make_source(self)

    def build(self) -> Stream:
        """The stream with these settings."""
        from everlearn.streams.scenario_stream import ScenarioStream

        return ScenarioStream(spec=self, scenario=self.arrange(self.source()))


class MnistSettings(ImageSettings):
    """MNIST: ten handwritten digits, 6,000 training and 1,000 test images of each, white on black.

    Example:
        >>> MnistSettings(variant="moving").to_mapping()["stream"]
        'mnist'
    """

    kind = "mnist"
    classes_per_task: Annotated[int, Field(ge=1, le=10)] = 2
    """new classes in every task, at most 10"""

    def collection(self) -> "Collection":
        """The digits, opened."""
        from everlearn.streams.images.mnist import open_mnist

        return open_mnist(self.data)


class FashionSettings(ImageSettings):
    """Fashion-MNIST: ten kinds of clothes, in the numbers and sizes of MNIST.

    Example:
        >>> FashionSettings(variant="inverted").title
        'inverted-class-incremental'
    """

    kind = "fashion"
    classes_per_task: Annotated[int, Field(ge=1, le=10)] = 2
    """new classes in every task, at most 10"""

    def collection(self) -> "Collection":
        """The clothes, opened."""
        from everlearn.streams.images.mnist import open_fashion

        return open_fashion(self.data)


class OmniglotSettings(ImageSettings):
    """Omniglot: characters of many alphabets, drawn by twenty people each, white on black.

    Classes are sorted by alphabet. With `poses`, each character is one drawing under random similarity
    transforms.

    Example:
        >>> OmniglotSettings(X.title
        'posed-class-incremental'
    """

    kind = "omniglot"

    def collection(self) -> "Collection":
        """The characters, opened."""
        from everlearn.streams.images.omniglot import open_omniglot

        return open_omniglot(self.data)


class FolderSettings(ImageSettings):
    """A folder of images: a sub-folder per class, or one image per class (then say `poses`).

    Example:
        >>> FolderSettings(data="my/icons", n_poses=50).drawn
        28
    """

    kind = "folder"
    drawn_size: DrawnSize | None = None
    """pixels of an image's longer side; the whole canvas if nothing moves, else 7/16 of it"""
    rgb: bool = True
    """colour images instead of gray ones"""
    background: Annotated[int, Field(ge=0, le=255)] = 255
    """gray level of the canvas, seen beside and through images: 0 is black, 255 white"""

    @property
    def drawn(self) -> int:
        """The pixels of an image's longer side in canonical form."""
        moves = {"moving", "posed"} & {*self.words} or any(getattr(self, name) for name in FACTOR_NAMES)
        return super().drawn if moves or self.drawn_size else self.image_size

    def collection(self) -> "Collection":
        """The images, found but not yet decoded."""
        from everlearn.streams.images.folder import open_folder

        if self.data is None:
            raise BadInput("nobody said which folder of images; set data= to it")
        return open_folder(self.data, drawn_size=self.drawn, rgb=self.in_colour)


def whole_places(image_size: int, drawn_size: int) -> list[float]:
    """The places, from 0 to 1, at which a drawing lies on whole pixels and inside the image.

    Example:
        >>> places = whole_places(64, 28)
        >>> len(places), places[0], places[16], places[-1]
        (33, 0.0, 0.5, 1.0)
    """
    quarter, half = image_size / 4, drawn_size / 2
    corners = range(image_size - drawn_size + 1)
    inside = [corner + half for corner in corners if quarter <= corner + half <= 3 * quarter]
    return [2 * (centre - quarter) / image_size for centre in inside]


mnist = builder(MnistSettings)
fashion = builder(FashionSettings)
omniglot = builder(OmniglotSettings)
folder = builder(FolderSettings)
