"""Invalid input of any kind gives one line, exit code 2, no traceback, and no change on disk."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.unprivileged import only_root, unprivileged_output

from .outcomes import Outcome, Run, assert_refused, tree

# Command lines; {file}, {folder} and so on are prepared below.
LINES = r"""
stream show me
stream list sprits
stream list sprites mnist
stream list ''
run --learner
--verson
-x
--json=maybe stream list
--install-completion tcsh
--install-completion bash zsh
stream show --tsk 3
stream show --task
stream show --task 1.5
stream show --task 1e3
stream show --task -1
stream show --task 3 --set n_tasks=3
stream show --gif=perhaps
stream show --seed
stream show --seed -1
stream show --seed 1e309
stream show --seed 9223372036854775808
stream show --seed ''
stream show --seed [1]
stream show --seed 3 --seed 4
stream show --seed 3 --set seed=4
stream show --stream ''
stream show --stream ../sprites
stream show --stream 精灵
stream show --stream 5
stream show --image-size -64
stream show --image-size 100000
stream show --image-size 99999999999999999999999
stream show --image-size 32px
stream show --image-size 32,64
stream show --image-size {{}}
stream show --classes-per-task 0
stream show --factor-values 1001
stream show --factor-values null
stream show --scenario 3
stream show --boundaries blurry --scenario nic
stream show --data {folder}
stream show --set
stream show --set image_size
stream show --set =
stream show --set learner.image_size=32
stream show --set stream.stream.image_size=32
stream show --set image_size=32 --set stream.image_size=64
stream show --set __class__=x
stream show --set '🦋=3'
stream show --set n_tasks=0
stream show --set vertices=8,5
stream show --set vertices=five,six
stream show --set radial_noise=NaN
stream show --set spline_orders=[]
stream show --set rgb=maybe
stream show --set scale=[0.5,0.5]
stream show --set 'scale={{"low": 1, "high": 0.5}}'
stream show --set 'angle={{"low": 0, "high": 100}}'
stream show --set 'y=["a"]'
stream show --set held_out=625
stream show --set 'held_out={{"size": [0, 1]}}'
stream show --set split=600,15
stream show --set split=0.5,0.5,0.5
stream show --set clutter=100000
stream show --set blurry_percent=10
stream show --set first_classes=20
stream show --spec
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
stream show -o image.jpg
stream show -o image.gif
stream show -o image.png --gif
stream show -o {missing}/image.png
stream show -o {under_file}.png
stream show -o a.png -o b.png
stream show -o {long_name}.png
stream fingerprint --tasks ''
stream fingerprint --tasks 9:3
stream fingerprint --tasks 0:999999999
stream fingerprint --tasks 3 --set n_tasks=3
stream fingerprint --stream mnist --data {missing}
stream fingerprint --stream folder --data {folder}
stream fingerprint --stream omniglot --data {file}
stream export
stream export --to npz
stream export --to zip -o {missing}
stream export --to npz -o {file}
stream export --to npz -o {folder}
stream export --to npz -o {under_file}
stream export --to npz -o {missing} --tasks 0:10 --set n_tasks=5
stream export --to npz -o {missing} --image-size -1
stream export --to npz -o {long_name}
stream export --to npz -o {half} --seed 5
compare
compare {missing}
plot
plot accuracy
plot beauty records
plot accuracy records -o a.jpg
plot accuracy records -o {missing}/a.svg
report
report records -o page.txt
report records -o records
show
show records
list {missing}
list records records
resume
resume {missing}
resume records
resume records/dcl --tasks 3
run --learner ../dcl
run --learner ''
run --stream sprits
run --tasks many
run --tasks 99999999
run --epochs 1.5
run --batch-size NaN
run --seed x
run --device gpu
run --device cuda:9999
run --log tensorbord
resume records/dcl --log =here
run --eval-images 0
run --learning-rate fast --learner er
run --memory-size 5 --learner naive
run --set =3
run --set epochs=1 --set epochs=2
run --set epochs=1 --epochs 2
run --set learner.replay=3 --learner er
run --set lerner.memory_size=3
run --spec records
run --record records/dcl
run --record records/dcl/spec.json/below --learner nearest
run --processes 2 --learner nearest
run er
memory shake records/dcl
"""

MESSAGES = [
    ("strem", "did you mean 'stream'?"),
    ("stream shw", "did you mean 'show'?"),
    ("stream show --imagesize 3", "did you mean '--image-size'?"),
    ("stream show --set image_sise=3", "did you mean 'image_size'?"),
    ("stream show --stream sprits", "did you mean 'sprites'?"),
    ("stream show --scenario clas-incremental", "did you mean 'class-incremental'?"),
    ("stream show --boundaries shrap", "did you mean 'sharp'?"),
    ("run --learner DCL", "unknown learner 'DCL'; did you mean 'dcl'?"),
    ("run --set epocs=1", "did you mean 'epochs'?"),
    ("run --lerner er", "did you mean '--learner'?"),
    ("plot acuracy records", "did you mean 'accuracy'?"),
    ("show records/dcl --jsn", "unknown option '--jsn'; did you mean '--json'?"),
    ("doctor --fast", "unknown option '--fast'; known are '--debug', '--help', '--json'"),
    ("doctor now", "unexpected argument 'now'; see `everlearn doctor --help`"),
    ("compare records/dcl records", "the record records/dcl is given twice; give each once"),
    ("plot accuracy records/dcl ./records/../records/dcl", "is given twice"),
    ("compare records --csv records", "cannot write 'records'; give a name that ends in .csv"),
    ("compare records --csv folder.csv", "give the name of a file in a folder that exists"),
    ("list records/dcl", "records/dcl is a record; show it with `everlearn show records/dcl`"),
    ("list notes.txt", "there is no folder notes.txt; name a folder of records"),
    ("show notes.txt", "notes.txt is not a record"),
    ("show broken", "is not valid JSON: Expecting property name"),
    ("show cut", "events.jsonl, line 1, is damaged"),
    ("run --spec broken/spec.json", "not valid JSON: Expecting property name"),
    ("run --spec bad.json", "learner.settings is 3; it must be a table of settings"),
    ("run --spec missing.toml", "cannot use 'missing.toml': no such file or directory; check the spelling"),
    ("run --eval-images 1e30", "n_images is 1e+30; it must be a smaller number"),
    ("memory add records/dcl records", "'records' is a folder; give the images in it"),
    ("memory add records/dcl new.png --label -1", "label is -1; it must be between 0 and"),
    ("memory add records/dcl new.png --label 9223372036854775808", "label is 9223372036854775808; it must"),
    ("memory add records/dcl new.png --label 1.5", "--label is '1.5'; it must be a whole number"),
    ("memory forget records/dcl ٣", "unknown class '٣'"),
    ("ablate --new 1.5", "--new is '1.5'; it must be a whole number"),
    ("pretrain --batch-size 1.5", "--batch-size is '1.5'; it must be a whole number"),
]


@pytest.fixture
def world(records: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The working directory: valid and damaged records, an unfinished export, and other files."""
    world = records.parent
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)
    (world / "notes.txt").write_text("precious")
    (world / "folder.csv").mkdir()
    (world / "full").mkdir()
    (world / "full" / "thesis.txt").write_text("precious")
    (world / "half" / "unfinished").mkdir(parents=True)
    (world / "half" / "unfinished" / "plan.json").write_text("{")
    (world / "broken.toml").write_text("image_size = = 3")
    (world / "list.json").write_text("[1, 2]")
    (world / "odd.toml").write_text("image_sise = 3")
    (world / "bad.json").write_text('{"learner": {"name": "er", "settings": 3}}')
    Image.fromarray(np.zeros((16, 16), np.uint8)).save(world / "new.png")
    for name, spec, events in (("broken", "{", ""), ("cut", (records / "dcl/spec.json").read_text(), "{\n")):
        (world / name).mkdir()
        (world / name / "spec.json").write_text(spec)
        (world / name / "events.jsonl").write_text(events)
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


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_invalid_line_is_rejected(line: str, run: Run, world: dict[str, str]) -> None:
    before = tree(Path())
    assert_refused(run(*shlex.split(line.format(**world))))
    assert tree(Path()) == before


