"""Query sets of Omniglot: characters by other writers than the exemplars."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath

import numpy as np

from benchmarks.photos.archives import LazyImages, Pixels, open_zip, read_image
from benchmarks.photos.queries import Queries, Trial
from everlearn.rng import rng_at

SETS = ("images_background", "images_evaluation")
SMALL = ("images_background_small1", "images_background_small2")
EXEMPLARS = (1, 5, 10)
SEEDS = (0, 1, 2)
HANDS = 20
QUERIES_242, QUERIES_1623 = 5, 1
RUNS, WAYS = 20, 20
"""Runs of each seed in the 20-way task."""


@cache
def characters(folder: str, sets: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The files "archive:member" of each character "alphabet/number"; all have the same 20 writers."""
    files: dict[str, list[str]] = {}
    for name in sets:
        archive = f"{folder}/{name}.zip"
        for member in sorted(open_zip(archive).namelist()):
            path = PurePosixPath(member)
            if path.suffix == ".png":
                files.setdefault("/".join(path.parts[1:3]), []).append(f"{archive}:{member}")
    return {name: tuple(found[:HANDS]) for name, found in files.items()}


def all_characters() -> dict[str, tuple[str, ...]]:
    """All 1,623 characters."""
    return characters("omniglot-full/omniglot", SETS)


def small_characters() -> dict[str, tuple[str, ...]]:
    """The 242 characters of the two small published sets."""
    return characters("omniglot", SMALL)


def training_characters() -> list[str]:
    """Characters of the background alphabets that no query is about: those outside the small sets."""
    small = {name.split("/")[0] for name in small_characters()}
    background = characters("omniglot-full/omniglot", SETS[:1])
    return [name for name in background if name.split("/")[0] not in small]


def asked_characters() -> list[str]:
    """The characters that queries may be about: those that `training_characters` leaves out."""
    trained = set(training_characters())
    return [name for name in all_characters() if name not in trained]


def _read(files: Sequence[str]) -> LazyImages:
    def make(file: str) -> Pixels:
        archive, member = file.split(":")
        return read_image(archive, member)

    return LazyImages(make, files)


def _trial(
    name: str, seed: int, files: dict[str, tuple[str, ...]], n: int, n_asked: int, asked: Sequence[str]
) -> Trial:
    """Teach n random exemplars of each character, and ask some of the others."""
    taught, queries = [], []
    for number, character in enumerate(files):
        hands = rng_at(seed, "photos: hands", number).permutation(HANDS)
        taught += [(character, files[character][hand]) for hand in hands[:n]]
        if character in set(asked):
            # The queries are the same for each number of exemplars.
            queries += [(character, files[character][hand]) for hand in hands[HANDS - n_asked :]]
    images, names = _read([file for _, file in taught]), [character for character, _ in taught]
    asked_names = [character for character, _ in queries]
    conditions = {"other hands": Queries(_read([file for _, file in queries]), asked_names)}
    return Trial(name, seed, images, names, conditions)


def trials_242() -> Iterator[Trial]:
    """The small sets: 1, 5 or 10 exemplars of each character."""
    files = small_characters()
    for seed in SEEDS:
        for n in EXEMPLARS:
            yield _trial(f"{n} exemplars", seed, files, n, QUERIES_242, list(files))


def trials_1623() -> Iterator[Trial]:
    """All characters are taught; those that no network was trained on are asked."""
    files = all_characters()
    for seed in SEEDS:
        for n in EXEMPLARS:
            yield _trial(f"{n} exemplars", seed, files, n, QUERIES_1623, asked_characters())


def trials_20() -> Iterator[Trial]:
    """One exemplar of each of 20 characters: of any evaluation alphabets, or of one alphabet."""
    files = characters("omniglot-full/omniglot", SETS[1:])
    for seed in SEEDS:
        for run in range(RUNS):
            rng = rng_at(seed, "photos: 20-way", run)
            anywhere = [list(files)[i] for i in rng.permutation(len(files))[:WAYS]]
            yield _one_shot("any alphabets", seed, rng.permutation(HANDS), files, anywhere)
            yield _one_shot("one alphabet", seed, rng.permutation(HANDS), files, _of_one(files, run, seed))


def _of_one(files: dict[str, tuple[str, ...]], run: int, seed: int) -> list[str]:
    alphabets = sorted({name.split("/")[0] for name in files})
    large = [a for a in alphabets if sum(name.startswith(f"{a}/") for name in files) >= WAYS]
    members = [name for name in files if name.startswith(f"{large[run % len(large)]}/")]
    order = rng_at(seed, "photos: one alphabet", run).permutation(len(members))
    return [members[i] for i in order[:WAYS]]


def _one_shot(
    name: str, seed: int, hands: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    files: dict[str, tuple[str, ...]], chosen: list[str],
) -> Trial:  # fmt: skip
    """One writer drew all exemplars, another one all queries."""
    first, second = hands[:2]
    taught, asked = (_read([files[character][hand] for character in chosen]) for hand in (first, second))
    return Trial(name, seed, taught, chosen, {"another hand": Queries(asked, chosen)})
