"""Edits are tried, taken back, saved; whoever edits at the same time loses nothing."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from everlearn import runs
from everlearn.evaluation.protocols import editable_memory
from everlearn.runs import Play, Record, RunSpec
from everlearn.runs.memory_edit import edited
from everlearn.runs.run_record import RecordLock
from everlearn.serialization import digest
from everlearn.streams.stream import Images
from everlearn.studio.memory_editor import Add, Draft, Drafts, Edit, Forget, Rename
from everlearn.studio.security import Conflict

from .visits import SETTINGS, Studio

CLIENTS, EACH = 8, 500


def image(number: int) -> Images:
    return np.full((16, 16), number % 251, np.uint8)


def canvas(number: int) -> bytes:
    gray = image(number)
    return np.dstack([gray, gray, gray, np.full_like(gray, 255)]).tobytes()


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def saved(folder: Path) -> Play:
    """The run as it was last saved."""
    record = Record(folder)
    play = Play(RunSpec.from_mapping(record.spec))
    play.load(record.checkpoints.read(max(record.checkpoints.numbers()))["play"])
    return play


def test_an_edit_is_tried_before_it_is_saved(records: Path) -> None:
    before = everything(records / "dcl")
    draft = Draft(Record(records / "dcl"))
    assert draft.edit(Add(image(9), name="new"), seen=0) == 6
    assert draft.edit(Rename(0, "first"), seen=0) == 0
    assert draft.edit(Forget(1), seen=0) == 1
    assert draft.memory.classes() == [0, 2, 3, 4, 5, 6]
    assert everything(records / "dcl") == before
    events = draft.save()
    assert [(event.act, event.label, event.n_images) for event in events] == [
        ("add", 6, 1),
        ("rename", 0, 1),
        ("forget", 1, 0),
    ]
    memory = editable_memory(saved(records / "dcl").learner)
    assert (memory.name(0), memory.name(6), 1 in memory) == ("first", "new", False)
    told = [event["event"] for event in Record(records / "dcl").events()]
    assert told[-4:] == ["memory-edited"] * 3 + ["run-ended"]


def test_saving_leaves_what_the_command_line_would(records: Path, tmp_path: Path) -> None:
    """One edit in the studio and the same by `everlearn memory` give the same digest."""
    other = tmp_path / "other"
    edited(Record(_copied(records / "dcl", other)), [("forget", lambda memory: memory.forget(2) and 2)])
    draft = Draft(Record(records / "dcl"))
    draft.edit(Forget(2), seen=0)
    draft.save()
    assert Record(records / "dcl").digest == Record(other).digest


def test_undoing_leaves_no_trace(records: Path) -> None:
    draft = Draft(Record(records / "dcl"))
    untouched = digest(draft.learner.state())
    draft.edit(Rename(3, "kept"), seen=0)
    kept = digest(draft.learner.state())
    draft.edit(Forget(3), seen=1)
    draft.undo(seen=2)
    assert digest(draft.learner.state()) == kept
    draft.undo(seen=3)
    assert digest(draft.learner.state()) == untouched
    with pytest.raises(Conflict, match="nothing to undo"):
        draft.undo(seen=4)


def test_what_is_forgotten_is_in_no_file(records: Path) -> None:
    draft = Draft(Record(records / "dcl"))
    gone = draft.memory.images_of(4)[0].tobytes()
    assert gone in everything(records / "dcl")
    draft.edit(Forget(4), seen=0)
    draft.save()
    assert gone not in everything(records / "dcl")


def test_a_stale_edit_is_refused(records: Path) -> None:
    draft = Draft(Record(records / "dcl"))
    draft.edit(Rename(0, "mine"), seen=0)
    with pytest.raises(Conflict, match="label 0 meanwhile"):
        draft.edit(Forget(0), seen=0)
    draft.edit(Forget(1), seen=0)
    with pytest.raises(Conflict, match="meanwhile"):
        draft.undo(seen=1)
    with pytest.raises(ValueError, match="nothing is remembered of label 1"):
        draft.edit(Rename(1, "gone"), seen=2)


def test_a_refused_edit_leaves_nothing_behind(records: Path) -> None:
    draft = Draft(Record(records / "dcl"))
    before = digest(draft.learner.state())
    for edit in (Add(image(1), name="\n"), Add(np.zeros((8, 8), np.uint8)), Rename(0, ""), Forget(77)):
        with pytest.raises(ValueError, match=r"."):
            draft.edit(edit, seen=0)
    assert (digest(draft.learner.state()), draft.edits) == (before, [])


def test_edits_follow_a_record_that_was_edited_elsewhere(records: Path) -> None:
    drafts, record = Drafts(), Record(records / "dcl")
    with drafts.of(record) as draft:
        draft.edit(Rename(0, "mine"), seen=0)
    edited(Record(records / "dcl"), [("rename", lambda memory: memory.rename(1, "theirs") or 1)])
    with drafts.of(record) as draft:
        assert (draft.memory.name(0), draft.memory.name(1)) == ("mine", "theirs")
        draft.save()
    memory = editable_memory(saved(records / "dcl").learner)
    assert (memory.name(0), memory.name(1)) == ("mine", "theirs")


def test_an_edit_that_no_longer_fits_changes_no_file(records: Path) -> None:
    drafts, record = Drafts(), Record(records / "dcl")
    with drafts.of(record) as draft:
        draft.edit(Rename(0, "mine"), seen=0)
        edited(Record(records / "dcl"), [("forget", lambda memory: memory.forget(0) and 0)])
        before = everything(records / "dcl")
        with pytest.raises(Conflict, match="does not fit"):
            draft.save()
    assert everything(records / "dcl") == before


def test_a_record_that_is_playing_is_left_alone(records: Path) -> None:
    draft = Draft(Record(records / "dcl"))
    draft.edit(Forget(0), seen=0)
    with RecordLock(records / "dcl"), pytest.raises(Conflict, match="playing"):
        draft.save()
    assert len(draft.edits) == 1


def test_a_run_goes_on_with_its_edits_exactly(tmp_path: Path) -> None:
    """Stopped after a task, edited, gone on with: in the studio and by the command line the same run."""
    spec = RunSpec.make(learner="dcl", settings={**SETTINGS, "n_tasks": 3, "learner.width": 4})
    story = runs.record(spec, tmp_path / "one")
    for event in story:
        if event.kind == "task-ended":
            break
    story.close()  # type: ignore[attr-defined]  # a generator
    _copied(tmp_path / "one", tmp_path / "two")
    draft = Draft(Record(tmp_path / "one"))
    draft.edit(Rename(0, "thing"), seen=0)
    draft.edit(Forget(1), seen=0)
    draft.save()
    edited(Record(tmp_path / "two"), [("rename", lambda memory: memory.rename(0, "thing") or 0)])
    edited(Record(tmp_path / "two"), [("forget", lambda memory: memory.forget(1) and 1)])
    for name in ("one", "two"):
        assert [*runs.resume(tmp_path / name)][-1].kind == "run-ended"
    assert Record(tmp_path / "one").digest == Record(tmp_path / "two").digest


def test_accuracy_before_and_after(records: Path) -> None:
    draft = Draft(Record(records / "dcl"))
    for label in range(1, 6):
        draft.edit(Forget(label), seen=0)
    state = digest(draft.learner.state())
    before, after, n_images = draft.accuracy()
    assert n_images == 18
    assert after == pytest.approx(1 / 6)  # one class is left, and everything is taken for it
    draft.undo(seen=5, n_edits=5)
    assert draft.accuracy()[:2] == (before, before)
    assert state != digest(draft.learner.state())


def test_drafts_are_let_go_of_unless_they_hold_something(records: Path) -> None:
    copies = [Record(_copied(records / "dcl", records / f"copy-{number}")) for number in range(4)]
    drafts = Drafts()
    with drafts.of(copies[0]) as edited_one:
        edited_one.edit(Forget(0), seen=0)
    with drafts.of(copies[1]) as in_use:
        for other in (copies[2], copies[3], copies[2], copies[3]):
            with drafts.of(other):
                pass
        in_use.edit(Forget(1), seen=0)
    for copy, known in ((copies[0], edited_one), (copies[1], in_use)):
        with drafts.of(copy) as draft:
            assert draft is known


@pytest.mark.parametrize("each", [20, pytest.param(EACH, marks=pytest.mark.slow)])
def test_concurrent_edits_lose_nothing(studio: Studio, records: Path, each: int) -> None:
    """Eight clients add, rename and forget at once; done again one by one, their edits give the same run."""
    begin = threading.Barrier(CLIENTS)

    def visit(client: int) -> list[tuple[int, Edit]]:
        done: list[tuple[int, Edit]] = []
        begin.wait()
        for number in range(0, each, 2):
            name = f"{client}-{number}"
            answer = studio.post("/api/memory/add", canvas(number), record="dcl", seen=0, name=name).json()
            label, seen = answer["label"], answer["edition"]
            done.append((seen, Add(image(number), label, name)))
            act, more = ("rename", {"name": f"{name}!"}) if number % 4 else ("forget", {})
            answer = studio.post(f"/api/memory/{act}", record="dcl", seen=seen, label=label, **more).json()
            done.append((answer["edition"], Rename(label, f"{name}!") if more else Forget(label)))
        return done

    with ThreadPoolExecutor(CLIENTS) as pool:
        edits = [edit for done in pool.map(visit, range(CLIENTS)) for edit in done]
    assert sorted(edition for edition, _ in edits) == list(range(1, CLIENTS * each + 1))
    again = saved(records / "dcl")
    for _, edit in sorted(edits, key=lambda pair: pair[0]):
        edit.apply(editable_memory(again.learner))
    assert studio.post("/api/memory/save", record="dcl").json()["saved"] == CLIENTS * each
    told = [json.loads(line) for line in (records / "dcl" / "events.jsonl").read_bytes().splitlines()]
    assert sum(event["event"] == "memory-edited" for event in told) == CLIENTS * each
    assert told[-1]["digest"] == again.ended().digest
    assert digest(saved(records / "dcl").state()) == digest(again.state())


def _copied(folder: Path, to: Path) -> str:
    return str(shutil.copytree(folder, to))
