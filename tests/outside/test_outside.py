"""A package from outside adds a learner, a stream and a protocol, which work wherever built-in ones do."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from benchmarks.local_cluster import LocalCluster

from everlearn.runs import Record, list_records

pytestmark = pytest.mark.more
PACKAGE = Path(__file__).parent / "package"
RUN = ("--learner", "outside-ace", "--stream", "stripes", "--batch-size", "4")
LONG = (*RUN, "--set", "epochs=20", "--backbone", "mlp")
SWEEP = (
    'learners = ["outside-ace", "er"]\nstreams = ["stripes"]\nseeds = [0, 1]\nsettings = { batch_size = 8 }\n'
)


class Environment:
    """A virtual environment with the outside package, which sees the packages of this one."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        site = next((folder / "lib").glob("python*/site-packages"))
        source = Path(__file__).parents[2] / "src"
        (site / "everlearn.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n")
        copy = folder / "package"
        shutil.copytree(PACKAGE, copy)
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
        subprocess.run([*pip, *offline, str(copy)], check=True, capture_output=True)
        self.env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def command(self, *words: str) -> list[str]:
        return [str(self.python), "-m", "everlearn", *words]

    def run(self, *words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
        command = self.command(*words)
        return subprocess.run(command, cwd=cwd, env={**self.env, **env}, capture_output=True, text=True)

    def json(self, *words: str, cwd: Path, **env: str) -> Any:
        done = self.run(*words, "--json", cwd=cwd, **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    pytest.importorskip("hatchling", reason="needs hatchling, which builds the outside package")
    return Environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def digest(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the uninterrupted long run."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    return str(environment.json("run", *LONG, "--record", "long", cwd=folder)["digest"])


def test_components_are_listed_without_importing_them(environment: Environment, tmp_path: Path) -> None:
    found = environment.json("learners", cwd=tmp_path)["learners"]
    assert found["outside-ace"]["description"] == "from outside_methods.er_ace:ERACE"
    assert "broken" in found
    assert environment.json("stream", "list", cwd=tmp_path)["kinds"]["stripes"].startswith("from outside")


def test_failing_entry_point_is_one_sentence(environment: Environment, tmp_path: Path) -> None:
    done = environment.run("run", "--learner", "broken", cwd=tmp_path)
    assert done.returncode == 2
    assert "the learner 'broken' of outside-methods cannot be imported (ModuleNotFoundError" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("kind", "name"), [("learner", "outside-ace"), ("stream", "stripes")])
def test_components_keep_the_contract(environment: Environment, tmp_path: Path, kind: str, name: str) -> None:
    assert len(environment.json("check", kind, name, cwd=tmp_path)["promises"]) == 7


def test_killed_run_resumes_to_the_same_digest(environment: Environment, tmp_path: Path, digest: str) -> None:
    process = psutil.Popen(
        environment.command("run", *LONG, "--record", "long"), cwd=tmp_path, env=environment.env, stdout=-3
    )
    record = tmp_path / "long"
    while process.poll() is None and not list(record.glob("checkpoint/*.sha256")):
        psutil.wait_procs([process], timeout=0.02)
    process.kill()
    process.wait()
    assert not Record(record).is_finished
    assert set(Record(record).sources) == {"outside-ace", "stripes"}
    assert environment.json("resume", str(record), cwd=Path("/"))["digest"] == digest


def test_sweep_comparison_and_protocol(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    result = environment.json("sweep", "sweep.toml", "--workers", "2", cwd=tmp_path)
    assert (result["finished"], result["failed"]) == (4, [])
    rows = environment.json("compare", "records/sweep", cwd=tmp_path)["rows"]
    assert {row["learner"] for row in rows} == {"outside-ace", "er"}
    record = str(next(each.folder for each in list_records(tmp_path / "records" / "sweep")))
    evaluated = environment.json("evaluate", "brightness", record, "--darkest", "0.4", cwd=tmp_path)
    assert set(evaluated["accuracies"]) == {"1", "0.7", "0.4"}
    assert "brightness" in Record(record).protocol_results()
    with studio(environment, tmp_path / "records" / "sweep") as client:
        assert len(client.get("/api/records").json()["records"]) == 4
        assert "outside-ace" in client.get("/api/runs/options").json()["learners"]
        form = client.get("/api/runs/learner", params={"name": "outside-ace"}).json()
        assert "learner.replay_size" in {field["key"] for field in form["fields"]}


@contextmanager
def studio(environment: Environment, records: Path) -> Iterator[httpx.Client]:
    command = environment.command("studio", "--records", str(records), "--no-browser", "--json")
    with subprocess.Popen(command, env=environment.env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = httpx.URL(json.loads(server.stdout.readline())["url"])
        headers = {"X-Everlearn-Token": url.params["token"]}
        with httpx.Client(base_url=url.copy_with(query=None), headers=headers, timeout=300) as client:
            yield client
        server.send_signal(signal.SIGINT)


def test_sweep_on_ray(environment: Environment, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'everlearn[ray]'")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    local = environment.json("sweep", "sweep.toml", "--records", "local", cwd=tmp_path)
    with LocalCluster(python=environment.python) as cluster:
        words = ("sweep", "sweep.toml", "--records", "ray", "--on", "ray", "--address", cluster.address)
        remote = environment.json(*words, cwd=tmp_path, **cluster.env)
    assert remote["finished"] == local["finished"] == 4
    digests = [[each.digest for each in list_records(tmp_path / name)] for name in ("local", "ray")]
    assert digests[0] == digests[1]


def test_learner_gets_a_score_card(environment: Environment, tmp_path: Path) -> None:
    words = ("benchmark", "board", "--learner", "outside-ace", "--size", "smoke", "--workers", "1")
    card = environment.json(*words, cwd=tmp_path)
    assert card["name"] == card["learner"] == "outside-ace"
    assert card["scores"]["long"]["status"] == "measured"
