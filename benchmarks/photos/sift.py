"""SIFT with the ratio test, from OpenCV."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.photos.archives import Pixels
from benchmarks.photos.features import opaque
from benchmarks.photos.queries import Answer
from everlearn.errors import BadInput

RATIO = 0.75
MIN_MATCHES = 10
"""Matches that a known thing has at least, as in OpenCV's tutorial on finding objects."""
MIN_SIDE = 128
"""Smaller images are enlarged, since SIFT finds few key points on them."""
MAX_SIDE = 256


class Sift:
    """The name with the most matches that pass the ratio test.

    Reference: Lowe 2004, "Distinctive image features from scale-invariant keypoints".
    """

    def __init__(self) -> None:
        try:
            cv2: Any = importlib.import_module("cv2")
        except ImportError:
            raise BadInput("the baseline sift needs OpenCV; install opencv-python-headless") from None
        cv2.setNumThreads(1)
        self._cv2 = cv2
        self._detector = cv2.SIFT_create(500)

    def teach(self, images: Sequence[Pixels], names: Sequence[str]) -> None:
        self.names = list(names)
        found = [self._descriptors(image) for image in images]
        self.matchers = [self._matcher(some) for some in found]

    def _matcher(self, descriptors: Any) -> Any:
        matcher = self._cv2.BFMatcher(self._cv2.NORM_L2)
        matcher.add([descriptors])
        return matcher

    def ask(self, images: Sequence[Pixels]) -> list[Answer]:
        return [self._answer(self._descriptors(image)) for image in images]

    def _answer(self, query: Any) -> Answer:
        counts = [self._matches(query, matcher) for matcher in self.matchers]
        best = int(np.argmax(counts))
        name = self.names[best]
        return Answer(name if counts[best] >= MIN_MATCHES else None, name, float(counts[best]))

    def _matches(self, query: Any, matcher: Any) -> int:
        if len(query) == 0 or len(matcher.getTrainDescriptors()[0]) < 2:
            return 0
        pairs = matcher.knnMatch(query, k=2)
        return sum(first.distance < RATIO * second.distance for first, second in pairs)

    def _descriptors(self, image: Pixels) -> Any:
        cv2 = self._cv2
        gray = cv2.cvtColor(opaque(image), cv2.COLOR_RGB2GRAY)
        longer = max(gray.shape)
        factor = min(max(1.0, MIN_SIDE / longer), MAX_SIDE / longer)
        if factor != 1:
            method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
            gray = cv2.resize(gray, None, fx=factor, fy=factor, interpolation=method)
        _, found = self._detector.detectAndCompute(gray, None)
        return found if found is not None else np.zeros((0, 128), np.float32)