@pytest.mark.parametrize(("line", "message"), MESSAGES)
def test_error_states_the_reason(line: str, message: str, run: Run, world: dict[str, str]) -> None:
    before = tree(Path())
    outcome = run(*shlex.split(line))
    assert_refused(outcome)
    assert message in outcome.err
    assert tree(Path()) == before


NUL_OPTIONS = [("stream", "show", flag) for flag in ("-o", "--spec", "--from", "--data", "--stream", "--set")]
NUL_OPTIONS += [("show",), ("plot", "accuracy", "records", "-o"), ("run", "--learner", "nearest", "--record")]


@pytest.mark.parametrize("words", NUL_OPTIONS, ids=" ".join)
def test_nul_is_rejected(words: tuple[str, ...], run: Run, world: dict[str, str]) -> None:
    before = tree(Path())
    assert_refused(run(*words, "a\0b.png"))
    assert tree(Path()) == before


def test_json_does_not_change_errors(run: Run) -> None:
    words = ["stream", "show", "--image-size", "-3"]
    assert run(*words, "--json") == run(*words)


def test_input_cannot_control_the_terminal(run: Run) -> None:
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
INVALID = st.one_of(
    st.integers(max_value=-1),
    st.integers(min_value=2**63),
    st.sampled_from(
        ["NaN", "1e309", "-Infinity", '"', "[[[", "{}", "[null]", "\u202e", "--", "=", ",", ",,"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
        lambda text: not text.strip().isdigit()
    ),
)


@given(st.sampled_from(SETTINGS), INVALID.map(str))
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_invalid_setting_is_rejected(run: Run, tmp_path: Path, name: str, value: str) -> None:
    out = tmp_path / "missing" / "never.png"
    assert_refused(run("stream", "show", "-o", str(out), f"--set={name}={value}"))
    assert not list(tmp_path.iterdir())


UNPRIVILEGED = """
import os, sys
from everlearn.cli import main
*small, out = sys.argv[1:]
assert main(["stream", *small]) == 0  # imports, as root, what others cannot read
print("now", flush=True)
os.setuid(65534)
sys.exit(main(["stream", *small[:-1], out]))
"""


@only_root
@pytest.mark.parametrize(
    ("words", "first", "second"),
    [(["export", "--to", "npz", "--tasks", "0", "-o"], "out", "other"), (["show", "-o"], "a.png", "b.png")],
)
def test_unwritable_folder_is_rejected(tmp_path: Path, words: list[str], first: str, second: str) -> None:
    small = ["--image-size", "16", "--factor-values", "2", "--set", "split=10,3,3"]
    command, *rest = words
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, command, *small, *rest, first, second],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ},
    )
    assert_refused(Outcome(done.returncode, done.stdout.partition("now\n")[2], done.stderr))
    assert "ermission denied" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [first]


@only_root
def test_unreadable_folder_is_rejected(records: Path) -> None:
    records.parent.chmod(0o755)
    records.chmod(0o700)
    commands = ["list", "show", "resume", "compare", "memory list"]
    lines = [
        [*each.split(), "records" if each in ("list", "compare") else "records/dcl"] for each in commands
    ]
    every = f"[main(words) for words in {lines}]"
    setup = f"import sys; from everlearn.cli import main; {every}; sys.stderr = sys.stdout; print('now')"
    output = unprivileged_output(setup, every).partition("now\n")[2].splitlines()
    assert len(output) == len(lines)
    assert all(line.startswith("everlearn: cannot use 'records/") for line in output)
    assert all(line.endswith("permission denied; choose one that you have access to") for line in output)
