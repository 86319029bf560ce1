"""What people type in a hurry: each slip is told what it was and what to try, and nothing on disk changes."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.unprivileged import only_root, unprivileged_output

from .outcomes import Run, assert_refused, tree

NOT_WHOLE = "is '1.5'; it must be a whole number"
ENDPOINT = "--endpoint http://localhost:1/v1 --model seer"

SLIPS = [
    ("compare records/dcl records/dcl", "the record records/dcl is named twice; name each once"),
    ("compare records/dcl records", "the record records/dcl is named twice"),
    ("plot accuracy records/dcl ./records/../records/dcl", "is named twice"),
    ("report records records/nearest", "the record records/nearest is named twice"),
    ("compare records --csv records", "cannot write 'records'; give a name that ends in .csv"),
    ("compare records --csv ''", "give a name that ends in .csv"),
    ("compare records --csv notes.txt", "give a name that ends in .csv"),
    ("compare records --csv folder.csv", "give the name of a file in a folder that exists"),
    ("list records/dcl", "records/dcl is itself a record; look at it with `everlearn show records/dcl`"),
    ("list notes.txt", "there is no folder notes.txt; give one that holds records"),
    ("show notes.txt", "notes.txt is not a record"),
    ("show broken", "is not valid JSON: Expecting property name"),
    ("show broken", "; correct it, or restore it from a copy"),
    ("show cut", "events.jsonl, line 1, is damaged"),
    ("show cut", "; restore the record from a copy"),
    ("run --spec broken/spec.json", "not valid JSON: Expecting property name"),
    (
        "run --spec missing.toml",
        "cannot use 'missing.toml': no such file or directory; check how it is spelled",
    ),
    ("memory add records/dcl records", "cannot use 'records': is a directory; name a file"),
    ("memory add records/dcl new.png --label -1", "label is -1; it must be between 0 and"),
    (
        "memory add records/dcl new.png --label 9223372036854775808",
        "label is 9223372036854775808; it must be",
    ),
    ("memory add records/dcl new.png --label 1.5", f"--label {NOT_WHOLE}"),
    ("memory forget records/dcl ٣", "'٣' names 0 classes"),
    ("evaluate one-shot records/dcl --n-images 1.5", f"--n-images {NOT_WHOLE}"),
    ("evaluate online-offline records/dcl --epochs 1.5", f"--epochs {NOT_WHOLE}"),
    ("evaluate multiple-choice records/dcl --n-trials 1.5", f"--n-trials {NOT_WHOLE}"),
    (f"evaluate multiple-choice {ENDPOINT} --retries 1.5", f"--retries {NOT_WHOLE}"),
    (f"evaluate multiple-choice {ENDPOINT} --answers notes.txt", "answers is 'notes.txt', a file"),
    ("evaluate multiple-choice --endpoint '' --model seer", "give both --endpoint and --model"),
    ("ablate --new 1.5", f"--new {NOT_WHOLE}"),
    ("pretrain --epochs 1.5", f"--epochs {NOT_WHOLE}"),
    ("pretrain --batch-size 1.5", f"--batch-size {NOT_WHOLE}"),
    ("run --probe-size 1e30", "probe_size is 1e+30; it must be a smaller number"),
    ("run --learner DCL", "unknown learner 'DCL'; did you mean 'dcl'?"),
    ("doctor --fast", "unknown option '--fast'; known are '--debug', '--help', '--json'"),
    ("show records/dcl --jsn", "unknown option '--jsn'; did you mean '--json'?"),
]


@pytest.fixture
def world(records: Path) -> Path:
    """The working folder: good records, bad ones, and things that are none."""
    world = records.parent
    (world / "notes.txt").write_text("precious")
    (world / "folder.csv").mkdir()
    Image.fromarray(np.zeros((16, 16), np.uint8)).save(world / "new.png")
    for name, spec, events in (("broken", "{", ""), ("cut", (records / "dcl/spec.json").read_text(), "{\n")):
        (world / name).mkdir()
        (world / name / "spec.json").write_text(spec)
        (world / name / "events.jsonl").write_text(events)
    return world


@pytest.mark.parametrize(("line", "sentence"), SLIPS)
def test_a_slip_is_told_what_it_was(run: Run, world: Path, line: str, sentence: str) -> None:
    before = tree(world)
    outcome = run(*shlex.split(line))
    assert_refused(outcome)
    assert sentence in outcome.err
    assert tree(world) == before


@only_root
def test_a_folder_that_may_not_be_read_is_named(world: Path) -> None:
    world.chmod(0o755)
    (world / "records").chmod(0o700)
    words = [
        "list R",
        "show R/dcl",
        "resume R/dcl",
        "compare R",
        "memory list R/dcl",
        "evaluate held-out-factors R/dcl",
    ]
    lines = [line.replace("R", "records").split() for line in words]
    every = f"[main(words) for words in {lines}]"
    before = f"import sys; from everlearn.cli import main; {every}; sys.stderr = sys.stdout; print('now')"
    said = unprivileged_output(before, every).partition("now\n")[2].splitlines()
    assert len(said) == len(lines)
    assert all(line.startswith("everlearn: cannot use 'records/") for line in said)
    assert all(line.endswith("permission denied; name one that you may use") for line in said)
