import json
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
    ("--version",),
]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def small_stream() -> streams.Stream:
    return streams.sprites(image_size=16, factor_values=2, classes_per_task=3, split=(10, 3, 3))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_json_is_one_object_and_nothing_else(words: tuple[str, ...], run: Run) -> None:
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    assert isinstance(json.loads(out), dict)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_people_get_words(words: tuple[str, ...], run: Run) -> None:
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "\x1b" not in out, "no colours in a pipe"
    assert not out.startswith("{")


def test_show_describes_what_is_there(run: Run) -> None:
    facts = json.loads(run("stream", "show", *SMALL, "--task", "7", "--json").out)
    stream = small_stream()
    assert facts["stream"] == stream.id == "sprites/class-incremental-v1"
    assert facts["fingerprint"] == stream.fingerprint()
    assert facts["tasks"] is None
    assert facts["labels"] == [21, 22, 23]
    assert facts["image_shape"] == [16, 16]
    assert facts["images"] == {"train": 30, "val": 9, "test": 9, "held_out": 0}
    assert facts["factors"]["scale"] == {"low": 0.5, "high": 1.0, "values": 2}
    assert streams.build({"stream": "sprites", **facts["settings"]}).spec == stream.spec


def test_show_says_so_on_one_screen(run: Run) -> None:
    out = run("stream", "show").out
    for word in ("sprites/class-incremental-v1", "∞", "0 to 9", "64 × 64 gray", "6,000 train", "5 values"):
        assert word in out
    assert len(out.splitlines()) <= 24


def test_show_draws_a_sheet(run: Run) -> None:
    assert run("stream", "show", *SMALL, "-o", "sheet.png").code == 0
    with Image.open("sheet.png") as image:
        assert image.width > 3 * 64
        assert image.height > 3 * 64


def test_show_draws_a_sheet_where_nothing_is_said(run: Run) -> None:
    run("stream", "show", *SMALL)
    assert list(tree(Path())) == ["everlearn-sprites.png"]


def test_show_can_move(run: Run) -> None:
    facts = json.loads(run("stream", "show", *SMALL, "--gif", "--json").out)
    with Image.open(facts["image"]) as image:
        assert image.format == "GIF"
        assert image.n_frames > 50


def test_every_spelling_of_a_setting_means_the_same(run: Run) -> None:
    Path("a.toml").write_text(
        "image_size = 16\nfactor_values = 2\nclasses_per_task = 3\nsplit = [10, 3, 3]\n"
    )
    Path("b.json").write_text(small_stream().spec.to_json())
    spelled = [
        SMALL,
        (
            "--set=image_size=16",
            "--set=stream.factor_values=2",
            "--set",
            "classes-per-task=3",
            "--set=split=[10,3,3]",
        ),
        ("--spec", "a.toml"),
        ("--spec", "b.json"),
        ("--spec", "b.json", "--stream", "sprites", "--image-size", "16"),
    ]
    found = {
        json.loads(run("stream", "fingerprint", *words, "--json").out)["fingerprint"] for words in spelled
    }
    assert found == {small_stream().fingerprint()}


def test_a_flag_changes_one_setting_of_a_file(run: Run) -> None:
    Path("a.json").write_text(small_stream().spec.to_json())
    facts = json.loads(run("stream", "show", "--spec", "a.json", "--seed", "9", "--json").out)
    assert facts["settings"]["seed"] == 9
    assert facts["settings"]["image_size"] == 16


def test_fingerprint_of_chosen_tasks(run: Run) -> None:
    out = run("stream", "fingerprint", *SMALL, "--tasks", "5,1000000").out
    assert out.split() == ["sprites/class-incremental-v1", small_stream().fingerprint([5, 1_000_000])]


@pytest.mark.parametrize("to", ["npz", "png", "parquet", "webdataset"])
def test_an_export_is_the_stream_again(run: Run, to: str) -> None:
    facts = json.loads(
        run("stream", "export", "--to", to, "-o", "out", "--tasks", "3:5", *SMALL, "--json").out
    )
    stream = small_stream()
    assert facts["fingerprint"] == stream.fingerprint([3, 4])
    assert facts["tasks"] == 2
    assert streams.load("out").fingerprint() == facts["fingerprint"]
    again = json.loads(run("stream", "fingerprint", "--from", "out", "--json").out)
    assert again["fingerprint"] == facts["fingerprint"]
    shown = json.loads(run("stream", "show", "--from", "out", "--json").out)
    assert (shown["task"], shown["labels"]) == (3, [9, 10, 11])


def test_exporting_again_changes_nothing(run: Run) -> None:
    words = ("stream", "export", "--to", "npz", "-o", "out", "--tasks", "0:2", *SMALL)
    run(*words)
    before = tree(Path())
    assert run(*words).code == 0
    assert tree(Path()) == before


def test_list_names_every_kind_with_a_line(run: Run) -> None:
    kinds = json.loads(run("stream", "list", "--json").out)["kinds"]
    assert tuple(kinds) == streams.names()
    assert all(line.endswith(".") for line in kinds.values())


@pytest.mark.parametrize("kind", streams.names())
def test_list_names_every_setting_of_a_kind(kind: str, run: Run) -> None:
    facts = json.loads(run("stream", "list", kind, "--json").out)
    assert set(facts["settings"]) == set(streams.settings_class(kind).model_fields)
    assert all(setting["meaning"] for setting in facts["settings"].values())
    out = run("stream", "list", kind).out
    assert all(name in out for name in facts["settings"])


def test_defaults_are_those_of_the_settings(run: Run) -> None:
    listed = json.loads(run("stream", "list", "sprites", "--json").out)["settings"]
    spec = streams.SpriteSettings().model_dump(mode="json")
    assert {name: setting["default"] for name, setting in listed.items()} == spec


def test_the_installed_command(spawn: Run) -> None:
    shown = spawn("stream", "show", *SMALL)
    assert (shown.code, shown.err) == (0, "")
    exported = spawn("stream", "export", "--to", "npz", "-o", "out", "--tasks", "0:3", *SMALL, "--json")
    assert (exported.code, exported.err) == (0, ""), "progress is for terminals"
    assert spawn("stream", "fingerprint", "--from", "out").out.split()[1] == small_stream().fingerprint()
