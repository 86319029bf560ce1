from pathlib import Path

import numpy as np
import pytest

from everlearn import files
from everlearn.errors import BadInput
from everlearn.memory.on_disk import Shelf, store
from everlearn.rng import rng_at
from tests.crash.disks import FullDisk

from .scripts import SHAPE, expected, held, image, images, small_fits, traces


def brute_force(images: np.ndarray, known: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    apart = images.reshape(len(images), 1, -1).astype(float) - known.reshape(1, len(known), -1)
    distances = np.square(apart).sum(2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, 1)


def test_what_it_holds_after_each_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_fits(monkeypatch):
        states = expected(tmp_path / "shelf")
    assert [sorted(state) for state in states[:4]] == [[], [1, 2, 3], [1, 3], [1, 3, 4, 5]]
    assert states[1][2] == ([image(2).tobytes()], "two")
    assert states[3][1] == (sorted([image(1).tobytes(), image(11).tobytes()]), "one")
    assert states[4][4][1] == "vier"
    assert states[7][4] == ([image(44).tobytes()], "four again")
    assert sorted(states[-1]) == [3, 5, 10, 11, *range(13, 20)]
    with Shelf(tmp_path / "shelf") as again:
        assert held(again) == states[-1]
        assert len(again) == 11


@pytest.mark.parametrize("shape", [(12, 9), (6, 5, 3)])
@pytest.mark.parametrize("fitted", [50, 10**6])
def test_lookups_agree_with_brute_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], fitted: int
) -> None:
    monkeypatch.setattr(store, "FITTED", fitted)
    rng = rng_at(3, "lookup test")
    size = int(np.prod(shape))
    images = rng.integers(200 * size, 256).astype(np.uint8).reshape(200, *shape)
    queries = (images[::20] + rng.normal(10 * size).reshape(10, *shape) * 20).astype(np.float32)
    with Shelf.make(tmp_path / "shelf", image_shape=shape) as kept:
        for part in np.split(np.arange(200), 4):
            kept.add(part, images[part])
        kept.forget(np.arange(0, 200, 3))
        left = np.flatnonzero(np.arange(200) % 3)
        rows, distances = brute_force(queries, images[left], 5)
        for _ in range(2):
            labels, found = kept.lookup(queries, 5)
            assert (labels == left[rows]).all()
            np.testing.assert_allclose(found, distances, rtol=1e-5)
            kept.refit()
    with Shelf(tmp_path / "shelf") as again:
        assert (again.lookup(queries, 5)[0] == left[rows]).all()


