"""The recognition memory: stores objects from one image each and recognises them in other images."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from everlearn.blas import blas_threads
from everlearn.errors import BadInput, unknown
from everlearn.memory import OnDiskMemory
from everlearn.memory.on_disk.labels import checked_name
from everlearn.memory.on_disk.metadata import METADATA
from everlearn.recognition.answer import Answer
from everlearn.recognition.calibration import N_SCORES, Calibration
from everlearn.recognition.calibration_scores import (
    disturbed_scores,
    rows_after_many,
    rows_after_teaching,
)
from everlearn.recognition.columns import columns_of
from everlearn.recognition.creation import VERSION, WEIGHTS, create
from everlearn.recognition.exemplar_selection import Combine, ExemplarSelection, Policy, limit_images
from everlearn.recognition.exemplars import as_list, check_taught_once, exemplars_of, read_object
from everlearn.recognition.features import AUTO, Features, make_features
from everlearn.recognition.gallery import Gallery
from everlearn.recognition.matching import View, match
from everlearn.recognition.similarity import Similarity
from everlearn.recognition.unknowns import UnknownGroup, Unknowns
from everlearn.rng import IntArray
from everlearn.streams.images.canonical import ImageLike, read_image
from everlearn.streams.images.decode import Pixels


class Recogniser:
    """Recognises objects from one image each, and reports unknown ones.

    An image is brought into canonical form, described by features, and compared with the stored exemplars;
    the most similar ones are aligned to it. The confidence is calibrated with disturbed copies of the
    exemplars, matched with and without their own class. Every edit is on disk when its call returns; no byte
    of a forgotten class remains.

    Args:
        folder: the folder of the memory; `open` creates a new one.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> y, x = np.mgrid[:64, :64]
        >>> disk = np.where((x - 32) ** 2 + (y - 32) ** 2 < 400, 60, 255).astype(np.uint8)
        >>> bar = np.where((abs(x - 32) < 25) & (abs(y - 32) < 6), 60, 255).astype(np.uint8)
        >>> with Recogniser.open(folder.name, features="gradients") as memory:
        ...     _ = memory.teach(disk, "disk")
        ...     _ = memory.teach(bar, "bar")
        ...     memory.names, [answer.best for answer in memory.ask([bar.T, disk])]
        (['bar', 'disk'], ['bar', 'disk'])
        >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._memory = OnDiskMemory(folder)
        settings = self._memory.settings
        if settings.get("version") != VERSION:
            self._memory.close()
            what = "of an earlier version; teach its images again"
            if "features" not in settings:
                what = "without features; open it with OnDiskMemory"
            raise BadInput(f"{str(folder)!r} is a memory {what}")
        self.upright = bool(settings["upright"])
        self.features: Features = make_features(settings["features"], self.weights)
        self._gallery: Gallery | None = None
        self._calibration: Calibration | None = None
        self._cached_names: dict[int, str] | None = None
        self._unknowns = Unknowns(self)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        features: str = AUTO,
        weights: str | Path | None = None,
        upright: bool = False,
        keep: int | None = None,
        policy: Policy | None = None,
        combine: Combine | None = None,
    ) -> Self:
        """Open a memory, or create one in a new folder.

        Args:
            folder: folder of the memory.
            features: of a new memory: "auto", "efficientnet-lite0", "mobilenet-v1" or "gradients"; with
                weights, also any other backbone, which needs torch.
            weights: of a new memory: a .safetensors file; the memory gets a copy.
            upright: of a new memory: objects are always seen upright, as most objects on a table.
            keep: images of each class that are kept from now on; a new memory keeps all.
            policy: which images are kept: "first", "random" or "herding"; see `ExemplarSelection`.
            combine: whether all images of a class "vote", or only the "best" one counts.
        """
        given = {"keep": keep, "policy": policy, "combine": combine}
        changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        ExemplarSelection(**changed)  # refuses what is invalid before anything is stored
        if not (Path(folder) / METADATA).is_file():
            create(Path(folder), features, None if weights is None else Path(weights), upright=upright)
        recogniser = cls(folder)
        if changed:
            recogniser.settings = {**recogniser.settings, **changed}
        return recogniser

    @property
    def selection(self) -> ExemplarSelection:
        """Number and choice of the images kept of a class, and how they are combined."""
        found = self._memory.settings
        return ExemplarSelection(**{key: found[key] for key in ("keep", "policy", "combine") if key in found})

    @property
    def weights(self) -> Path | None:
        """The file of weights inside the folder; None if the features have none of their own."""
        path = self.folder / WEIGHTS
        return path if path.is_file() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of classes."""
        return len(self._memory.classes())

    def __contains__(self, name: str) -> bool:
        return name in self._names().values()

    def __repr__(self) -> str:
        return f"<Recogniser: {len(self)} classes, {self.features.name}>"

    @property
    def names(self) -> list[str]:
        """The names of all classes, sorted."""
        return sorted(self._names().values())

    def n_images(self, name: str) -> int:
        """The number of images that a class was taught with."""
        rows = self._memory.labels() == self._label(name)
        return len(np.unique(self._memory.columns("image")[rows]))

    def exemplars(self, name: str) -> Pixels:
        """The stored exemplars (n, 128, 128, 4) of a class."""
        return self._memory.images_of(self._label(name))

    def close(self) -> None:
        """Close the files and release the lock."""
        self._unknowns.close()
        self._memory.close()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that are stored with the memory; assignment replaces them on disk."""
        return self._memory.settings

    @settings.setter
    def settings(self, settings: dict[str, Any]) -> None:
        self._memory.settings = settings

    @property
    def unknowns(self) -> list[UnknownGroup]:
        """The groups of unknown images that `ask_and_keep` has kept."""
        return self._unknowns.groups()

    def name_unknown(self, group: int, name: str) -> int:
        """Teach all images of a group under a name, and remove the group; returns the number of images.

        A class that exists already gets the images in addition to its own, as with `teach`.
        """
        return self._unknowns.move(group, name)

    def discard_unknown(self, group: int) -> int:
        """Erase a group of unknown images; returns their number."""
        return self._unknowns.discard(group)

    def teach(self, image: ImageLike, name: str) -> Pixels:
        """Add an image to a class, which may be new; returns what is stored, (n, 128, 128, 4)."""
        pixels = self._store(image, name)
        self._calibrate(rows_after_teaching(self._memory.columns("image"), self._last_image()))
        return pixels

    def teach_all(self, images: Sequence[ImageLike], names: Sequence[str]) -> None:
        """Add many images, each to its class; the confidence is calibrated once, which is faster."""
        if len(images) != len(names):
            raise BadInput(f"{len(images)} images have {len(names)} names; give one name for each image")
        for image, name in zip(images, names, strict=True):
            self._store(image, name)
        self._calibrate(rows_after_many(len(self._memory.labels())))

    def _store(self, image: ImageLike, name: str) -> Pixels:
        pixels = exemplars_of(image)
        label = self._new_label(name, pixels)
        self._add(label, None if label in self._memory else name, pixels)
        return pixels

    def check(self, images: Sequence[Pixels], names: Sequence[str]) -> None:
        """Raise what `teach` would raise for images, as `exemplars_of` gives them, before any is stored."""
        check_taught_once(zip(images, names, strict=True))
        for pixels, name in zip(images, names, strict=True):
            self._new_label(checked_name(name), pixels)

    def images_of(self, name: str) -> list[Pixels]:
        """The exemplars (n, 128, 128, 4) of each image that a class was taught with."""
        rows = self._memory.labels() == self._label(name)
        numbers, exemplars = self._memory.columns("image")[rows], self._memory.images()[rows]
        return [exemplars[numbers == number] for number in np.unique(numbers)]

    def adopt(self, images: Sequence[Pixels], name: str) -> None:
        """Add images of another memory, as `images_of` gives them, to a class, which may be new."""
        for pixels in images:
            self._new_label(name, pixels)  # refuses before anything is stored
        for pixels in images:
            label = self._new_label(name, pixels)
            self._add(label, None if label in self._memory else name, pixels)
            self._calibrate(rows_after_teaching(self._memory.columns("image"), self._last_image()))

    def forget(self, name: str) -> int:
        """Erase a class from every file; returns the number of erased exemplars.

        The confidence is calibrated again, since scores of other classes depend on the erased one.
        """
        label, memory = self._label(name), self._memory
        memory.write_column("calibration", np.zeros_like(memory.columns("calibration")))
        n = memory.forget([label])
        self._clear_caches()
        self._calibrate(rows_after_many(len(memory.labels())))
        return n

    def rename(self, old: str, new: str) -> None:
        """Change the name of a class."""
        if new in self:
            raise BadInput(f"there is a class {new!r} already; choose another name")
        self._memory.rename(self._label(old), new)
        self._cached_names = None

    def ask(self, images: Sequence[ImageLike] | ImageLike) -> list[Answer]:
        """Recognise images: paths, PIL images or arrays."""
        with blas_threads(1):  # products are small: threads would wait for each other
            return [self._answer(read_object(each)) for each in as_list(images)]

    def ask_and_keep(self, images: Sequence[ImageLike] | ImageLike) -> list[Answer]:
        """Like `ask`, one image after the other, but unknown images are stored and grouped.

        Stored unknown images do not affect answers until their group is named with `name_unknown`.
        """
        return [self._ask_and_keep_one(read_image(each)) for each in as_list(images)]

    def _ask_and_keep_one(self, rgba: Pixels) -> Answer:
        answer = self.ask([rgba])[0]
        return answer if answer.name else replace(answer, group=self._unknowns.keep(rgba, answer))

    def _answer(self, rgba: Pixels) -> Answer:
        found = match(View(rgba, self.features), self.gallery)
        if found is None:
            return Answer(None, None, "unknown", 0.0)
        confidence = float(self.calibration.confidence(np.array([found.scores]))[0])
        return Answer.of(found, confidence, self._names())

    @property
    def gallery(self) -> Gallery:
        """The exemplars in RAM."""
        if self._gallery is None:
            memory, widths = self._memory, self.features.whole_widths
            labels = memory.labels()
            similarity = Similarity(
                labels=labels,
                images=memory.columns("image"),
                descriptors=memory.mapped_column("descriptors"),
                masks=memory.mapped_column("masks"),
                textured=memory.mapped_column("textured"),
                whole=memory.mapped_column("whole") if widths else np.zeros((len(labels), 1, 0), np.float16),
                widths=self.features.widths,
                whole_widths=widths,
                votes=self.selection.combine == "vote",
            )
            self._gallery = Gallery(
                similarity, memory.image_at, memory.mapped_column("templates"), upright=self.upright
            )
        return self._gallery

    @property
    def calibration(self) -> Calibration:
        """The calibrated confidence, from the scores that the memory stores."""
        if self._calibration is None:
            scores = self._memory.columns("calibration").astype(np.float64)
            known, others = scores[:, :, 0].reshape(-1, N_SCORES), scores[:, :, 1].reshape(-1, N_SCORES)
            known, others = known[known.any(axis=1)], others[others.any(axis=1)]
            self._calibration = Calibration.fit(known, others, self.features.name)
        return self._calibration

    def _add(self, label: int, name: str | None, pixels: Pixels) -> None:
        # An interrupted call may have stored an image with the next number without counting it.
        used = self._memory.columns("image")
        number = max(int((settings := self._memory.settings)["images"]), int(used.max(initial=-1)) + 1)
        columns = columns_of(pixels, number, self.features, upright=self.upright)
        self._memory.add(
            [label] * len(pixels), pixels, None if name is None else [name] * len(pixels), columns
        )
        self._memory.settings = {**settings, "images": number + 1}
        limit_images(self._memory, label, self.selection)
        self._clear_caches()

    def _last_image(self) -> int:
        return int(self._memory.settings["images"]) - 1

    def _calibrate(self, rows: IntArray) -> None:
        """Update the calibration scores of some exemplars."""
        if not len(rows):
            return
        memory = self._memory
        images, done = memory.columns("image"), memory.columns("calibration")
        for row in rows.tolist():
            done[row] = disturbed_scores(
                self.gallery, self.features, row, int(images[row]), upright=self.upright
            )
        memory.write_column("calibration", done[rows], rows)
        self._calibration = None

    def _clear_caches(self) -> None:
        self._gallery = self._calibration = self._cached_names = None

    def _names(self) -> dict[int, str]:
        """The name of each class; cached, since decoding thousands of names takes longer than an answer."""
        if self._cached_names is None:
            self._cached_names = self._memory.names()
        return self._cached_names

    def _label(self, name: str) -> int:
        for label, known in self._names().items():
            if known == name:
                return label
        raise unknown("class", name, self._names().values())

    def _new_label(self, name: str, pixels: Pixels) -> int:
        """The label of a class, or a new one; raises an error if the image has another name already."""
        names = self._names()
        for label in self._memory.labels()[self._memory.find_image(pixels[0])].tolist():
            if names[label] != name:
                raise BadInput(
                    f"this image has been taught as {names[label]!r}; rename that class, or forget it first"
                )
        return next((k for k, v in names.items() if v == name), max(names, default=-1) + 1)
