import json
from dataclasses import replace
from pathlib import Path

import pytest

from everlearn.errors import BadInput
from everlearn.runs import Record, RunSpec
from everlearn.runs.sweep import Job, estimate_seconds, pending_commands, with_durations
from everlearn.runs.sweep.jobs import check_jobs

from .jobs_for_tests import run_here, tiny_job

PROTOCOL = ("held-out-factors", "--n-images", "10")


def write_result(record: Record, name: str, digest: str) -> None:
    (record.folder / "protocols").mkdir(exist_ok=True)
    (record.folder / "protocols" / f"{name}.json").write_text(json.dumps({"digest": digest}))


def stages(job: Job) -> list[str]:
    return [command.stage for command in pending_commands(job)]


def test_commands_of_a_new_job(tmp_path: Path) -> None:
    training, protocol = pending_commands(tiny_job(tmp_path / "a", PROTOCOL))
    assert (training.stage, training.arguments) == ("training", ("resume", f"{tmp_path}/a"))
    assert protocol.stage == "held-out-factors"
    assert protocol.arguments[-4:] == ("held-out-factors", f"{tmp_path}/a", "--n-images", "10")


def test_unfinished_record_is_resumed(tmp_path: Path) -> None:
    started = tiny_job(tmp_path / "a")
    started.create_record()
    started.create_record()
    assert [command.arguments[0] for command in pending_commands(started)] == ["resume"]


def test_protocols_without_a_current_result_are_pending(tmp_path: Path) -> None:
    job = tiny_job(tmp_path / "a", PROTOCOL, ("open-set",))
    record = run_here(job)
    assert stages(job) == ["held-out-factors", "open-set"]
    write_result(record, "held-out-factors", record.digest)
    write_result(record, "open-set", "of a run that was edited since")
    assert stages(job) == ["open-set"]
    write_result(record, "open-set", record.digest)
    assert stages(job) == []


def test_name_goes_into_the_record(tmp_path: Path) -> None:
    named = replace(tiny_job(tmp_path / "a"), name="the first")
    named.create_record()
    assert Record(named.folder).name == "the first"
    assert named.names == ("a", str(tmp_path / "a"))


# Checks


def test_record_of_another_spec_is_rejected(tmp_path: Path) -> None:
    tiny_job(tmp_path / "a").create_record()
    with pytest.raises(
        BadInput, match="a is the record of another run: seed was 0, is 3; choose a new folder"
    ):
        check_jobs([tiny_job(tmp_path / "a", seed=3)])


def test_record_without_an_optional_setting_is_accepted(tmp_path: Path) -> None:
    """Records from before a setting existed do not have it."""
    job = tiny_job(tmp_path / "a")
    job.create_record()
    spec = json.loads((job.folder / "spec.json").read_text())
    assert spec["evaluation"].pop("n_probe_images", "missing") is None
    (job.folder / "spec.json").write_text(json.dumps(spec))
    assert check_jobs([job]) == (job,)
    spec["epochs"] = 2
    (job.folder / "spec.json").write_text(json.dumps(spec))
    with pytest.raises(BadInput, match="epochs was 2, is 1"):
        check_jobs([job])


def test_folder_with_other_files_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.tex").touch()
    with pytest.raises(BadInput, match="a has other files; choose a new folder"):
        check_jobs([tiny_job(tmp_path / "a")])


def test_two_jobs_in_one_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="two jobs have the folder"):
        check_jobs([tiny_job(tmp_path / "a"), tiny_job(tmp_path / "a", seed=1)])


@pytest.mark.parametrize(
    ("protocols", "error"),
    [
        (((),), "has a protocol without a name"),
        ((PROTOCOL, ("held-out-factors",)), "has a protocol twice"),
        ((("oneshot",),), "did you mean 'one-shot'"),
    ],
)
def test_invalid_protocols_are_rejected(
    tmp_path: Path, protocols: tuple[tuple[str, ...], ...], error: str
) -> None:
    with pytest.raises(BadInput, match=error):
        check_jobs([tiny_job(tmp_path / "a", *protocols)])


def test_invalid_names_are_rejected(tmp_path: Path) -> None:
    spec = RunSpec.make(learner="nearest")
    with pytest.raises(BadInput, match="is not a valid folder"):
        check_jobs([Job(spec=spec, folder=Path("a\0b"))])
    with pytest.raises(BadInput, match="is not a valid name"):
        check_jobs([Job(spec=spec, folder=tmp_path / "a", name="two\nlines")])


# Estimated time


def jobs_of(folder: Path, *seconds: float | None) -> list[Job]:
    return [replace(tiny_job(folder / str(n), seed=n), seconds=each) for n, each in enumerate(seconds)]


@pytest.mark.parametrize(("workers", "expected"), [(1, 60.0), (2, 30.0), (8, 30.0)])
def test_jobs_are_shared_among_workers(tmp_path: Path, workers: int, expected: float) -> None:
    assert estimate_seconds(jobs_of(tmp_path, 30.0, 20.0, 10.0), workers=workers) == expected


def test_estimate_needs_the_duration_of_every_job(tmp_path: Path) -> None:
    assert estimate_seconds(jobs_of(tmp_path, 30.0, None), workers=2) is None
    assert estimate_seconds([], workers=2) == 0.0


def test_estimate_excludes_finished_work(tmp_path: Path) -> None:
    first, second = jobs_of(tmp_path, None, 10.0)
    run_here(first)
    assert estimate_seconds([first, second], workers=2) == 10.0
    second.create_record()
    (second.folder / "seconds.jsonl").write_text('{"task": 0, "seconds": 4.0}\n')
    assert estimate_seconds([first, second], workers=2) == 6.0


def test_durations_are_those_of_other_seeds(tmp_path: Path) -> None:
    first, second = (tiny_job(tmp_path / str(n), seed=n, **{"stream.seed": n}) for n in (0, 1))
    other = tiny_job(tmp_path / "other", epochs=2)
    record = run_here(first)
    (record.folder / "seconds.jsonl").write_text('{"task": 0, "seconds": 4.0}\n{"task": 1, "seconds": 3.0}\n')
    second.create_record()  # not finished, so it has no duration
    records = [record, Record(second.folder)]
    assert [each.seconds for each in with_durations([first, second, other], records)] == [7.0, 7.0, None]
