"""Settings of streams of a user's own images: arrays, a table of files, a Hugging Face dataset."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field

from everlearn.errors import BadInput
from everlearn.streams.images.location import data_path
from everlearn.streams.images.settings import CutOutSettings, FolderSettings
from everlearn.streams.registry import builder
from everlearn.streams.settings import Count

if TYPE_CHECKING:
    from everlearn.streams.images.arrays import Arrays
    from everlearn.streams.images.dataset import Dataset
    from everlearn.streams.images.source import ImageSource

SmallImageSize = Annotated[int, Field(ge=8, le=512)]


class ArraySettings(CutOutSettings):
    """Arrays of images: an .npz file, or arrays in memory (see `everlearn.streams.from_arrays`).

    The file has images (n, H, W) or (n, H, W, C), labels (n,), and optionally test_images, test_labels and
    names. Images that are not square are centered on a square canvas.

    Example:
        >>> import numpy as np
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "images.npz")
        >>> np.savez(file, images=np.zeros((40, 12, 12), np.uint8), labels=np.arange(40) % 4)
        >>> arrays(data=file, classes_per_task=2)
        <arrays/class-incremental-v1: 2 tasks>
    """

    kind = "arrays"
    classes_per_task: Count = 2
    """new classes per task"""
    data: Path | None = None
    """.npz file with images and labels, optionally test_images, test_labels and names"""
    image_size: SmallImageSize | None = None  # type: ignore[assignment]
    """height and width in pixels, 8 to 512; default: that of the images"""
    rgb: bool | None = None  # type: ignore[assignment]
    """colour images instead of gray ones; default: as the images are"""
    content: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """SHA-256 of arrays in memory, instead of data"""

    @property
    def in_colour(self) -> bool:
        return bool(self.rgb) or super().in_colour

    def arrays(self) -> "Arrays":
        """The arrays, from the file or from memory."""
        from everlearn.streams.images.arrays import find_content, open_npz

        if (self.data is None) == (self.content is None):
            given = "neither data nor content is" if self.data is None else "both data and content are"
            raise BadInput(f"{given} given; set data= to an .npz file, or use from_arrays")
        return find_content(self.content) if self.content else open_npz(data_path(self.data, "the .npz file"))

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.arrays import ArrayDataset

        return _testable(self, ArrayDataset(self.arrays(), rgb=self.in_colour, is_cut_out=bool(self.cut_out)))

    def source(self) -> "ImageSource":
        from everlearn.streams.images.source import make_source

        return make_source(self._complete())

    def _complete(self) -> Self:
        """The settings with the size and the colours of the arrays where they are not given."""
        arrays = self.arrays()
        size = self.image_size or arrays.size
        rgb = arrays.in_colour if self.rgb is None else self.rgb
        return type(self)(**{**self.model_dump(), "image_size": size, "rgb": rgb})


class CsvSettings(FolderSettings):
    """A CSV file with the columns image (a path, relative to the file) and label, optionally split.

    A split is train, val or test. Classes are sorted by number if all labels are numbers, otherwise by name.

    Example:
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> file = Path(mkdtemp(), "table.csv")
        >>> with file.open("w") as table:
        ...     print("photo,label", file=table)
        ...     for number in range(8):
        ...         Image.new("RGB", (20, 20)).save(file.parent / f"{number}.png")
        ...         print(f"{number}.png", "cat" if number % 2 else "dog", sep=",", file=table)
        >>> csv(data=file, image_column="photo", image_size=16, classes_per_task=1)
        <csv/class-incremental-v1: 2 tasks>
    """

    kind = "csv"
    classes_per_task: Count = 2
    """new classes per task"""
    data: Path | None = None
    """the CSV file"""
    image_column: str | None = None
    """the column with paths of images; default: image, path, file or filename"""
    label_column: str | None = None
    """the column with labels; default: label or class"""
    split_column: str | None = None
    """the column with train, val or test; default: split, if there is one"""

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.csv_file import open_csv

        dataset = open_csv(
            data_path(self.data, "the CSV file"),
            columns={"image": self.image_column, "label": self.label_column, "split": self.split_column},
            drawn_size=self.resolved_drawn_size,
            rgb=self.in_colour,
            is_cut_out=bool(self.cut_out),
        )
        return _testable(self, dataset)


class HuggingFaceSettings(FolderSettings):
    """A Hugging Face dataset on this machine: a folder of `save_to_disk`, or of Parquet or other files.

    It needs the package datasets. Splits train, validation and test are used as such.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("huggingface")(data="rows.parquet", label_column="kind", scenario="nc")
        >>> settings.title, settings.image_size
        ('nc', 64)
    """

    kind = "huggingface"
    classes_per_task: Count = 2
    """new classes per task"""
    data: Path | None = None
    """folder of the dataset, or a .parquet file"""
    image_column: str | None = None
    """the column with images; default: the first one"""
    label_column: str | None = None
    """the column with labels; default: label, labels, fine_label or class"""

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.huggingface import open_huggingface

        dataset = open_huggingface(
            data_path(self.data, "the Hugging Face dataset"),
            image_column=self.image_column,
            label_column=self.label_column,
            drawn_size=self.resolved_drawn_size,
            rgb=self.in_colour,
            is_cut_out=bool(self.cut_out),
        )
        return _testable(self, dataset)


def _testable(settings: CutOutSettings, dataset: "Dataset") -> "Dataset":
    """The dataset; raises `BadInput` if a class has no image for testing and is not shown in poses."""
    from everlearn.streams.images.dataset import check_testable

    if settings.n_poses is None:
        check_testable(dataset)
    return dataset


arrays = builder(ArraySettings)
csv = builder(CsvSettings)
huggingface = builder(HuggingFaceSettings)
