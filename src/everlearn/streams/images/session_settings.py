"""Settings of real images in sessions, with the scenarios of CORe50."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from everlearn.streams.registry import builder
from everlearn.streams.scenarios import SessionSettings
from everlearn.streams.settings import Count, ImageSize

if TYPE_CHECKING:
    from everlearn.streams.source import Source


class Cifar50Settings(SessionSettings):
    """Fifty classes of CIFAR-100, the training images of each cut into eight sessions.

    The images of a class are sorted along the first principal component of their pixels, so that a session
    has its own light and background; with sessions "random" they are not, as a control. The seed selects the
    classes and their order. Test images are those of the dataset, of all kinds.

    The tasks are those of CORe50 (Lomonaco and Maltoni, 2017): scenario "nc" has 10 classes and then 8 times
    5, "nic" 391 tasks (196 with sessions_per_task=2, 79 with 5), "ni" 8.

    Example:
        >>> from itertools import product
        >>> from tempfile import mkdtemp
        >>> from PIL import Image
        >>> root = Path(mkdtemp())
        >>> for split, name, number in product(("train", "test"), "abc", range(8)):
        ...     (root / split / name).mkdir(parents=True, exist_ok=True)
        ...     Image.new("RGB", (32, 32), (20 * number, 0, 0)).save(root / split / name / f"{number}.png")
        >>> cifar_50(data=root, scenario="nic", classes_per_task=1, first_classes=2)
        <cifar-50/nic-v1: 23 tasks>
    """

    kind = "cifar-50"

    data: Path | None = None
    """folder of CIFAR-100; default: EVERLEARN_DATA"""
    n_classes: Count | None = None
    """number of classes; default: 50, or all if there are fewer"""
    image_size: ImageSize = 32
    """height and width in pixels, 16 to 512"""
    rgb: bool = True
    """colour images instead of gray ones"""
    sessions: Literal["principal", "random"] = "principal"
    """cut along the first principal component of a class (principal), or at random"""

    def source(self) -> "Source":
        from everlearn.streams.images.session_cuts import make_source

        return make_source(self)


class Objects50Settings(SessionSettings):
    """Fifty real objects in eleven sessions, eight for training and three for testing, as in CORe50.

    Objects are cut out of ETH-80 and ALOI, 25 of each, which the seed selects. A session has its own photo
    of a shop (of the Grocery Store Dataset) as background, its own light, and a smooth path; within it each
    object is seen from a quarter of all directions. A twelfth session is for validation.

    The tasks are those of CORe50 (Lomonaco and Maltoni, 2017): scenario "nc" has 10 objects and then 8 times
    5, "nic" 391 tasks (196 with sessions_per_task=2, 79 with 5), "ni" 8.

    Example:
        >>> from everlearn.streams import settings_class
        >>> settings = settings_class("objects-50")(scenario="nic", sessions_per_task=2)
        >>> settings.title, settings.image_size
        ('nic', 128)
    """

    kind = "objects-50"

    data: Path | None = None
    """folder with the folders eth80, aloi and grocery; default: EVERLEARN_DATA"""
    n_classes: Count | None = None
    """number of objects; default: 50"""
    image_size: ImageSize = 128
    """height and width in pixels, 16 to 512"""
    frames_per_session: Annotated[int, Field(ge=2, le=10_000)] = 20
    """images of an object in a session"""

    def source(self) -> "Source":
        from everlearn.streams.images.objects import ObjectSource

        return ObjectSource(self)


cifar_50 = builder(Cifar50Settings)
objects_50 = builder(Objects50Settings)
