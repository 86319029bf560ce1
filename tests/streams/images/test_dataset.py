import pickle

import numpy as np
from PIL import Image

from everlearn.streams.images.dataset import FileDataset, ImageCache

from .files import png

RED = png(Image.new("RGB", (6, 4), "red"))


def test_images_are_cached():
    reads = []

    def read(name):
        reads.append(name)
        return RED

    files = {"a": ["1", "2", "3"]}
    dataset = FileDataset(files=files, read=read, prepare=lambda pixels: pixels, cache_bytes=2 * 6 * 4 * 4)

    def load(*indices):
        dataset.load(np.zeros(len(indices), np.int64), np.array(indices))

    load(0, 1, 0, 1)
    assert reads == ["1", "2"]
    load(2, 1, 0)
    assert reads == ["1", "2", "3", "1"]


def test_cache_is_limited_and_pickled_empty():
    cache = ImageCache(limit=100)
    for i in range(30):
        cache.get(str(i), lambda: np.zeros(30, np.uint8))
    assert cache.nbytes == 90
    cache.get("too large", lambda: np.zeros(1000, np.uint8))
    assert cache.nbytes == 0
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.limit, copy.nbytes) == (100, 0)
