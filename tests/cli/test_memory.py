import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn import runs
from everlearn.cli.arguments import read_image
from everlearn.evaluation.protocols import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs import recorder
from everlearn.runs.events import TaskEnded
from everlearn.runs.memory_edit import opened

from .outcomes import SETTINGS, Run, assert_refused, record_of, tree

RECORD = "records/dcl"


def memory() -> ExemplarMemory:
    return editable_memory(opened(runs.Record(RECORD)).learner)


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_list_draws_what_is_remembered(run: Run, records: Path) -> None:
    facts = json.loads(run("memory", "list", RECORD, "-o", "all.png", "--json").out)
    assert [each["label"] for each in facts["classes"]] == list(range(6))
    assert facts["images"] == 6
    with Image.open("all.png") as drawn:
        assert drawn.size[0] > 100
    assert "6 images of 6 classes" in run("memory", "list", RECORD).out


def test_forgetting_leaves_no_byte(run: Run, records: Path) -> None:
    image = memory().images_of(3)[0].tobytes()
    assert image in everything(records / "dcl")
    facts = json.loads(run("memory", "forget", RECORD, "3", "--json").out)
    assert (facts["label"], facts["forgotten"]) == (3, 1)
    assert image not in everything(records / "dcl")
    assert memory().classes() == [0, 1, 2, 4, 5]
    assert len(list((records / "dcl" / "checkpoint").glob("*.safetensors"))) == 1


def test_an_erased_class_is_gone_from_every_file_and_every_answer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record_of("dcl", Path("run"), **{"stream.image_size": 64, "learner.width": 4})
    assert run("evaluate", "open-set", "run", "--n-images", "20").code == 0
    assert run("evaluate", "one-shot", "run", "--n-new", "2", "--n-images", "10").code == 0
    assert run("memory", "rename", "run", "4", "the erased one").code == 0
    play = opened(runs.Record("run"))
    kept = editable_memory(play.learner)
    others = b"".join(kept.images_of(label).tobytes() for label in kept.classes() if label != 4)
    rows = {row.tobytes() for row in kept.images_of(4)[0] if len(set(row.tolist())) > 1}
    own = {row for row in rows if row not in others}
    assert len(own) > 10
    assert all(row in everything(Path("run")) for row in own)

    assert run("memory", "forget", "run", "the erased one").code == 0
    left = everything(Path("run"))
    assert [row for row in own if row in left] == []
    assert b"the erased one" not in left
    images = np.concatenate([play.stream.task(k).train.images for k in range(4)])
    answers = opened(runs.Record("run")).learner.predict(images)
    assert 4 in play.learner.predict(images)
    assert 4 not in answers
    assert set(answers.tolist()) <= {0, 1, 2, 3, 5}


def test_an_edit_keeps_the_record_whole(run: Run, records: Path) -> None:
    """Scores stay as they were measured; the digest tells that the memory is another."""
    before = json.loads(run("show", RECORD, "--json").out)
    run("memory", "rename", RECORD, "2", "boot")
    after = json.loads(run("show", RECORD, "--json").out)
    assert after["finished"]
    assert after["digest"] != before["digest"]
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"digest", "edits", "memory_bytes"}
    assert after["memory_bytes"] == before["memory_bytes"] + len("boot")
    assert json.loads(run("resume", RECORD, "--json").out) == after


def test_edits_are_part_of_the_story(run: Run, records: Path) -> None:
    Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save("new.png")
    for words in (["add", RECORD, "new.png"], ["rename", RECORD, "6", "hat"], ["forget", RECORD, "1"]):
        assert run("memory", *words).code == 0
    told = [event for event in runs.Record(RECORD).events() if event["event"] == "memory-edited"]
    assert [(e["act"], e["label"], e["n_images"], e["n_tasks"]) for e in told] == [
        ("add", 6, 1, 2), ("rename", 6, 1, 2), ("forget", 1, 0, 2),
    ]  # fmt: skip
    facts = json.loads(run("show", RECORD, "--json").out)
    assert facts["memory_bytes"] == told[-1]["memory_bytes"] == memory().nbytes
    out = run("show", RECORD).out
    assert "added to label 6 after 2 tasks" in out
    assert "forgot label 1 after 2 tasks" in out


def test_a_run_goes_on_from_the_edited_memory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edited in the middle, it neither loses the edit nor plays anything twice."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recorder, "SAVING_SHARE", 1e12)
    spec = runs.RunSpec.make(learner="dcl", settings={**SETTINGS, "learner.width": 4, "n_tasks": 3})
    story = runs.record(spec, "run")
    next(event for event in story if isinstance(event, TaskEnded) and event.task == 1)
    story.close()  # type: ignore[attr-defined]  # it is a generator, and holds the record's lock
    assert run("memory", "forget", "run", "0").code == 0
    assert json.loads(run("show", "run", "--json").out)["finished"] is False
    ended = json.loads(run("resume", "run", "--json").out)
    assert (ended["tasks"], ended["finished"]) == (3, True)
    learner = opened(runs.Record("run")).learner
    assert editable_memory(learner).classes() == list(range(1, 9))
    kinds = [event["event"] for event in runs.Record("run").events() if event["event"] != "learned"]
    task = ["task-started", "task-ended"]
    assert kinds == ["run-started", *task, *task, "memory-edited", *task, "run-ended"]
    assert ended["memory_bytes"] == learner.footprint().memory
    assert json.loads(run("show", "run", "--json").out) == ended


def test_a_class_is_known_by_its_name(run: Run, records: Path) -> None:
    assert run("memory", "rename", RECORD, "2", "boot").code == 0
    assert memory().name(2) == "boot"
    assert json.loads(run("memory", "forget", RECORD, "boot", "--json").out)["label"] == 2
    assert b"boot" not in everything(records / "dcl")


@pytest.mark.parametrize(("words", "label"), [((), 6), (("--label", "1"), 1), (("--name", "hat"), 6)])
def test_add_teaches_a_class_with_one_image(
    run: Run, records: Path, words: tuple[str, ...], label: int
) -> None:
    Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save("new.png")
    facts = json.loads(run("memory", "add", RECORD, "new.png", *words, "--json").out)
    assert facts["label"] == label
    np.testing.assert_array_equal(memory().images_of(label)[-1], np.arange(256).reshape(16, 16))
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


def test_a_image_of_any_size_fits(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 20), (255, 0, 0, 128)).save(tmp_path / "wide.png")
    gray, colour = (read_image(tmp_path / "wide.png", shape) for shape in ((16, 16), (16, 16, 3)))
    assert gray.shape == (16, 16)
    assert colour.shape == (16, 16, 3)
    assert tuple(colour[8, 8]) == (128, 0, 0)
    assert gray[0, 8] == 0
