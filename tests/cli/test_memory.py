import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn import runs
from everlearn.cli.opened import opened
from everlearn.cli.picture import read_picture
from everlearn.evaluation.protocols import editable_memory
from everlearn.memory import ExemplarMemory

from .outcomes import Run, assert_refused, tree

RECORD = "records/dcl"


def memory() -> ExemplarMemory:
    return editable_memory(opened(runs.Record(RECORD)).learner)


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_list_draws_what_is_remembered(run: Run, records: Path) -> None:
    facts = json.loads(run("memory", "list", RECORD, "-o", "all.png", "--json").out)
    assert [each["label"] for each in facts["classes"]] == list(range(6))
    assert facts["pictures"] == 6
    with Image.open("all.png") as drawn:
        assert drawn.size[0] > 100
    assert "6 pictures of 6 classes" in run("memory", "list", RECORD).out


def test_forgetting_leaves_no_byte(run: Run, records: Path) -> None:
    picture = memory().pictures(3)[0].tobytes()
    assert picture in everything(records / "dcl")
    facts = json.loads(run("memory", "forget", RECORD, "3", "--json").out)
    assert (facts["label"], facts["forgotten"]) == (3, 1)
    assert picture not in everything(records / "dcl")
    assert memory().classes() == [0, 1, 2, 4, 5]
    assert len(list((records / "dcl" / "checkpoint").glob("*.safetensors"))) == 1


def test_an_edit_keeps_the_record_whole(run: Run, records: Path) -> None:
    """Scores stay as they were measured; the digest tells that the memory is another."""
    before = json.loads(run("show", RECORD, "--json").out)
    run("memory", "rename", RECORD, "2", "boot")
    after = json.loads(run("show", RECORD, "--json").out)
    assert after["finished"]
    assert after["digest"] != before["digest"]
    assert {**after, "digest": ""} == {**before, "digest": ""}
    assert json.loads(run("resume", RECORD, "--json").out) == after


def test_a_class_is_known_by_its_name(run: Run, records: Path) -> None:
    assert run("memory", "rename", RECORD, "2", "boot").code == 0
    assert memory().name(2) == "boot"
    assert json.loads(run("memory", "forget", RECORD, "boot", "--json").out)["label"] == 2
    assert b"boot" not in everything(records / "dcl")


@pytest.mark.parametrize(("words", "label"), [((), 6), (("--label", "1"), 1), (("--name", "hat"), 6)])
def test_add_teaches_a_class_with_one_picture(
    run: Run, records: Path, words: tuple[str, ...], label: int
) -> None:
    Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save("new.png")
    facts = json.loads(run("memory", "add", RECORD, "new.png", *words, "--json").out)
    assert facts["label"] == label
    np.testing.assert_array_equal(memory().pictures(label)[-1], np.arange(256).reshape(16, 16))
    assert memory().name(label) == facts["name"]


@pytest.mark.parametrize(
    "words",
    [
        ("forget", RECORD, "99"),
        ("forget", RECORD, "9" * 40),
        ("forget", RECORD, "shoe"),
        ("forget", RECORD, "-1"),
        ("forget", RECORD),
        ("rename", RECORD, "2", ""),
        ("rename", RECORD, "2", "a\nb"),
        ("rename", RECORD, "99", "shoe"),
        ("add", RECORD, "missing.png"),
        ("add", RECORD, "records/dcl/spec.json"),
        ("add", RECORD, "a\0.png"),
        ("list", RECORD, "-o", "all.jpg"),
        ("list", "records"),
        ("list", "records/nearest"),
        ("forget", "records/nearest", "1"),
        ("shake", RECORD),
    ],
)
def test_edits_that_cannot_be_are_refused_and_change_nothing(
    run: Run, records: Path, words: tuple[str, ...]
) -> None:
    before = tree(records)
    assert_refused(run("memory", *words))
    assert tree(records) == before


def test_a_picture_of_any_size_fits(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 20), (255, 0, 0, 128)).save(tmp_path / "wide.png")
    gray, colour = (read_picture(tmp_path / "wide.png", shape) for shape in ((16, 16), (16, 16, 3)))
    assert gray.shape == (16, 16)
    assert colour.shape == (16, 16, 3)
    assert tuple(colour[8, 8]) == (128, 0, 0)
    assert gray[0, 8] == 0
