import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn import runs
from everlearn.learners.capabilities import editable_memory
from everlearn.memory import ExemplarMemory
from everlearn.runs import Record, RunSpec
from everlearn.runs.memory_edit import edit_memory, exemplar_of, load_run
from everlearn.runs.run_record import RecordLock
from everlearn.serialization import digest
from everlearn.streams.stream import Images
from everlearn.studio.memory_editor import ClassEdit, Session, SessionCache
from everlearn.studio.model_views import recognition
from everlearn.studio.security import Conflict

from .conftest import train
from .live_server import SETTINGS, Studio

N_CLIENTS = 8


def image(value: int) -> Images:
    return np.full((16, 16), value % 251, np.uint8)


def canvas_pixels(value: int) -> bytes:
    gray = image(value)
    return np.dstack([gray, gray, gray, np.full_like(gray, 255)]).tobytes()


def as_stored(records: Path, value: int) -> Images:
    """The exemplar that a canvas of one gray level gives: a square on the background of the stream."""
    run = load_run(Record(records / "dcl"))
    return exemplar_of(run, np.frombuffer(canvas_pixels(value), np.uint8).reshape(16, 16, 4))


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def saved_memory(folder: Path) -> ExemplarMemory:
    return editable_memory(load_run(Record(folder)).learner)


def edit_record(folder: Path, *edits: ClassEdit) -> None:
    """Edit a record as the command line does."""
    edit_memory(Record(folder), [(edit.action, edit.apply) for edit in edits])


@pytest.fixture
def session(records: Path) -> Session:
    return Session(Record(records / "dcl"))


def test_edits_change_the_record_when_they_are_saved(session: Session, records: Path) -> None:
    before = all_bytes(records / "dcl")
    session.edit(ClassEdit("add", session.next_label(), "new", image(9)), version=0)
    session.edit(ClassEdit("rename", 0, "first"), version=0)
    session.edit(ClassEdit("forget", 1), version=0)
    assert session.memory.classes() == [0, 2, 3, 4, 5, 6]
    assert all_bytes(records / "dcl") == before
    events = session.save()
    assert [(event.action, event.label, event.n_images) for event in events] == [
        ("add", 6, 1),
        ("rename", 0, 1),
        ("forget", 1, 0),
    ]
    memory = saved_memory(records / "dcl")
    assert (memory.name(0), memory.name(6), 1 in memory) == ("first", "new", False)
    kinds = [event["event"] for event in Record(records / "dcl").events()]
    assert kinds[-4:] == ["memory-edited"] * 3 + ["run-ended"]


def test_undo_restores_the_state(session: Session) -> None:
    original = digest(session.learner.state())
    session.edit(ClassEdit("rename", 3, "renamed"), version=0)
    renamed = digest(session.learner.state())
    session.edit(ClassEdit("forget", 3), version=1)
    session.undo(version=2)
    assert digest(session.learner.state()) == renamed
    session.undo(version=3)
    assert digest(session.learner.state()) == original
    with pytest.raises(Conflict, match="no unsaved edit"):
        session.undo(version=4)


def test_a_forgotten_image_is_in_no_file(session: Session, records: Path) -> None:
    erased = session.memory.images_of(4)[0].tobytes()
    assert erased in all_bytes(records / "dcl")
    session.edit(ClassEdit("forget", 4), version=0)
    session.save()
    assert erased not in all_bytes(records / "dcl")


def test_edits_of_an_old_version_are_rejected(session: Session) -> None:
    session.edit(ClassEdit("rename", 0, "mine"), version=0)
    with pytest.raises(Conflict, match="label 0 was changed meanwhile"):
        session.edit(ClassEdit("forget", 0), version=0)
    session.edit(ClassEdit("forget", 1), version=0)
    with pytest.raises(Conflict, match="meanwhile"):
        session.undo(version=1)
    with pytest.raises(ValueError, match="label 1"):
        session.edit(ClassEdit("rename", 1, "gone"), version=2)


def test_a_rejected_edit_changes_nothing(session: Session) -> None:
    before = digest(session.learner.state())
    invalid_images = (
        ClassEdit("add", 0, image=image(1)),
        ClassEdit("add", 6, "\n", image(1)),
        ClassEdit("add", 6, image=np.zeros((8, 8), np.uint8)),
    )
    for edit in (*invalid_images, ClassEdit("rename", 0, ""), ClassEdit("forget", 77)):
        with pytest.raises(ValueError, match=r"."):
            session.edit(edit, version=0)
    assert (digest(session.learner.state()), session.edits) == (before, [])


def test_unsaved_edits_are_applied_to_a_record_that_changed(records: Path) -> None:
    sessions, record = SessionCache(), Record(records / "dcl")
    with sessions.open(record) as session:
        session.edit(ClassEdit("rename", 0, "mine"), version=0)
    edit_record(records / "dcl", ClassEdit("rename", 1, "theirs"))
    with sessions.open(record) as session:
        assert (session.memory.name(0), session.memory.name(1)) == ("mine", "theirs")
        session.save()
    memory = saved_memory(records / "dcl")
    assert (memory.name(0), memory.name(1)) == ("mine", "theirs")


def test_an_edit_that_does_not_apply_any_more_changes_no_file(session: Session, records: Path) -> None:
    session.edit(ClassEdit("rename", 0, "mine"), version=0)
    edit_record(records / "dcl", ClassEdit("forget", 0))
    before = all_bytes(records / "dcl")
    with pytest.raises(Conflict, match="does not apply any more"):
        session.save()
    assert all_bytes(records / "dcl") == before


