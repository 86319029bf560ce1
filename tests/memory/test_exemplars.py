import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.memory import ExemplarMemory, digest
from everlearn.memory.table import Rows
from everlearn.streams.stream import Batch, Images


def image(number: int, size: int = 8) -> Images:
    """An image whose bytes cannot be mistaken for another's."""
    return np.random.Generator(np.random.Philox(number)).integers(1, 256, (size, size)).astype(np.uint8)


def batch(*labels: int, first: int = 0, size: int = 8) -> Batch:
    images = [image(first + k, size) for k in range(len(labels))]
    return Batch(np.stack(images), np.array(labels))


def memory_of(*labels: int) -> ExemplarMemory:
    memory = ExemplarMemory()
    memory.add(batch(*labels))
    return memory


def test_images_come_back_by_label_not_by_place() -> None:
    memory = memory_of(9, 4, 9)
    assert memory.classes() == [4, 9]
    assert np.array_equal(memory.images_of(9), np.stack([image(0), image(2)]))
    assert [(e.label, e.which, e.row) for e in memory.exemplars()] == [(4, 0, 1), (9, 0, 0), (9, 1, 2)]
    assert 4 in memory
    assert 5 not in memory


def test_what_is_added_is_copied() -> None:
    given = batch(1)
    memory = ExemplarMemory()
    memory.add(given)
    given.images[:] = 0
    assert np.array_equal(memory.images_of(1)[0], image(0))


def test_every_edit_raises_the_version_once() -> None:
    memory, versions = memory_of(1, 2), [0]
    edits = (
        lambda: memory.add(batch(3)),
        lambda: memory.replace(1, batch(0, 0, first=7).images),
        lambda: memory.replace(1, batch(0, first=8).images, which=1),
        lambda: memory.rename(1, "one"),
        lambda: memory.relabel(1, 6),
        lambda: memory.forget(6),
    )
    for edit in edits:
        versions.append(memory.version)
        edit()
    assert [*versions, memory.version] == [0, 1, 2, 3, 4, 5, 6, 7]


def test_replacing_keeps_label_and_name() -> None:
    memory = memory_of(1, 2, 1)
    memory.rename(1, "one")
    memory.replace(1, batch(0, first=20).images)
    assert np.array_equal(memory.images_of(1), image(20)[None])
    assert (memory.name(1), memory.name(2), len(memory)) == ("one", "2", 2)


def test_one_of_several_can_be_replaced_and_forgotten() -> None:
    memory = memory_of(1, 1, 1)
    memory.replace(1, image(30)[None], which=1)
    assert memory.forget(1, which=0) == 1
    assert np.array_equal(memory.images_of(1), np.stack([image(30), image(2)]))


def test_relabelling_moves_images_and_name() -> None:
    memory = memory_of(1, 2)
    memory.rename(1, "cat")
    memory.relabel(1, 5)
    assert (memory.classes(), memory.name(5), memory.name(1)) == ([2, 5], "cat", "1")
    memory.relabel(5, 2)
    assert np.array_equal(memory.images_of(2), np.stack([image(1), image(0)]))
    assert memory.name(2) == "2"


def test_forgetting_leaves_no_trace_in_the_arrays_or_names() -> None:
    memory = memory_of(1, 2, 3)
    memory.rename(2, "secret")
    memory.forget(2)
    everything = b"".join(column.tobytes() for column in memory._rows._columns.values())
    assert image(1).tobytes() not in everything
    assert image(2).tobytes() in everything
    assert memory.name(2) == "2"
    assert "secret" not in str(memory.state())


def test_forgetting_leaves_no_trace_on_disk(tmp_path: Path) -> None:
    memory = memory_of(*range(20))
    memory.rename(7, "secret")
    path = tmp_path / "memory.safetensors"
    memory.save(path)
    assert image(7).tobytes() in path.read_bytes()
    memory.forget(7)
    memory.save(path)
    on_disk = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert image(7).tobytes() not in on_disk
    assert b"secret" not in on_disk
    assert image(19).tobytes() in on_disk
    assert [file.name for file in tmp_path.iterdir()] == ["memory.safetensors"]


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_of(1)
    path = tmp_path / "memory.safetensors"
    memory.save(path)
    before = path.read_bytes()
    memory.add(batch(2))
    monkeypatch.setattr(os, "fsync", _fail)
    with pytest.raises(OSError, match="broken"):
        memory.save(path)
    assert path.read_bytes() == before


def _fail(file: int) -> None:
    raise OSError("broken")


