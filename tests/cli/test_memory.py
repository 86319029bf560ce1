from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn import runs
from everlearn.learners.capabilities import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs import recorder
from everlearn.runs.events import TaskEnded
from everlearn.runs.memory_edit import load_run

from .outcomes import SETTINGS, Run, assert_refused, record_of, tree

RECORD = "records/dcl"


def memory() -> ExemplarMemory:
    return editable_memory(load_run(runs.Record(RECORD)).learner)


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_list_draws_exemplars(run: Run, records: Path) -> None:
    facts = run("memory", "list", RECORD, "-o", "all.png", "--json").data
    assert [each["label"] for each in facts["classes"]] == list(range(6))
    assert facts["images"] == 6
    with Image.open("all.png") as drawn:
        assert drawn.size[0] > 100
    assert "6 images of 6 classes" in run("memory", "list", RECORD).out


def test_forgotten_image_is_in_no_file(run: Run, records: Path) -> None:
    image = memory().images_of(3)[0].tobytes()
    assert image in all_bytes(records / "dcl")
    facts = run("memory", "forget", RECORD, "3", "--json").data
    assert (facts["label"], facts["forgotten"]) == (3, 1)
    assert image not in all_bytes(records / "dcl")
    assert memory().classes() == [0, 1, 2, 4, 5]
    assert len(list((records / "dcl" / "checkpoint").glob("*.safetensors"))) == 1


def test_forgotten_class_is_in_no_file_and_no_prediction(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record_of("dcl", Path("run"), **{"stream.image_size": 64, "learner.width": 4})
    assert run("evaluate", "open-set", "run", "--n-images", "20").code == 0
    assert run("evaluate", "one-shot", "run", "--n-new", "2", "--n-images", "10").code == 0
    assert run("memory", "rename", "run", "4", "the deleted one").code == 0
    state = load_run(runs.Record("run"))
    kept = editable_memory(state.learner)
    others = b"".join(kept.images_of(label).tobytes() for label in kept.classes() if label != 4)
    rows = {row.tobytes() for row in kept.images_of(4)[0] if len(set(row.tolist())) > 1}
    own = {row for row in rows if row not in others}
    assert len(own) > 10
    assert all(row in all_bytes(Path("run")) for row in own)

    assert run("memory", "forget", "run", "the deleted one").code == 0
    left = all_bytes(Path("run"))
    assert [row for row in own if row in left] == []
    assert b"the deleted one" not in left
    images = np.concatenate([state.stream.task(k).train.images for k in range(4)])
    predictions = load_run(runs.Record("run")).learner.predict(images)
    assert 4 in state.learner.predict(images)
    assert 4 not in predictions
    assert set(predictions.tolist()) <= {0, 1, 2, 3, 5}


def test_edit_changes_the_digest_and_no_score(run: Run, records: Path) -> None:
    before = run("show", RECORD, "--json").data
    run("memory", "rename", RECORD, "2", "boot")
    after = run("show", RECORD, "--json").data
    assert after["finished"]
    assert after["digest"] != before["digest"]
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"digest", "edits", "memory_bytes", "bytes"}
    assert after["memory_bytes"] == before["memory_bytes"] + len("boot")
    assert run("resume", RECORD, "--json").data == after


def test_edits_are_logged(run: Run, records: Path) -> None:
    Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).save("new.png")
    for words in (["add", RECORD, "new.png"], ["rename", RECORD, "6", "hat"], ["forget", RECORD, "1"]):
        assert run("memory", *words).code == 0
    edits = [event for event in runs.Record(RECORD).events() if event["event"] == "memory-edited"]
    assert [(e["action"], e["label"], e["n_images"], e["n_tasks"]) for e in edits] == [
        ("add", 6, 1, 2), ("rename", 6, 1, 2), ("forget", 1, 0, 2),
    ]  # fmt: skip
    facts = run("show", RECORD, "--json").data
    assert facts["memory_bytes"] == edits[-1]["memory_bytes"] == memory().nbytes
    out = run("show", RECORD).out
    assert "added to label 6 after 2 tasks" in out
    assert "deleted label 1 after 2 tasks" in out


