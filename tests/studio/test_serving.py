"""`everlearn studio` as a process: one line, one port, a clean end."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from everlearn import runs
from everlearn.cli import main
from everlearn.errors import BadInput
from everlearn.files import lock_holder
from everlearn.runs import Record
from everlearn.studio import open_door
from everlearn.studio.server import create_app

from .test_runs import until
from .visits import SETTINGS


@contextmanager
def everlearn_studio(records: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the line it printed."""
    command = [sys.executable, "-m", "everlearn", "studio", "--records", str(records), "--no-browser", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()  # it ended without a word for us, but not without one
            yield process, line
        finally:
            process.kill()


def ask(address: str, path: str) -> httpx.Response:
    url = httpx.URL(address)
    return httpx.get(url.copy_with(path=path), timeout=60)


def test_it_prints_one_line_and_ends_cleanly(records: Path) -> None:
    with everlearn_studio(records) as (process, line):
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", line)
        assert ask(address, "/").status_code == 200
        assert ask(address, "/api/records").json()["total"] == 2
        with httpx.stream(
            "GET", httpx.URL(address).copy_with(path="/api/records/live").copy_merge_params({"record": "dcl"})
        ):
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")


def test_it_listens_nowhere_else(records: Path) -> None:
    door = open_door()
    assert door.listener.getsockname()[0] == "127.0.0.1"
    port = door.listener.getsockname()[1]
    with pytest.raises(BadInput, match=f"port {port} is in use; leave --port out"):
        open_door(port)
    other = open_door()
    assert other.token != door.token
    for each in (door, other):
        each.listener.close()


def test_a_port_in_use_and_a_missing_folder_are_one_sentence(
    records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["studio", "--records", str(records), "--port", port, "--no-browser"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"everlearn: port {port} is in use; leave --port out to get a free one\n"
    assert main(["studio", "--records", str(records / "nowhere"), "--no-browser"]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["studio", "--port", "70000", "--no-browser", "--records", str(records)]) == 2
    assert "port is 70000" in capsys.readouterr().err


def test_the_app_wants_a_folder_and_a_token(records: Path) -> None:
    for folder, token in ((records / "nowhere", "x"), (records, ""), (records, "\u2603")):
        with pytest.raises(BadInput):
            create_app(folder, token)


def test_a_run_survives_the_server_being_killed(records: Path) -> None:
    """And plays the same run as one that no studio ever looked at."""
    settings = {**SETTINGS, "n_tasks": 60, "evaluation.probe_size": 20}
    with everlearn_studio(records, "--json") as (process, line):
        url = httpx.URL(json.loads(line)["address"])
        headers = {"x-everlearn-token": url.params["token"]}
        wish = {"learner": "nearest", "settings": settings}
        answer = httpx.post(
            url.copy_with(path="/api/runs", query=None), json=wish, headers=headers, timeout=120
        )
        folder = records / answer.json()["record"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert Record(folder).is_finished or lock_holder(folder) is not None
    until(lambda: Record(folder).is_finished)
    for _ in runs.record(runs.RunSpec.make(learner="nearest", settings=settings), records / "alone"):
        pass
    assert Record(folder).digest == Record(records / "alone").digest


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_run_that_is_watched_by_studios_that_are_killed(records: Path, times: int) -> None:
    """Each studio listens to the run when kill -9 ends it; the run plays on to the same end as one unseen."""
    spec = runs.RunSpec.make(learner="nearest", settings={**SETTINGS, "n_tasks": 4 * times})
    story = runs.record(spec, records / "watched")

    def play(n_tasks: int) -> None:
        """Play on until so many tasks have ended."""
        ends = (event for event in story if event.kind == "task-ended")
        assert len([*itertools.islice(ends, n_tasks)]) == n_tasks

    play(1)
    for _ in range(times):
        with everlearn_studio(records) as (process, line):
            url = httpx.URL(line.split()[-1]).copy_with(path="/api/records/live")
            with httpx.stream("GET", url.copy_merge_params({"record": "watched"}), timeout=120) as answer:
                told = answer.iter_lines()
                next(told)
                player = threading.Thread(target=play, args=(3,))
                player.start()
                next(line for line in told if line.startswith("data: "))  # in the middle of it
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                player.join()
    assert [event.kind for event in story][-1] == "run-ended"
    for _ in runs.record(spec, records / "alone"):
        pass
    assert Record(records / "watched").digest == Record(records / "alone").digest
