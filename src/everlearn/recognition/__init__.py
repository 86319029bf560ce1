"""Recognition of real objects from one image each: canonical images, descriptors, alignment, calibration.

`Recogniser` stores named images and recognises what other images show.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.recognition.answer import Answer
    from everlearn.recognition.recogniser import Recogniser

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