def test_run_continues_with_the_edited_memory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recorder, "MAX_CHECKPOINT_OVERHEAD", 1e12)
    spec = runs.RunSpec.make(learner="dcl", settings={**SETTINGS, "learner.width": 4, "n_tasks": 3})
    events = runs.record(spec, "run")
    next(event for event in events if isinstance(event, TaskEnded) and event.task == 1)
    events.close()  # type: ignore[attr-defined]  # a generator that holds the lock of the record
    assert run("memory", "forget", "run", "0").code == 0
    assert run("show", "run", "--json").data["finished"] is False
    ended = run("resume", "run", "--json").data
    assert (ended["tasks"], ended["finished"]) == (3, True)
    learner = load_run(runs.Record("run")).learner
    assert editable_memory(learner).classes() == list(range(1, 9))
    kinds = [event["event"] for event in runs.Record("run").events() if event["event"] != "train-step"]
    task = ["task-started", "task-ended"]
    assert kinds == ["run-started", *task, *task, "memory-edited", *task, "run-ended"]
    assert ended["memory_bytes"] == learner.footprint().memory
    assert run("show", "run", "--json").data == ended


def test_class_is_found_by_its_name(run: Run, records: Path) -> None:
    assert run("memory", "rename", RECORD, "2", "boot").code == 0
    assert memory().name(2) == "boot"
    assert run("memory", "forget", RECORD, "boot", "--json").data["label"] == 2
    assert b"boot" not in all_bytes(records / "dcl")


@pytest.mark.parametrize(("words", "label"), [((), 6), (("--label", "1"), 1), (("--name", "hat"), 6)])
def test_add_creates_or_extends_a_class(run: Run, records: Path, words: tuple[str, ...], label: int) -> None:
    image = np.zeros((40, 60, 4), np.uint8)  # transparent, with an object in its corner
    image[2:12, 3:13] = (30, 30, 30, 255)
    Image.fromarray(image).save("new.png")
    facts = run("memory", "add", RECORD, "new.png", *words, "--json").data
    assert facts["label"] == label
    stored, other = memory().images_of(label)[-1], memory().images_of(0)[0]
    assert stored[0, 0] == other[0, 0]  # the background of the stream
    rows, columns = np.nonzero(stored == 30)
    np.testing.assert_allclose([rows.mean(), columns.mean()], 7.5, atol=0.5)
    assert np.ptp(np.nonzero(other != other[0, 0])[0]) == pytest.approx(np.ptp(rows), abs=3)
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
    ],
)
def test_invalid_edit_changes_nothing(run: Run, records: Path, words: tuple[str, ...]) -> None:
    before = tree(records)
    assert_refused(run("memory", *words))
    assert tree(records) == before


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record of a run on two folders of photos, in `run`; returns the folder of the photos."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("cup", "pear")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        image = Image.new("RGB", (48, 48), "white")
        image.paste((200, 90 * number, 10), (12, 8 + 10 * number, 36 - 12 * number, 40))
        image.save(tmp_path / "photos" / name / "photo.png")
    stream = {"data": str(tmp_path / "photos"), "image_size": 32, "n_poses": 200, "classes_per_task": 2}
    settings = {f"stream.{key}": value for key, value in stream.items()}
    spec = runs.RunSpec.make(stream="folder", learner="dcl", settings={**settings, "n_tasks": 1})
    for _ in runs.record(spec, tmp_path / "run"):
        pass
    return tmp_path / "photos"


def test_classes_have_the_names_of_their_folders(run: Run, photos: Path) -> None:
    listed = run("memory", "list", "run", "--json").data["classes"]
    assert [each["name"] for each in listed] == ["cup", "pear"]
    answers = run("ask", "run", str(photos / "pear"), str(photos / "cup" / "photo.png"), "--json").data[
        "answers"
    ]
    assert [each["name"] for each in answers] == ["pear", "cup"]
    assert all(0 <= each["novelty"] < 1 for each in answers)
    assert run("memory", "rename", "run", "cup", "mug", "--json").data["label"] == 0
    assert run("memory", "forget", "run", "pear", "--json").data["forgotten"] == 1
    assert "mug" in run("ask", "run", str(photos / "cup")).out


@pytest.mark.parametrize(
    "words",
    [
        ("ask", RECORD, "photo.png", "--keep-unknown"),
        ("ask", "records/er", "photo.png"),
        ("ask", RECORD, "note.txt"),
        ("memory", "forget", RECORD, "cup"),
    ],
)
def test_a_question_that_a_record_cannot_answer_is_refused(
    run: Run, records: Path, words: tuple[str, ...]
) -> None:
    Image.new("RGB", (32, 32)).save("photo.png")
    Path("note.txt").write_text("no image")
    before = tree(records)
    assert_refused(run(*words))
    assert tree(records) == before