def test_saved_memory_opens_equal(tmp_path: Path) -> None:
    memory = memory_of(3, 1, 3, 2)
    memory.rename(1, "Ünïcode ✓")
    memory.forget(2)
    memory.save(tmp_path / "m")
    again = ExemplarMemory.open(tmp_path / "m")
    assert digest(again.state()) == digest(memory.state())
    assert (again.version, again.exemplars()) == (memory.version, memory.exemplars())
    again.add(batch(8))
    assert again.version == memory.version + 1


def test_an_empty_memory_saves_and_opens(tmp_path: Path) -> None:
    ExemplarMemory().save(tmp_path / "m")
    memory = ExemplarMemory.open(tmp_path / "m")
    assert (len(memory), memory.classes(), memory.labels.tolist()) == (0, [], [])


def test_changed_rows_are_all_a_derived_table_needs() -> None:
    """Follow many edits by redoing only the rows said to have changed."""
    memory, sums, version, redone = ExemplarMemory(), np.zeros(0), 0, 0
    for k in range(300):
        if k % 3 == 2:
            memory.forget(memory.classes()[k % len(memory.classes())])
        else:
            memory.add(batch(k, k + 1000, first=k))
        changed = memory.changed_since(version)
        sums = np.resize(sums, len(memory))
        sums[changed] = memory.images[changed].sum(axis=(1, 2))
        version, redone = memory.version, redone + len(changed)
        assert np.array_equal(sums, memory.images.sum(axis=(1, 2)))
    assert redone < 600


def test_an_edit_touches_as_many_rows_late_as_early(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0

    def counted(rows: Rows, where: np.ndarray, parts: dict[str, np.ndarray]) -> None:
        nonlocal written
        written += len(where)
        plain(rows, where, parts)

    plain = Rows.overwrite
    monkeypatch.setattr(Rows, "overwrite", counted)
    memory, costs = ExemplarMemory(), []
    for task in range(1000):
        written = 0
        memory.add(batch(*range(10 * task, 10 * task + 10), size=4))
        memory.forget(10 * task)
        memory.replace(10 * task + 1, image(0, 4)[None])
        costs.append(written)
    assert max(costs) <= 2
    assert len(memory) == 9000


def test_bytes_are_accounted_and_close_to_raw() -> None:
    images = np.ones((10_000, 64, 64), np.uint8)
    tracemalloc.start()
    memory = ExemplarMemory()
    for k in range(0, 10_000, 100):
        memory.add(Batch(images[k : k + 100], np.arange(k, k + 100)))
    memory.trim()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert images.nbytes < memory.nbytes <= held <= 1.1 * images.nbytes


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda m: m.forget(5), "nothing is remembered of label 5"),
        (lambda m: m.forget(1, which=1), "no image 1"),
        (lambda m: m.rename(5, "x"), "label 5"),
        (lambda m: m.rename(1, " "), "no name"),
        (lambda m: m.rename(1, "a\nb"), "no name"),
        (lambda m: m.rename(1, "x" * 201), "1 to 200"),
        (lambda m: m.relabel(5, 6), "label 5"),
        (lambda m: m.replace(1, np.zeros((0, 8, 8), np.uint8)), "n at least 1"),
        (lambda m: m.replace(1, np.zeros((1, 9, 9), np.uint8)), r"images are \(9, 9\)"),
        (lambda m: m.replace(1, np.zeros((2, 8, 8), np.uint8), which=0), "2 images"),
        (lambda m: m.replace(1, np.zeros((1, 8, 8))), "uint8"),
        (lambda m: m.add(Batch(np.zeros((1, 8, 8, 3), np.uint8), np.array([2]))), "this memory holds"),
    ],
)
def test_bad_edits_are_refused_and_change_nothing(edit: object, sentence: str) -> None:
    memory = memory_of(1)
    before = digest(memory.state())
    with pytest.raises(BadInput, match=sentence):
        edit(memory)  # type: ignore[operator]
    assert digest(memory.state()) == before


def test_a_memory_that_never_held_a_image_cannot_show_any() -> None:
    with pytest.raises(BadInput, match="never held"):
        _ = ExemplarMemory().images


def test_colour_images_are_welcome() -> None:
    memory = ExemplarMemory()
    memory.add(Batch(np.full((1, 4, 4, 3), 9, np.uint8), np.array([0])))
    assert memory.images.shape == (1, 4, 4, 3)


def test_adding_nothing_is_no_edit() -> None:
    memory = memory_of(1)
    memory.add(Batch(np.zeros((0, 8, 8), np.uint8), np.zeros(0, np.int64)))
    assert memory.version == 1
