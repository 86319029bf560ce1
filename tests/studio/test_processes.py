import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from everlearn import runs
from everlearn.files import lock_holder
from everlearn.runs import Record, RunSpec
from everlearn.studio import processes
from everlearn.studio.security import Conflict

from .conftest import train
from .live_server import SETTINGS, Studio, wait_until

UNLIMITED = {**SETTINGS, "n_tasks": 1_000_000, "evaluation.n_images": 20}
"""A run that cannot finish during a test."""


def start(studio: Studio, records: Path, **run: object) -> Path:
    response = studio.client.post("/api/runs", json=run)
    assert response.status_code == 200, response.text
    folder = records / str(response.json()["record"])
    wait_until((folder / "spec.json").exists)
    return folder


def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(studio: Studio, records: Path) -> None:
    folder = start(studio, records, learner="nearest", settings=UNLIMITED, name="from the page")
    wait_until(lambda: Record(folder).n_tasks_done > 1)
    assert studio.get("/api/records", query="from the page").json()["records"][0]["running"]
    process = psutil.Process(lock_holder(folder) or 0)
    assert os.getsid(process.pid) == process.pid  # signals to the server's session do not reach it
    assert studio.post("/api/runs/stop", record=folder.name).status_code == 200
    wait_until(lambda: lock_holder(folder) is None)
    assert studio.post("/api/runs/stop", record=folder.name).status_code == 409
    n_tasks = Record(folder).n_tasks_done
    assert studio.post("/api/runs/resume", record=folder.name).status_code == 200
    wait_until(lambda: Record(folder).n_tasks_done > n_tasks)
    assert studio.post("/api/runs/resume", record=folder.name).status_code == 409
    assert studio.post("/api/runs/stop", record=folder.name).status_code == 200
    wait_until(lambda: lock_holder(folder) is None)
    log = (folder / "events.jsonl").read_bytes()
    uninterrupted = runs.record(RunSpec.make(learner="nearest", settings=UNLIMITED), records / "other")
    for _ in uninterrupted:
        if (records / "other" / "events.jsonl").stat().st_size >= len(log):
            break
    uninterrupted.close()  # type: ignore[attr-defined]  # a generator
    assert (records / "other" / "events.jsonl").read_bytes().startswith(log)


def test_a_finished_run_is_not_resumed(studio: Studio) -> None:
    assert studio.post("/api/runs/resume", record="dcl").status_code == 409


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"learner": "drc"}, "unknown learner 'drc'"),
        ({"stream": "sprits"}, "did you mean 'sprites'"),
        ({"settings": {"learner.width": 0}}, "width is 0"),
        ({"settings": {"epochs": -1}}, "epochs is -1"),
        ({"settings": {"n_tasks": "1e400"}}, "n_tasks"),
        ({"settings": {"--record": "/tmp/x"}}, "--record"),
        ({"settings": {"nothing.at": 1}}, "unknown section"),
        ({"name": "a\nb"}, "name"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_an_invalid_run_is_rejected(
    shared_studio: Studio, trained_records: Path, run: dict[str, object], message: str
) -> None:
    before = sorted(trained_records.iterdir())
    response = shared_studio.client.post("/api/runs", json=run)
    assert (response.status_code, message in response.json()["error"]) == (400, True), response.text
    assert sorted(trained_records.iterdir()) == before


@pytest.mark.parametrize("n_seeds", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_concurrent_requests_for_one_run_start_it_once(studio: Studio, records: Path, n_seeds: int) -> None:
    for seed in range(n_seeds):
        request_concurrently(studio, records, {**SETTINGS, "seed": seed})


def request_concurrently(studio: Studio, records: Path, settings: dict[str, Any]) -> None:
    run = {"learner": "nearest", "settings": settings}
    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda _: studio.client.post("/api/runs", json=run), range(4)))
    assert {response.status_code for response in responses} <= {200, 400, 409}
    (name,) = {response.json()["record"] for response in responses if response.is_success}
    wait_until(lambda: Record(records / name).is_finished)
    kinds = [event["event"] for event in Record(records / name).events()]
    assert (kinds.count("run-started"), kinds.count("run-ended")) == (1, 1)
    other = records / f"other-{settings['seed']}"
    train(RunSpec.make(learner="nearest", settings=settings), other)
    assert Record(records / name).digest == Record(other).digest
    again = studio.client.post("/api/runs", json=run)
    assert (again.status_code, "already" in again.json()["error"]) == (409, True)


def test_stop_signals_only_the_process_that_holds_the_lock(records: Path) -> None:
    (records / "dcl" / ".lock").write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        with pytest.raises(Conflict, match="not running"):
            processes.stop(Record(records / "dcl"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == []
