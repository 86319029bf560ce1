import json
from dataclasses import replace
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec
from everlearn.runs.sweep import Job, missing
from everlearn.runs.sweep.jobs import check

from .examples import job, played

ASK = ("held-out-factors", "--n-images", "10")


def answer(record: Record, name: str, digest: str) -> None:
    (record.folder / "protocols").mkdir(exist_ok=True)
    (record.folder / "protocols" / f"{name}.json").write_text(json.dumps({"digest": digest}))


def test_everything_is_missing_of_a_job_not_begun(tmp_path: Path) -> None:
    play, ask = missing(job(tmp_path / "a", ASK))
    assert (play.doing, play.words) == ("playing", ("resume", f"{tmp_path}/a"))
    assert (ask.doing, ask.words) == (
        "asking held-out-factors",
        ("evaluate", "held-out-factors", f"{tmp_path}/a", "--n-images", "10"),
    )


def test_a_record_that_is_not_finished_is_played_on(tmp_path: Path) -> None:
    begun = job(tmp_path / "a")
    begun.begin()
    begun.begin()
    assert [act.words[0] for act in missing(begun)] == ["resume"]


def test_only_answers_that_are_not_there_are_missing(tmp_path: Path) -> None:
    asked = job(tmp_path / "a", ASK, ("open-set",))
    record = played(asked)
    assert [act.doing for act in missing(asked)] == ["asking held-out-factors", "asking open-set"]
    answer(record, "held-out-factors", record.digest)
    answer(record, "open-set", "of a run that was edited since")
    assert [act.doing for act in missing(asked)] == ["asking open-set"]
    answer(record, "open-set", record.digest)
    assert missing(asked) == ()


def test_a_name_goes_into_the_record_and_the_folder_onto_the_screen(tmp_path: Path) -> None:
    named = replace(job(tmp_path / "a"), name="the first")
    named.begin()
    assert Record(named.folder).name == "the first"
    assert named.names == ("a", str(tmp_path / "a"))


def test_the_record_of_another_spec_is_refused(tmp_path: Path) -> None:
    job(tmp_path / "a").begin()
    with pytest.raises(BadInput, match="a plays something else: seed was 0, is 3; choose a new folder"):
        check([job(tmp_path / "a", seed=3)])


def test_a_record_from_before_a_setting_plays_the_same_where_that_is_left_out(tmp_path: Path) -> None:
    begun = job(tmp_path / "a")
    begun.begin()
    path = begun.folder / "spec.json"
    spec = json.loads(path.read_text())
    assert spec["evaluation"].pop("lesson_size", "missing") is None
    path.write_text(json.dumps(spec))
    assert check([begun]) == (begun,)
    del spec["epochs"]
    path.write_text(json.dumps(spec))
    with pytest.raises(BadInput, match="epochs was unset, is 1"):
        check([begun])


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.tex").touch()
    with pytest.raises(BadInput, match="a holds something else; choose a new folder"):
        check([job(tmp_path / "a")])


def test_two_jobs_in_one_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="two jobs have the folder"):
        check([job(tmp_path / "a"), job(tmp_path / "a", seed=1)])


@pytest.mark.parametrize(
    ("asks", "complaint"),
    [(((),), "asks nothing in one of its asks"), ((ASK, ("held-out-factors",)), "asks one question twice")],
)
def test_useless_asks_are_refused(tmp_path: Path, asks: tuple[tuple[str, ...], ...], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        check([job(tmp_path / "a", *asks)])


def test_bad_names_are_refused(tmp_path: Path) -> None:
    spec = RunSpec.make(learner="nearest")
    with pytest.raises(BadInput, match="no folder can be called"):
        check([Job(spec=spec, folder=Path("a\0b"))])
    with pytest.raises(BadInput, match="is no name for a run"):
        check([Job(spec=spec, folder=tmp_path / "a", name="two\nlines")])
