"""Settings of the standard benchmarks of continual learning, with the tasks and splits of the literature.

All training images are for training and all test images for testing; there are no validation images unless
`split` is set. Classes come in the order of the dataset unless `class_order` is set.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from everlearn.errors import BadInput
from everlearn.streams.images.settings import FullSizeSettings
from everlearn.streams.registry import builder
from everlearn.streams.scenarios.settings import ScenarioName
from everlearn.streams.settings import Count, ImageSize
from everlearn.streams.source import SplitSizes, check_split

if TYPE_CHECKING:
    from everlearn.streams.images.dataset import Dataset
    from everlearn.streams.source import Source

ANGLES = tuple(18.0 * task for task in range(10))
"""Degrees of ten tasks, spaced evenly in the range from 0 to 180 of Lopez-Paz and Ranzato (2017)."""

SplitSetting = Annotated[SplitSizes, AfterValidator(check_split)]
Angle = Annotated[float, Field(ge=-360, le=360)]


class BenchmarkSettings(FullSizeSettings):
    """The classes of a dataset in tasks of equal size."""

    split: SplitSetting = (0.8, 0.0, 0.2)
    """train, val and test images per class: counts or fractions; test images of a dataset stay test images"""
    class_order: Literal["natural", "icarl"] | tuple[int, ...] = "natural"
    """natural (that of the dataset), icarl (random with seed 1993, as in PyCIL), or all class ids"""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.shuffled_classes and self.class_order != "natural":
            raise BadInput("shuffled_classes and class_order both set the order of classes; give one of them")
        return self

    @abstractmethod
    def open(self) -> "Dataset":
        """Open the dataset with its classes in their natural order."""

    def dataset(self) -> "Dataset":
        from everlearn.streams.images.class_orders import reorder

        return reorder(self.open(), self.class_order)


class SplitMnistSettings(BenchmarkSettings):
    """Split MNIST (Zenke et al., 2017): five tasks of two digits, 28 pixels.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("split-mnist")(class_order=(9, 8, 7, 6, 5, 4, 3, 2, 1, 0))
        >>> settings.title, settings.image_size, settings.classes_per_task
        ('class-incremental', 28, 2)
    """

    kind = "split-mnist"
    source_name: ClassVar[str] = "mnist"
    classes_per_task: Annotated[int, Field(ge=1, le=10)] = 2
    """new classes per task, at most 10"""
    image_size: ImageSize = 28
    """height and width in pixels, 16 to 512"""

    def open(self) -> "Dataset":
        from everlearn.streams.images.mnist import open_mnist

        return open_mnist(self.data, self.source_name)


class SplitFashionSettings(SplitMnistSettings):
    """Split Fashion-MNIST: five tasks of two kinds of clothes, 28 pixels.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings_class("split-fashion")(boundaries="blurry", blurry_percent=30).title
        'class-incremental-blurry'
    """

    kind = "split-fashion"
    source_name = "fashion-mnist"


class PermutedMnistSettings(SplitMnistSettings):
    """Permuted MNIST (Goodfellow et al., 2013): the ten digits in each task, under a random order of pixels.

    The first task is MNIST as it is, as in Goodfellow et al. and Zenke et al. (2017); Lopez-Paz and Ranzato
    (2017) permute it too. Any number of tasks is possible.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("permuted-mnist")(n_tasks=100, permute_first=True)
        >>> settings.scenario, settings.classes_per_task
        ('domain-incremental', 10)
    """

    kind = "permuted-mnist"
    n_tasks: Count = 10
    """number of tasks"""
    classes_per_task: Annotated[int, Field(ge=1, le=10)] = 10
    """new classes per task, at most 10"""
    scenario: ScenarioName = "domain-incremental"
    """domain-incremental (the same ten labels in each task), or any other"""
    permute_first: bool = False
    """permute the pixels of the first task too"""

    def source(self) -> "Source":
        from everlearn.streams.images.domains import PermutedSource
        from everlearn.streams.images.source import make_source

        return PermutedSource(make_source(self), seed=self.seed, permute_first=self.permute_first)


class RotatedMnistSettings(SplitMnistSettings):
    """Rotated MNIST (Lopez-Paz and Ranzato, 2017): the ten digits in each task, rotated by a fixed angle.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings_class("rotated-mnist")().angles[:4]  # of the first tasks, in degrees
        (0.0, 18.0, 36.0, 54.0)
    """

    kind = "rotated-mnist"
    classes_per_task: Annotated[int, Field(ge=1, le=10)] = 10
    """new classes per task, at most 10"""
    scenario: ScenarioName = "domain-incremental"
    """domain-incremental (the same ten labels in each task), or any other"""
    angles: Annotated[tuple[Angle, ...], Field(min_length=1)] = ANGLES
    """the angle of each task in degrees, clockwise"""

    def source(self) -> "Source":
        from everlearn.streams.images.domains import rotated_source

        return rotated_source(self)


class SplitCifar10Settings(BenchmarkSettings):
    """Split CIFAR-10: five tasks of two classes, 32 pixels.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("split-cifar10")(split=(0.7, 0.1, 0.2), classes_per_task=5)
        >>> settings.image_size, settings.in_colour
        (32, True)
    """

    kind = "split-cifar10"
    source_name: ClassVar[str] = "cifar10"
    classes_per_task: Count = 2
    """new classes per task"""
    image_size: ImageSize = 32
    """height and width in pixels, 16 to 512"""
    rgb: bool = True
    """colour images instead of gray ones"""

    def open(self) -> "Dataset":
        from everlearn.streams.images.cifar import open_cifar

        return open_cifar(
            self.data, self.source_name, drawn_size=self.resolved_drawn_size, rgb=self.in_colour
        )


class SplitCifar100Settings(SplitCifar10Settings):
    """Split CIFAR-100 (Rebuffi et al., 2017): ten tasks of ten classes, 32 pixels.

    The usual class order of class-incremental learning is class_order="icarl".

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("split-cifar100")(class_order="icarl", scenario="nc", first_classes=50)
        >>> settings.title, settings.classes_per_task
        ('nc', 10)
    """

    kind = "split-cifar100"
    source_name = "cifar100"
    classes_per_task: Count = 10
    """new classes per task"""


class SplitTinyImageNetSettings(BenchmarkSettings):
    """Split Tiny-ImageNet: ten tasks of twenty classes, 64 pixels; the validation images are for testing.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("split-tiny-imagenet")(image_size=32, classes_per_task=10)
        >>> settings.resolved_drawn_size  # images fill the canvas
        32
    """

    kind = "split-tiny-imagenet"
    classes_per_task: Count = 20
    """new classes per task"""
    rgb: bool = True
    """colour images instead of gray ones"""

    def open(self) -> "Dataset":
        from everlearn.streams.images.imagenet import open_tiny_imagenet

        return open_tiny_imagenet(self.data, drawn_size=self.resolved_drawn_size, rgb=self.in_colour)


class ImageNetRSettings(BenchmarkSettings):
    """Split ImageNet-R (Wang et al., 2022): ten tasks of twenty classes, 224 pixels.

    The published list imagenet-r_test.yaml is used if it is beside the classes, or folders train and test;
    otherwise a random fifth of each class is for testing.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> root = Path(mkdtemp(), "imagenet-r")
        >>> for name in ("n01443537", "n01484850"):
        ...     (root / name).mkdir(parents=True)
        ...     for number in range(5):
        ...         Image.new("RGB", (24, 24)).save(root / name / f"art_{number}.png")
        >>> imagenet_r(data=root, image_size=32, classes_per_task=1).task(0).train.images.shape
        (4, 32, 32, 3)
    """

    kind = "imagenet-r"
    classes_per_task: Count = 20
    """new classes per task"""
    image_size: ImageSize = 224
    """height and width in pixels, 16 to 512"""
    rgb: bool = True
    """colour images instead of gray ones"""

    def open(self) -> "Dataset":
        from everlearn.streams.images.imagenet import open_imagenet_r

        return open_imagenet_r(self.data, drawn_size=self.resolved_drawn_size, rgb=self.in_colour)


split_mnist = builder(SplitMnistSettings)
split_fashion = builder(SplitFashionSettings)
permuted_mnist = builder(PermutedMnistSettings)
rotated_mnist = builder(RotatedMnistSettings)
split_cifar10 = builder(SplitCifar10Settings)
split_cifar100 = builder(SplitCifar100Settings)
split_tiny_imagenet = builder(SplitTinyImageNetSettings)
imagenet_r = builder(ImageNetRSettings)
