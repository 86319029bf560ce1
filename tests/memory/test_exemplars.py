import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from everlearn.errors import BadInput
from everlearn.memory import ExemplarMemory
from everlearn.memory.table import ColumnTable
from everlearn.serialization import digest
from everlearn.streams.stream import Batch, Images


def image(number: int, size: int = 8) -> Images:
    """An image of unique bytes."""
    return np.random.Generator(np.random.Philox(number)).integers(1, 256, (size, size)).astype(np.uint8)


def batch(*labels: int, first: int = 0, size: int = 8) -> Batch:
    images = [image(first + k, size) for k in range(len(labels))]
    return Batch(np.stack(images), np.array(labels))


def memory_of(*labels: int) -> ExemplarMemory:
    memory = ExemplarMemory()
    memory.add(batch(*labels))
    return memory


def test_images_by_label() -> None:
    memory = memory_of(9, 4, 9)
    assert memory.classes() == [4, 9]
    assert np.array_equal(memory.images_of(9), np.stack([image(0), image(2)]))
    assert [(e.label, e.which, e.row) for e in memory.exemplars()] == [(4, 0, 1), (9, 0, 0), (9, 1, 2)]
    assert 4 in memory
    assert 5 not in memory


def test_added_images_are_copied() -> None:
    given = batch(1)
    memory = ExemplarMemory()
    memory.add(given)
    given.images[:] = 0
    assert np.array_equal(memory.images_of(1)[0], image(0))


def test_every_edit_increments_the_version() -> None:
    memory, versions = memory_of(1, 2), [0]
    edits = (
        lambda: memory.add(batch(3)),
        lambda: memory.replace(1, batch(0, 0, first=7).images),
        lambda: memory.replace(1, batch(0, first=8).images, which=1),
        lambda: memory.rename(1, "one"),
        lambda: memory.forget(1),
    )
    for edit in edits:
        versions.append(memory.version)
        edit()
    assert [*versions, memory.version] == [0, 1, 2, 3, 4, 5, 6]


def test_replace_keeps_label_and_name() -> None:
    memory = memory_of(1, 2, 1)
    memory.rename(1, "one")
    memory.replace(1, batch(0, first=20).images)
    assert np.array_equal(memory.images_of(1), image(20)[None])
    assert (memory.name(1), memory.name(2), len(memory)) == ("one", "2", 2)


def test_replace_and_forget_single_images() -> None:
    memory = memory_of(1, 1, 1)
    memory.replace(1, image(30)[None], which=1)
    assert memory.forget(1, which=0) == 1
    assert np.array_equal(memory.images_of(1), np.stack([image(30), image(2)]))


def test_forget_erases_arrays_and_names() -> None:
    memory = memory_of(1, 2, 3)
    memory.rename(2, "secret")
    memory.forget(2)
    content = b"".join(column.tobytes() for column in memory._table._columns.values())
    assert image(1).tobytes() not in content
    assert image(2).tobytes() in content
    assert memory.name(2) == "2"
    assert "secret" not in str(memory.state())


def test_forget_erases_saved_files(tmp_path: Path) -> None:
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


def test_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_save_and_open_round_trip(tmp_path: Path) -> None:
    memory = memory_of(3, 1, 3, 2)
    memory.rename(1, "Ünïcode ✓")
    memory.forget(2)
    memory.save(tmp_path / "m")
    again = ExemplarMemory.open(tmp_path / "m")
    assert digest(again.state()) == digest(memory.state())
    assert (again.version, again.exemplars()) == (memory.version, memory.exemplars())
    again.add(batch(8))
    assert again.version == memory.version + 1


def test_empty_memory_round_trip(tmp_path: Path) -> None:
    ExemplarMemory().save(tmp_path / "m")
    memory = ExemplarMemory.open(tmp_path / "m")
    assert (len(memory), memory.classes(), memory.labels.tolist()) == (0, [], [])


def test_changed_since_is_enough_to_update_derived_tables() -> None:
    """Update a table over many edits, only in the changed rows."""
    memory, sums, version, updated = ExemplarMemory(), np.zeros(0), 0, 0
    for k in range(300):
        if k % 3 == 2:
            memory.forget(memory.classes()[k % len(memory.classes())])
        else:
            memory.add(batch(k, k + 1000, first=k))
        changed = memory.changed_since(version)
        sums = np.resize(sums, len(memory))
        sums[changed] = memory.images[changed].sum(axis=(1, 2))
        version, updated = memory.version, updated + len(changed)
        assert np.array_equal(sums, memory.images.sum(axis=(1, 2)))
    assert updated < 600


def test_cost_of_edits_is_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0

    def counted(table: ColumnTable, where: np.ndarray, parts: dict[str, np.ndarray]) -> None:
        nonlocal written
        written += len(where)
        original(table, where, parts)

    original = ColumnTable.overwrite
    monkeypatch.setattr(ColumnTable, "overwrite", counted)
    memory, costs = ExemplarMemory(), []
    for task in range(1000):
        written = 0
        memory.add(batch(*range(10 * task, 10 * task + 10), size=4))
        memory.forget(10 * task)
        memory.replace(10 * task + 1, image(0, 4)[None])
        costs.append(written)
    assert max(costs) <= 2
    assert len(memory) == 9000


def test_nbytes_is_close_to_the_images() -> None:
    images = np.ones((1000, 64, 64), np.uint8)
    tracemalloc.start()
    memory = ExemplarMemory()
    for k in range(0, 1000, 100):
        memory.add(Batch(images[k : k + 100], np.arange(k, k + 100)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert images.nbytes < memory.nbytes <= 1.1 * images.nbytes
    assert memory.nbytes <= held <= 2.2 * images.nbytes  # capacity doubles


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda m: m.forget(5), "no exemplar of label 5"),
        (lambda m: m.forget(1, which=1), "no image 1"),
        (lambda m: m.rename(5, "x"), "label 5"),
        (lambda m: m.rename(1, " "), "no valid class name"),
        (lambda m: m.rename(1, "a\nb"), "no valid class name"),
        (lambda m: m.rename(1, "x" * 201), "1 to 200"),
        (lambda m: m.replace(1, np.zeros((0, 8, 8), np.uint8)), "n at least 1"),
        (lambda m: m.replace(1, np.zeros((1, 9, 9), np.uint8)), r"images are \(9, 9\)"),
        (lambda m: m.replace(1, np.zeros((2, 8, 8), np.uint8), which=0), "2 images"),
        (lambda m: m.replace(1, np.zeros((1, 8, 8))), "uint8"),
        (lambda m: m.add(Batch(np.zeros((1, 8, 8, 3), np.uint8), np.array([2]))), "this memory has"),
    ],
)
def test_rejected_edits_change_nothing(edit: object, sentence: str) -> None:
    memory = memory_of(1)
    before = digest(memory.state())
    with pytest.raises(BadInput, match=sentence):
        edit(memory)  # type: ignore[operator]
    assert digest(memory.state()) == before


def test_images_of_a_new_memory_are_rejected() -> None:
    with pytest.raises(BadInput, match="memory is empty"):
        _ = ExemplarMemory().images


def test_color_images() -> None:
    memory = ExemplarMemory()
    memory.add(Batch(np.full((1, 4, 4, 3), 9, np.uint8), np.array([0])))
    assert memory.images.shape == (1, 4, 4, 3)


def test_empty_add_is_no_edit() -> None:
    memory = memory_of(1)
    memory.add(Batch(np.zeros((0, 8, 8), np.uint8), np.zeros(0, np.int64)))
    assert memory.version == 1
