"""Real objects over real photos in sessions, as in CORe50: cut-outs of ETH-80 and of ALOI."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from math import tau
from pathlib import Path

import numpy as np

from everlearn.errors import BadInput
from everlearn.factors import Factors
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.streams.images.compose import RawImages, compose
from everlearn.streams.images.dataset import ImageCache, Pixels
from everlearn.streams.images.decode import decode, premultiplied
from everlearn.streams.images.location import data_root
from everlearn.streams.images.session_settings import Objects50Settings
from everlearn.streams.images.tree import FileTree, open_tree
from everlearn.streams.source import SESSIONS, FrameSource
from everlearn.streams.stream import Images

N_CLASSES = 50
DARK = 110
"""Sum of the three channels up to which a pixel of ALOI counts as background."""
MIN_COVERAGE = 0.1
"""Share of an image that an object must cover: dark objects cannot be cut out of a black background."""
VIEWS = 0.25
"""Share of the views around an object that a session shows."""
OBJECT_SIZE, PHOTO_SCALE = 0.7, 1.4
CACHE_BYTES = 2**28


class ObjectSource(FrameSource):
    """Class i is an object.

    All objects share the photo, the light and the path of a session; each has a range of views of its own.
    """

    n_classes: int = N_CLASSES
    image_shape: tuple[int, ...] = ()

    def __init__(self, settings: Objects50Settings) -> None:
        self._seed, self.n_frames, size = settings.seed, settings.frames_per_session, settings.image_size
        self.n_classes = settings.n_classes or N_CLASSES
        self.image_shape = (size, size, 3)
        self._trees = {name: _tree(settings.data, name) for name in ("eth80", "aloi", "grocery")}
        self._cache = ImageCache(CACHE_BYTES)
        self._objects = self._choose_objects()
        tree = self._trees["grocery"]
        self._photos = [file for folder in _leaves(tree, "train") for file in tree.images(folder)]
        if not self._photos:
            raise BadInput("grocery has no photos in its folder train; unpack the published files again")

    def _choose_objects(self) -> list[tuple[str, str]]:
        """Dataset and folder of each class: alternately of ETH-80 and of ALOI, in random order."""
        first, second = (
            islice(self._visible_objects(name, part), -(-self.n_classes // 2))
            for part, name in enumerate(("eth80", "aloi"))
        )
        pairs = [each for pair in zip(first, second, strict=False) for each in pair]
        if len(pairs) < self.n_classes:
            raise BadInput(f"n_classes is {self.n_classes}, but there are only {len(pairs)} objects")
        return pairs[: self.n_classes]

    def _visible_objects(self, name: str, part: int) -> Iterator[tuple[str, str]]:
        folders = self._trees[name].folders()
        for i in rng_at(self._seed, "objects", part).permutation(len(folders)):
            files = self._trees[name].images(folders[i])
            if not files:
                raise BadInput(f"the folder {folders[i]!r} of {name} has no images; add them or remove it")
            if (self._cut_out(name, files[0])[..., 3] > 0).mean() >= MIN_COVERAGE:
                yield name, folders[i]

    def class_name(self, class_id: int) -> str:
        return self._objects[class_id][1]

    def load(self, class_ids: IntArray, image_ids: IntArray) -> tuple[Images, Factors]:
        if not len(class_ids):
            return np.zeros((0, *self.image_shape), np.uint8), Factors.canonical(0)
        sessions, frames = np.divmod(image_ids, self.n_frames)
        times = frames / (self.n_frames - 1)
        n_sessions = sum(map(len, SESSIONS.values()))
        by_session = [rng_at(self._seed, "object sessions", s).uniform(12) for s in range(n_sessions)]
        units = np.array(by_session)[sessions]
        factors = _path(units, times)
        views = [
            self._view(int(c), int(s), float(t)) for c, s, t in zip(class_ids, sessions, times, strict=True)
        ]
        photos = self._draw_photos(sessions, units, times)
        return self._draw(views, factors, photos), factors

    def exemplars(self, class_ids: IntArray) -> Images:
        views = [self._view(int(c), 0, 0.0) for c in class_ids]
        black = np.zeros((len(views), *self.image_shape), np.uint8)
        return self._draw(views, Factors.canonical(len(views)), black)

    def _view(self, class_id: int, session: int, time: float) -> Pixels:
        """The cut-out of an object from the direction of one frame."""
        name, folder = self._objects[class_id]
        files = _by_angle(self._trees[name].images(folder))
        start = float(rng_at(self._seed, "object views", class_id, session).uniform(1)[0])
        file = files[int((start + VIEWS * time) * len(files)) % len(files)]
        return self._cut_out(name, file)

    def _cut_out(self, name: str, file: str) -> Pixels:
        cut = without_background if name == "aloi" else premultiplied
        return self._cache.get(f"{name}/{file}", lambda: cut(decode(self._trees[name].read(file), file)))

    def _draw_photos(self, sessions: IntArray, units: FloatArray, times: FloatArray) -> Images:
        """The photo of each session, under its light, seen through a window that moves."""
        unique, which = np.unique(sessions, return_inverse=True)
        photos = [self._photo(int(s)) for s in unique]
        size = self.image_shape[0]
        direction = tau * (units[:, 9] + 0.5 * times)
        window = Factors(
            scale=PHOTO_SCALE,
            x=0.5 + 0.3 * np.cos(direction).round(6),
            y=0.5 + 0.3 * np.sin(direction).round(6),
            colour=_light(units),
        )
        return compose(RawImages.of(photos), which, window, image_size=size, drawn_size=size, rgb=True)

    def _photo(self, session: int) -> Pixels:
        """The middle square of a photo."""
        number = int(rng_at(self._seed, "object photos", session).integers(1, len(self._photos))[0])
        file, tree = self._photos[number], self._trees["grocery"]
        pixels = self._cache.get(f"grocery/{file}", lambda: premultiplied(decode(tree.read(file), file)))
        side = min(pixels.shape[:2])
        top, left = (pixels.shape[0] - side) // 2, (pixels.shape[1] - side) // 2
        return np.ascontiguousarray(pixels[top : top + side, left : left + side])

    def _draw(self, views: list[Pixels], factors: Factors, photos: Images) -> Images:
        size = self.image_shape[0]
        raw, which = RawImages.of(views).trimmed(), np.arange(len(views))
        black, white = (
            compose(
                raw, which, factors, image_size=size, drawn_size=round(OBJECT_SIZE * size),
                background=level, rgb=True,
            ).astype(np.uint16)
            for level in (0, 255)
        )  # fmt: skip
        transparency = np.clip(white.astype(np.int32) - black, 0, 255)
        return np.minimum(black + (transparency * photos + 127) // 255, 255).astype(np.uint8)


def _path(units: FloatArray, times: FloatArray) -> Factors:
    """The pose of an object along the path of a session, and the light of the session."""
    angle, turn, scale, swing, x, y, phase = units[:, :7].T
    wave = np.sin(tau * (times + phase)).round(6)
    return Factors(
        scale=0.8 + 0.3 * scale + 0.1 * swing * wave,
        angle=(0.5 * (angle - 0.5) + 0.6 * (turn - 0.5) * times) % tau,
        x=0.4 + 0.2 * x + 0.08 * wave,
        y=0.4 + 0.2 * y + 0.08 * np.cos(tau * (times + phase)).round(6),
        colour=_light(units),
    )


def _light(units: FloatArray) -> FloatArray:
    """Brightness and tint of each session."""
    return np.asarray((0.55 + 0.45 * units[:, 7:8]) * (1 - 0.25 * np.roll(units, -8, axis=1)[:, :3]))


def without_background(rgba: Pixels) -> Pixels:
    """An image of ALOI without its background: the dark pixels that are connected with the border."""
    dark = rgba[..., :3].sum(axis=2, dtype=np.int64) <= DARK
    outside = np.zeros_like(dark)
    outside[[0, -1]], outside[:, [0, -1]] = dark[[0, -1]], dark[:, [0, -1]]
    while True:
        grown = outside.copy()
        grown[1:] |= outside[:-1]
        grown[:-1] |= outside[1:]
        grown[:, 1:] |= outside[:, :-1]
        grown[:, :-1] |= outside[:, 1:]
        grown &= dark
        if np.array_equal(grown, outside):
            break
        outside = grown
    return premultiplied(np.dstack([rgba[..., :3], np.where(outside, 0, 255).astype(np.uint8)]))


def _by_angle(files: list[str]) -> list[str]:
    """Files sorted by the last number of their names, the angle around the object."""
    return sorted(files, key=lambda file: (Path(file).stem.rpartition("-")[2], file))


def _leaves(tree: FileTree, folder: str) -> list[str]:
    """The folders below a folder that have no sub-folders."""
    below = [leaf for name in tree.folders(folder) for leaf in _leaves(tree, f"{folder}/{name}")]
    return below or [folder]


@lru_cache(maxsize=8)
def _tree(data: Path | None, name: str) -> FileTree:
    folder = data_root(data, f"objects-50 ({name})") / name
    if not folder.is_dir():
        raise BadInput(f"there is no folder {str(folder)!r}; put {name}.zip or its files there")
    return open_tree(folder)