def test_candidates_are_few_and_the_nearest_is_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With codes of what images are made of, a handful of candidates is enough."""
    monkeypatch.setattr(store, "FITTED", 500)
    monkeypatch.setattr(store, "CANDIDATES", 8)
    rng = rng_at(4, "few candidates")
    parts = rng.normal(20 * 256).reshape(20, 256)
    images = (128 + 12 * rng.normal(10_000 * 20).reshape(-1, 20) @ parts).clip(0, 255).astype(np.uint8)
    images = images.reshape(-1, 16, 16)
    queries = (images[:200] + 12 * rng.normal(200 * 256).reshape(200, 16, 16)).astype(np.float32)
    with Shelf.make(tmp_path / "shelf", image_shape=(16, 16)) as kept:
        kept.add(np.arange(10_000), images)
        labels, _ = kept.lookup(queries)
    assert (labels[:, 0] == brute_force(queries, images, 1)[0][:, 0]).mean() >= 0.99


def test_a_forgotten_class_leaves_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FITTED", 12)
    folder = tmp_path / "shelf"
    with Shelf.make(folder, image_shape=SHAPE) as kept:
        kept.add(range(10, 20), images(*range(10, 20)))
        kept.add([1, 2, 3], images(1, 2, 3), ["Ada", "Bertha", "Cleo"])
        code = kept._open.codes()[11].tobytes()
        assert code in (folder / "codes-1").read_bytes()
        assert b"Bertha" in (folder / "names").read_bytes()
        assert not traces(folder, held(kept))
        kept.forget([2])
        assert not traces(folder, held(kept))
        assert all(word not in path.read_bytes() for path in folder.iterdir() for word in (code, b"Bertha"))
        assert not kept._table._heads[0, :, 11].any()
        assert not kept._table._tails[0, 11].any()


def test_rows_are_used_again(tmp_path: Path) -> None:
    with Shelf.make(tmp_path / "shelf", image_shape=SHAPE) as kept:
        kept.add([1, 2, 3], images(1, 2, 3))
        size = (tmp_path / "shelf" / "images").stat().st_size
        for number in range(10, 20):
            kept.forget(kept.classes()[:1])
            kept.add([number], images(number))
        assert (tmp_path / "shelf" / "images").stat().st_size == size
        assert kept.classes().tolist() == [17, 18, 19]


def test_two_cannot_open_it(tmp_path: Path) -> None:
    kept = Shelf.make(tmp_path / "shelf", image_shape=SHAPE)
    with pytest.raises(BadInput, match=r"is open in process \d+ on .*; wait until it is closed there"):
        Shelf(tmp_path / "shelf")
    kept.close()
    Shelf(tmp_path / "shelf").close()


def test_an_edit_that_fails_closes_it_and_opening_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Shelf.make(tmp_path / "shelf", image_shape=SHAPE)
    kept.add([1], images(1))
    with monkeypatch.context() as patch:
        patch.setattr(files, "disk", FullDisk(5))
        with pytest.raises(files.DiskFull):
            kept.add([2], images(2))
    with pytest.raises(BadInput, match="the shelf is closed; open it again"):
        kept.add([2], images(2))
    with Shelf(tmp_path / "shelf") as again:
        assert again.classes().tolist() == [1]
        assert not traces(tmp_path / "shelf", held(again))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda s: s.add([1], images(1)[:, :3]), "1 labels need"),
        (lambda s: s.add([1, 2], images(1)), "2 labels need"),
        (lambda s: s.add([1], images(1).astype(np.float32)), "of float32"),
        (lambda s: s.add([-1], images(1)), "whole numbers from 0 up"),
        (lambda s: s.add([2**63], images(1)), "whole numbers from 0 up"),
        (lambda s: s.add([1.5], images(1)), "whole numbers from 0 up"),
        (lambda s: s.add([7], images(1), ["again"]), "label 7 is known already"),
        (lambda s: s.add([1, 1], images(1, 2), ["a", "b"]), "name each class once"),
        (lambda s: s.add([1], images(1), ["a\nb"]), "is no name for a class"),
        (lambda s: s.add([1], images(1), ["é" * 101]), "is no name for a class"),
        (lambda s: s.forget([7, 8]), "nothing is remembered of label 8"),
        (lambda s: s.rename(8, "x"), "nothing is remembered of label 8"),
        (lambda s: s.rename(7, " "), "is no name for a class"),
        (lambda s: s.name(8), "nothing is remembered of label 8"),
        (lambda s: s.lookup(images(1), 0), "k is 0"),
        (lambda s: s.lookup(image(1)), "this shelf holds"),
        (lambda s: s.lookup(images(1) * np.float32(np.nan)), "no number"),
    ],
)
def test_bad_input_changes_nothing(tmp_path: Path, edit: object, said: str) -> None:
    with Shelf.make(tmp_path / "shelf", image_shape=SHAPE) as kept:
        kept.add([7], images(7))
        before = {path: path.read_bytes() for path in (tmp_path / "shelf").iterdir()}
        with pytest.raises(BadInput, match=said):
            edit(kept)  # type: ignore[operator]
        assert {path: path.read_bytes() for path in (tmp_path / "shelf").iterdir()} == before
        assert kept.classes().tolist() == [7]


def test_folders_that_are_no_shelf(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no shelf in"):
        Shelf(tmp_path)
    (tmp_path / "note").touch()
    with pytest.raises(BadInput, match="is not empty"):
        Shelf.make(tmp_path)
    with pytest.raises(BadInput, match="image_shape is"):
        Shelf.make(tmp_path / "new", image_shape=(8,))
    assert not (tmp_path / "new").exists()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shelf"
    with Shelf.make(folder, image_shape=SHAPE) as kept:
        kept.add([1, 2, 3], images(1, 2, 3))
        kept.rename(1, "one")
    whole = (folder / "images").read_bytes()
    (folder / "images").write_bytes(whole[:-1])
    with pytest.raises(BadInput, match="is cut short: 2 of 3 rows"):
        Shelf(folder)
    (folder / "images").write_bytes(whole)
    about = (folder / "shelf.json").read_text()
    for words, said in ((about.replace('"format": 1', '"format": 2'), "format 2"), (about[:9], "damaged")):
        (folder / "shelf.json").write_text(words)
        with pytest.raises(BadInput, match=said):
            Shelf(folder)


def test_an_empty_shelf_finds_nothing(tmp_path: Path) -> None:
    with Shelf.make(tmp_path / "shelf", image_shape=SHAPE) as kept:
        labels, distances = kept.lookup(images(1, 2), 3)
        assert labels.shape == distances.shape == (2, 0)
        with pytest.raises(BadInput, match="the shelf is empty"):
            kept.refit()
