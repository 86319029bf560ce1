"""Whatever nonsense is typed: one sentence, exit code 2, no traceback, and not a byte changed on disk."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .outcomes import Outcome, Run, assert_refused, tree

# One command line a row; {file}, {folder}, {half} and so on are prepared below.
NONSENSE = r"""
strem
streams
stream shw
stream show me
stream lst
stream list sprits
stream list sprites mnist
stream list ''
run --learner
--jsn
--verson
-x
--json=maybe stream list
--install-completion tcsh
--install-completion bash zsh
stream show --tsk 3
stream show --task
stream show --task x
stream show --task 1.5
stream show --task 1e3
stream show --task -1
stream show --task NaN
stream show --task 3 --set n_tasks=3
stream show --gif=perhaps
stream show --seed
stream show --seed -1
stream show --seed 1.5
stream show --seed NaN
stream show --seed 1e309
stream show --seed 9223372036854775808
stream show --seed seven
stream show --seed ''
stream show --seed [1]
stream show --seed null
stream show --seed 3 --seed 4
stream show --seed 3 --set seed=4
stream show --stream sprits
stream show --stream ''
stream show --stream ../sprites
stream show --stream 'sprites '
stream show --stream SPRITES
stream show --stream 精灵
stream show --stream 5
stream show --image-size -64
stream show --image-size 0
stream show --image-size 15
stream show --image-size 513
stream show --image-size 100000
stream show --image-size 99999999999999999999999
stream show --image-size 32.5
stream show --image-size 32px
stream show --image-size 32,64
stream show --image-size NaN
stream show --image-size Infinity
stream show --image-size {{}}
stream show --classes-per-task 0
stream show --classes-per-task -10
stream show --classes-per-task 1000001
stream show --classes-per-task ten
stream show --factor-values 0
stream show --factor-values -5
stream show --factor-values 1001
stream show --factor-values 2.5
stream show --factor-values null
stream show --scenario class
stream show --scenario clas-incremental
stream show --scenario ''
stream show --scenario 3
stream show --boundaries fuzzy
stream show --boundaries shrap
stream show --boundaries blurry --scenario nic
stream show --data {folder}
stream show --set
stream show --set image_size
stream show --set =32
stream show --set =
stream show --set ''
stream show --set image_sise=32
stream show --set learner.image_size=32
stream show --set stream.stream.image_size=32
stream show --set image_size=32 --set stream.image_size=64
stream show --set __class__=x
stream show --set model_config=1
stream show --set 'größe=3'
stream show --set '🦋=3'
stream show --set 'a b=3'
stream show --set n_tasks=0
stream show --set n_tasks=-1
stream show --set vertices=2,5
stream show --set vertices=8,5
stream show --set vertices=5
stream show --set vertices=5,6,7
stream show --set vertices=5,99
stream show --set vertices=five,six
stream show --set radial_noise=-0.1
stream show --set radial_noise=2
stream show --set radial_noise=NaN
stream show --set radial_noise=1e309
stream show --set radial_noise=-Infinity
stream show --set spline_orders=2
stream show --set spline_orders=[]
stream show --set spline_orders=1,2
stream show --set similarity=1.1
stream show --set difficulty=-1
stream show --set rgb=maybe
stream show --set marker=2
stream show --set scale=0
stream show --set scale=[]
stream show --set scale=[-1]
stream show --set scale=[0.5,0.5]
stream show --set 'scale={{"low": 1, "high": 0.5}}'
stream show --set 'scale={{"low": 1, "high": 1}}'
stream show --set 'scale={{"low": 0.5}}'
stream show --set 'angle={{"low": 0, "high": 100}}'
stream show --set 'angle=[0, 6.283185307179586]'
stream show --set 'x={{"low": 0.5, "high": 2}}'
stream show --set 'y=["a"]'
stream show --set colour=0
stream show --set 'colour=[[2, 0, 0]]'
stream show --set held_out=-1
stream show --set held_out=625
stream show --set held_out=1000000
stream show --set 'held_out={{"scale": [0, 9]}}'
stream show --set 'held_out={{"size": [0, 1]}}'
stream show --set 'held_out={{"scale": [1, 0.5]}}'
stream show --set images_per_class=0
stream show --set split=0,0,0
stream show --set split=600,15
stream show --set split=600,15,1000
stream show --set split=-1,1,1
stream show --set split=0.5,0.5,0.5
stream show --set noise=-1
stream show --set noise=2
stream show --set blur=-1
stream show --set blur=1e9
stream show --set occluder=1
stream show --set clutter=-1
stream show --set clutter=100000
stream show --set lighting=NaN
stream show --set n_sessions=3
stream show --set recur_every=1 --boundaries recurring
stream show --set blurry_percent=101 --boundaries blurry
stream show --set blurry_percent=10
stream show --set first_classes=20
stream show --set n_classes=5
stream show --spec
stream show --spec {missing}.toml
stream show --spec {folder}
stream show --spec {file}
stream show --spec {broken}
stream show --spec {list}
stream show --spec {odd}
stream show --spec {under_file}.json
stream show --from {missing}
stream show --from {file}
stream show --from {folder}
stream show --from {half}
stream show --from {half} --seed 3
stream show --out
stream show -o {folder}
stream show -o {file}
stream show -o image.jpg
stream show -o image
stream show -o image.gif
stream show -o image.png --gif
stream show -o {missing}/image.png
stream show -o {under_file}.png
stream show -o a.png -o b.png
stream show -o {long_name}.png
stream fingerprint --tasks
stream fingerprint --tasks ''
stream fingerprint --tasks -1
stream fingerprint --tasks 5:
stream fingerprint --tasks 5:5
stream fingerprint --tasks 9:3
stream fingerprint --tasks 0:10:0
stream fingerprint --tasks all
stream fingerprint --tasks 0:999999999
stream fingerprint --tasks 3 --set n_tasks=3
stream fingerprint --stream mnist --data {folder}
stream fingerprint --stream mnist --data {missing}
stream fingerprint --stream folder --data {missing}
stream fingerprint --stream folder --data {folder}
stream fingerprint --stream omniglot --data {file}
stream export
stream export --to npz
stream export -o {missing}
stream export --to zip -o {missing}
stream export --to NPZ -o {missing}
stream export --to npz -o {file}
stream export --to npz -o {folder}
stream export --to npz -o {under_file}
stream export --to npz -o {missing} --tasks 0:0
stream export --to npz -o {missing} --tasks 0:10 --set n_tasks=5
stream export --to npz -o {missing} --image-size -1
stream export --to npz -o {missing} --stream nothing
stream export --to npz -o {long_name}
stream export --to npz -o {half} --seed 5
"""
LINES = NONSENSE.strip().splitlines()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A small world of files to be wrong about."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    (tmp_path / "notes.txt").write_text("precious")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    (tmp_path / "half" / "unfinished").mkdir(parents=True)
    (tmp_path / "half" / "unfinished" / "plan.json").write_text("{")
    (tmp_path / "broken.toml").write_text("image_size = = 3")
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "odd.toml").write_text("image_sise = 3")
    return {
        "file": "notes.txt",
        "folder": "full",
        "half": "half",
        "missing": "missing",
        "broken": "broken.toml",
        "list": "list.json",
        "odd": "odd.toml",
        "under_file": "notes.txt/below",
        "long_name": "n" * 300,
    }


def test_the_table_is_long_enough() -> None:
    assert len(set(LINES)) == len(LINES) >= 100


@pytest.mark.parametrize("line", LINES)
def test_nonsense_is_refused_in_one_sentence(line: str, run: Run, places: dict[str, str]) -> None:
    before = tree(Path())
    assert_refused(run(*shlex.split(line.format(**places))))
    assert tree(Path()) == before


@pytest.mark.parametrize("flag", ["-o", "--spec", "--from", "--data", "--stream", "--set"])
def test_a_nul_is_refused(flag: str, run: Run, places: dict[str, str]) -> None:
    before = tree(Path())
    assert_refused(run("stream", "show", flag, "a\0b.png"))
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["strem"], "'stream'"),
        (["stream", "shw"], "'show'"),
        (["stream", "show", "--imagesize", "3"], "'--image-size'"),
        (["stream", "show", "--set", "image_sise=3"], "'image_size'"),
        (["stream", "show", "--stream", "sprits"], "'sprites'"),
        (["stream", "show", "--scenario", "clas-incremental"], "'class-incremental'"),
        (["stream", "show", "--boundaries", "shrap"], "'sharp'"),
    ],
)
def test_the_nearest_valid_name_is_offered(
    words: list[str], hint: str, run: Run, places: dict[str, str]
) -> None:
    assert f"did you mean {hint}?" in run(*words).err


def test_json_does_not_change_a_refusal(run: Run, places: dict[str, str]) -> None:
    words = ["stream", "show", "--image-size", "-3"]
    assert run(*words, "--json") == run(*words)


def test_nothing_in_a_name_acts_on_the_terminal(run: Run, places: dict[str, str]) -> None:
    outcome = run("stream", "show", "--stream", "\x1b[31m[bold]red\nblue")
    assert_refused(outcome)
    assert "\x1b" not in outcome.err


SETTINGS = (
    "seed",
    "image_size",
    "classes_per_task",
    "vertices",
    "scale",
    "split",
    "held_out",
    "rgb",
    "scenario",
)
WRONG = st.one_of(
    st.integers(max_value=-1),
    st.integers(min_value=2**63),
    st.sampled_from(
        ["NaN", "1e309", "-Infinity", '"', "[[[", "{}", "[null]", "\u202e", "--", "=", ",", ",,"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
        lambda text: not text.strip().isdigit()
    ),
)


@given(st.sampled_from(SETTINGS), WRONG.map(str))
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_value_of_a_setting_makes_a_traceback(
    run: Run, places: dict[str, str], name: str, value: str
) -> None:
    before = tree(Path())
    outcome = run("stream", "show", "-o", "missing/never.png", f"--set={name}={value}")
    assert_refused(outcome)
    assert tree(Path()) == before


AS_NOBODY = """
import os, sys
from everlearn.cli import main
*small, out = sys.argv[1:]
assert main(["stream", *small]) == 0  # loads, as root, everything that nobody may not read
print("now", flush=True)
os.setuid(65534)
sys.exit(main(["stream", *small[:-1], out]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(
    ("words", "first", "second"),
    [(["export", "--to", "npz", "--tasks", "0", "-o"], "out", "other"), (["show", "-o"], "a.png", "b.png")],
)
def test_a_folder_of_somebody_else_is_refused(
    tmp_path: Path, words: list[str], first: str, second: str
) -> None:
    """To root every folder is writable, so this asks as nobody."""
    small = ["--image-size", "16", "--factor-values", "2", "--set", "split=10,3,3"]
    command, *rest = words
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, command, *small, *rest, first, second],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert_refused(Outcome(done.returncode, done.stdout.partition("now\n")[2], done.stderr))
    assert "ermission denied" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [first]
