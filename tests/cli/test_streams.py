from pathlib import Path

import pytest
from PIL import Image

from everlearn import streams

from .outcomes import Run, tree

SMALL = ("--image-size", "16", "--factor-values", "2", "--classes-per-task", "3", "--set", "split=10,3,3")
COMMANDS = [
    ("stream", "list"),
    ("stream", "list", "sprites"),
    ("stream", "fingerprint", *SMALL),
    ("stream", "show", *SMALL),
    ("stream", "export", "--to", "npz", "-o", "out", "--tasks", "0:2", *SMALL),
]

pytestmark = pytest.mark.usefixtures("_in_tmp_path")


def small_stream() -> streams.Stream:
    return streams.sprites(image_size=16, factor_values=2, classes_per_task=3, split=(10, 3, 3))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_output_as_json_and_as_text(words: tuple[str, ...], run: Run) -> None:
    outcome = run(*words, "--json")
    assert outcome.err == ""
    assert outcome.out.count("\n") == 1
    assert isinstance(outcome.data, dict)
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "\x1b" not in out, "no colours in a pipe"
    assert not out.startswith("{")


def test_show_describes_a_task(run: Run) -> None:
    data = run("stream", "show", *SMALL, "--task", "7", "--json").data
    stream = small_stream()
    assert data["stream"] == stream.id == "sprites/class-incremental-v1"
    assert data["fingerprint"] == stream.fingerprint()
    assert data["tasks"] is None
    assert data["labels"] == [21, 22, 23]
    assert data["image_shape"] == [16, 16]
    assert data["images"] == {"train": 30, "val": 9, "test": 9, "held_out": 0}
    assert data["factors"]["scale"] == {"low": 0.5, "high": 1.0, "values": 2}
    assert streams.build({"stream": "sprites", **data["settings"]}).spec == stream.spec


def test_show_fits_on_one_screen(run: Run) -> None:
    out = run("stream", "show").out
    for word in ("sprites/class-incremental-v1", "∞", "0 to 9", "64 × 64 gray", "6,000 train", "5 values"):
        assert word in out
    assert len(out.splitlines()) <= 24


def test_show_draws_an_image(run: Run) -> None:
    run("stream", "show", *SMALL)
    assert list(tree(Path())) == ["everlearn-sprites.png"]
    with Image.open("everlearn-sprites.png") as image:
        assert min(image.size) > 3 * 64


def test_show_draws_an_animation(run: Run) -> None:
    with Image.open(run("stream", "show", *SMALL, "--gif", "--json").data["image"]) as image:
        assert image.format == "GIF"
        assert image.n_frames > 50


def test_options_settings_and_files_are_equivalent(run: Run) -> None:
    Path("a.toml").write_text(
        "image_size = 16\nfactor_values = 2\nclasses_per_task = 3\nsplit = [10, 3, 3]\n"
    )
    Path("b.json").write_text(small_stream().spec.to_json())
    assigned = ("image_size=16", "stream.factor_values=2", "classes-per-task=3", "split=[10,3,3]")
    spelled = [
        SMALL,
        tuple(f"--set={each}" for each in assigned),
        ("--spec", "a.toml"),
        ("--spec", "b.json"),
        ("--spec", "b.json", "--stream", "sprites", "--image-size", "16"),
    ]
    found = {run("stream", "fingerprint", *words, "--json").data["fingerprint"] for words in spelled}
    assert found == {small_stream().fingerprint()}


def test_option_takes_precedence_over_a_file(run: Run) -> None:
    Path("a.json").write_text(small_stream().spec.to_json())
    settings = run("stream", "show", "--spec", "a.json", "--seed", "9", "--json").data["settings"]
    assert (settings["seed"], settings["image_size"]) == (9, 16)


def test_fingerprint_of_tasks(run: Run) -> None:
    out = run("stream", "fingerprint", *SMALL, "--tasks", "5,1000000").out
    assert out.split() == ["sprites/class-incremental-v1", small_stream().fingerprint([5, 1_000_000])]


@pytest.mark.parametrize("to", ["npz", "png", "parquet", "webdataset"])
def test_export_can_be_loaded(run: Run, to: str) -> None:
    data = run("stream", "export", "--to", to, "-o", "out", "--tasks", "3:5", *SMALL, "--json").data
    assert data["fingerprint"] == small_stream().fingerprint([3, 4])
    assert data["tasks"] == 2
    assert streams.load("out").fingerprint() == data["fingerprint"]
    again = run("stream", "fingerprint", "--from", "out", "--json").data
    assert again["fingerprint"] == data["fingerprint"]
    shown = run("stream", "show", "--from", "out", "--json").data
    assert (shown["task"], shown["labels"]) == (3, [9, 10, 11])


def test_repeated_export_changes_nothing(run: Run) -> None:
    words = ("stream", "export", "--to", "npz", "-o", "out", "--tasks", "0:2", *SMALL)
    run(*words)
    before = tree(Path())
    assert run(*words).code == 0
    assert tree(Path()) == before


def test_list_has_every_kind(run: Run) -> None:
    kinds = run("stream", "list", "--json").data["kinds"]
    assert tuple(kinds) == streams.names()
    assert all(line.endswith(".") for line in kinds.values())


@pytest.mark.parametrize("kind", streams.names())
def test_list_has_every_setting(kind: str, run: Run) -> None:
    listed = run("stream", "list", kind, "--json").data["settings"]
    assert set(listed) == set(streams.settings_class(kind).model_fields)
    assert all(setting["meaning"] for setting in listed.values())
    out = run("stream", "list", kind).out
    assert all(name in out for name in listed)


def test_listed_defaults_are_those_of_the_settings(run: Run) -> None:
    listed = run("stream", "list", "sprites", "--json").data["settings"]
    defaults = streams.SpriteSettings().model_dump(mode="json")
    assert {name: setting["default"] for name, setting in listed.items()} == defaults


def test_installed_command(spawn: Run) -> None:
    exported = spawn("stream", "export", "--to", "npz", "-o", "out", "--tasks", "0:3", *SMALL, "--json")
    assert (exported.code, exported.err) == (0, ""), "progress is for terminals"
    assert spawn("stream", "fingerprint", "--from", "out").out.split()[1] == small_stream().fingerprint()