def test_a_running_record_is_not_saved(session: Session, records: Path) -> None:
    session.edit(ClassEdit("forget", 0), version=0)
    with RecordLock(records / "dcl"), pytest.raises(Conflict, match="running"):
        session.save()
    assert len(session.edits) == 1


def test_saved_edits_equal_those_of_the_command_line(tmp_path: Path) -> None:
    """A run that is stopped, edited in a session or by the command line, and resumed ends with equal logs."""
    spec = RunSpec.make(learner="dcl", settings={**SETTINGS, "n_tasks": 3, "learner.width": 4})
    events = runs.record(spec, tmp_path / "studio")
    next(event for event in events if event.kind == "task-ended")
    events.close()  # type: ignore[attr-defined]  # a generator
    shutil.copytree(tmp_path / "studio", tmp_path / "command_line")
    session = Session(Record(tmp_path / "studio"))
    edits = (ClassEdit("rename", 0, "thing"), ClassEdit("forget", 1))
    for edit in edits:
        session.edit(edit, version=0)
    session.save()
    edit_record(tmp_path / "command_line", *edits)
    for name in ("studio", "command_line"):
        assert [*runs.resume(tmp_path / name)][-1].kind == "run-ended"
    assert Record(tmp_path / "studio").digest == Record(tmp_path / "command_line").digest


def test_accuracy_before_and_after_edits(session: Session) -> None:
    for label in range(1, 6):
        session.edit(ClassEdit("forget", label), version=0)
    state = digest(session.learner.state())
    before, after, n_images = session.accuracy()
    assert n_images == 18
    assert after == pytest.approx(1 / 6)  # one class is left
    assert state == digest(session.learner.state())
    session.undo(version=5, n_edits=5)
    assert session.accuracy()[:2] == (before, before)


def test_idle_sessions_without_edits_are_dropped(records: Path) -> None:
    copies = [Record(str(shutil.copytree(records / "dcl", records / f"copy-{i}"))) for i in range(4)]
    sessions = SessionCache()
    with sessions.open(copies[3]) as idle:
        pass
    with sessions.open(copies[0]) as with_edits:
        with_edits.edit(ClassEdit("forget", 0), version=0)
    with sessions.open(copies[1]) as in_use:
        for copy in (copies[2], copies[3], copies[2], copies[3]):
            with sessions.open(copy):
                pass
        in_use.edit(ClassEdit("forget", 1), version=0)
    for copy, known in ((copies[0], with_edits), (copies[1], in_use)):
        with sessions.open(copy) as session:
            assert session is known
    with sessions.open(copies[3]) as session:
        assert session is not idle


@pytest.mark.parametrize("n_edits", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_concurrent_edits_are_all_applied(studio: Studio, records: Path, n_edits: int) -> None:
    """Clients add, rename and forget concurrently; the same edits in sequence give the same run."""
    barrier = threading.Barrier(N_CLIENTS)

    def edit_as(client: int) -> list[tuple[int, ClassEdit]]:
        done: list[tuple[int, ClassEdit]] = []
        barrier.wait()
        for number in range(0, n_edits, 2):
            name = f"{client}-{number}"
            query = {"record": "dcl", "version": 0, "name": name}
            answer = studio.post("/api/memory/add", canvas_pixels(number), **query).json()
            label, version = answer["label"], answer["version"]
            done.append((version, ClassEdit("add", label, name, as_stored(records, number))))
            edit = ClassEdit("rename", label, f"{name}!") if number % 4 else ClassEdit("forget", label)
            answer = studio.post(
                f"/api/memory/{edit.action}", record="dcl", version=version, **vars(edit)
            ).json()
            done.append((answer["version"], edit))
        return done

    with ThreadPoolExecutor(N_CLIENTS) as pool:
        edits = [edit for done in pool.map(edit_as, range(N_CLIENTS)) for edit in done]
    assert sorted(version for version, _ in edits) == list(range(1, N_CLIENTS * n_edits + 1))
    expected = load_run(Record(records / "dcl"))
    for _, edit in sorted(edits, key=lambda pair: pair[0]):
        edit.apply(editable_memory(expected.learner))
    assert studio.post("/api/memory/save", record="dcl").json()["n_saved"] == N_CLIENTS * n_edits
    events = [json.loads(line) for line in (records / "dcl" / "events.jsonl").read_bytes().splitlines()]
    assert sum(event["event"] == "memory-edited" for event in events) == N_CLIENTS * n_edits
    assert events[-1]["digest"] == expected.run_ended().digest
    assert digest(load_run(Record(records / "dcl")).state()) == digest(expected.state())


def test_classes_of_a_folder_have_the_names_of_its_folders(tmp_path: Path) -> None:
    for number, name in enumerate(("cup", "pear", "spoon")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        image = Image.new("RGB", (24, 24), "white")
        image.paste((200, 40 * number, 10), (6, 4 + number, 18 - 2 * number, 20))
        image.save(tmp_path / "photos" / name / "photo.png")
    folder = {"stream.data": str(tmp_path / "photos"), "stream.image_size": 16, "stream.n_poses": 20}
    settings = {**folder, "stream.classes_per_task": 2, "n_tasks": 1, "learner.width": 4}
    train(RunSpec.make(stream="folder", learner="dcl", settings=settings), tmp_path / "record")
    session = Session(Record(tmp_path / "record"))
    assert [session.class_name(label) for label in session.memory.classes()] == ["cup", "pear"]
    session.edit(ClassEdit("rename", 1, "kite"), version=0)
    session.edit(
        ClassEdit("add", 2, None, session.image(0, 0)), version=1
    )  # not the spoon, which was not seen
    assert [session.class_name(label) for label in session.memory.classes()] == ["cup", "kite", "2"]
    assert recognition(session.learner, session.image(1, 0), session.class_name)["name"] == "kite"
