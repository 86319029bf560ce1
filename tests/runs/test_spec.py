import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn import learners
from everlearn.errors import BadInput
from everlearn.runs.spec import RunSpec

from .conftest import tiny


def test_defaults_of_the_learner_are_filled_in() -> None:
    spec = RunSpec.make(learner="er")
    assert spec.learner.settings.keys() == learners.settings_class("er").model_fields.keys()
    assert spec == RunSpec.make(learner="er", settings={"learner.memory_size": 2000})


def test_text_is_converted() -> None:
    settings = {
        "stream.image_size": "32",
        "learner.learning_rate": "0.01",
        "evaluation.forward_transfer": "false",
        "epochs": "3",
    }
    spec = RunSpec.make(learner="naive", settings=settings)
    assert spec.stream.model_dump()["image_size"] == 32
    assert (spec.epochs, spec.evaluation.forward_transfer) == (3, False)
    assert spec.learner.settings["learning_rate"] == 0.01


@pytest.mark.parametrize("name", learners.names())
def test_json_and_toml_round_trip(name: str) -> None:
    spec = RunSpec.make(
        learner=name, settings={"stream.held_out": {"scale": [0.9, 1.0]}, "n_tasks": 7, "seed": 3}
    )
    for copy in (RunSpec.from_json(spec.to_json()), RunSpec.from_toml(spec.to_toml())):
        assert copy == spec
        assert copy.hash == spec.hash
    assert json.loads(spec.to_json())["format"] == 1


CHANGES = [
    {"seed": 1}, {"n_tasks": 3}, {"epochs": 2}, {"batch_size": 17}, {"device": "mps"}, {"device": "cpu"},
    {"evaluation.every_n_tasks": 2}, {"evaluation.n_images": 9}, {"evaluation.every_n_batches": 1},
    {"amp": True}, {"evaluation.forward_transfer": False}, {"stream.seed": 1}, {"stream.noise": 0.5},
    {"learner.memory_size": 3},
]  # fmt: skip


def test_every_setting_changes_the_hash() -> None:
    assert len({tiny("er", **change).hash for change in ({}, *CHANGES)}) == 1 + len(CHANGES)


def test_stored_specs_keep_the_meaning_of_settings_that_came_later() -> None:
    learner = {"name": "er", "settings": {"backbone": "pooled", "learning_rate": 0.001}}
    stored = RunSpec.from_mapping({"format": 1, "stream": "sprites", "learner": learner})
    assert stored.learner.settings["average"] == 0
    assert "average" not in stored.to_json()
    given = RunSpec.from_mapping({"stream": "sprites", "learner": learner})
    assert given.learner.settings["average"] == 0.99
    assert RunSpec.from_json(stored.to_json()).hash == stored.hash != given.hash


def test_spec_is_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        tiny().epochs = 3  # type: ignore[misc]


# Invalid settings


FIELDS = ["n_tasks", "epochs", "batch_size", "seed", "evaluation.n_images", "evaluation.every_n_tasks"]
FIELDS += ["evaluation.every_n_batches", "stream.image_size", "learner.memory_size", "stream.factor_values"]
BAD_NUMBERS: list[Any] = [
    -1, -0.5, 10**30, 1e309, float("nan"), "", "abc", "1e309", "NaN", "0x10", {"a": 1}, "2.5", "１２", b"x",
    1j, "9" * 400,
]  # fmt: skip
BAD_VALUES: dict[str, list[Any]] = {
    **dict.fromkeys(FIELDS, BAD_NUMBERS),
    "amp": ["maybe", 2, None],
    "device": ["gpu", "cuda:x", "", 3, None, "cpu ", "CPU", "cuda:99999"],
    "learner.backbone": ["big", 3, None, "", "resnet19"],
    "learner.learning_rate": [0, -1, "fast", None, float("inf"), 1e7],
    "evaluation.forward_transfer": ["maybe", 2, None, []],
    "stream.rgb": ["maybe", 7, []],
    "stream.noise": [-1, 2, "much", None],
    "stream.scenario": ["class", 3, None, "", "Class-Incremental"],
    "stream.vertices": [3, [8, 5], [2, 5], [5], "many", [5, 6, 7]],
}
BAD_NAMES = [
    "epoch", "tasks", "n-tasks", "Seed", "seed ", "", ".", "..", "stream", "learner", "evaluation", "stream.",
    "stream.image-size", "learner.memory", "learner.seed", "learner.image_shape", "learner.memory_size.x",
    "evaluation.images", "eval.n_images", "stream.stream.seed", "__class__", "learner.__init__",
    "model_config", "kind", "format", "hash", "💥", "a\0b", "a\nb", "x" * 5000,
]  # fmt: skip


def check_error(settings: dict[str, Any]) -> None:
    """The error is a short sentence of the package itself."""
    with pytest.raises(BadInput) as error:
        RunSpec.make(learner="er", settings=settings).build_learner((16, 16))
    message = str(error.value)
    for name, value in settings.items():
        message = message.replace(repr(value), "VALUE").replace(repr(name), "NAME")
    assert 10 < len(message) < 6000, message
    assert ";" in message, message
    assert "pydantic" not in message, message
    assert "Traceback" not in message, message


@pytest.mark.parametrize("name", BAD_VALUES)
def test_invalid_values_are_rejected(name: str) -> None:
    for value in BAD_VALUES[name]:
        check_error({name: value})


def test_invalid_names_are_rejected() -> None:
    for name in BAD_NAMES:
        check_error({name: 1})


@given(st.sampled_from(FIELDS), st.text(max_size=20).filter(lambda word: not any(map(str.isdigit, word))))
def test_text_instead_of_a_number_is_rejected(field: str, word: str) -> None:
    check_error({field: word})


@given(
    st.dictionaries(
        st.text(max_size=12), st.integers() | st.text(max_size=5) | st.none(), min_size=1, max_size=4
    )
)
def test_unknown_settings_are_rejected(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        RunSpec.make(learner="er", settings={f"x{key}": value for key, value in settings.items()})


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("epocs", "unknown run setting 'epocs'; did you mean 'epochs'?"),
        ("learner.memory_sise", "unknown er setting 'memory_sise'; did you mean 'memory_size'?"),
        ("stream.image_sise", "unknown sprites setting 'image_sise'; did you mean 'image_size'?"),
        ("evaluation.n_imges", "unknown evaluation setting 'n_imges'; did you mean 'n_images'?"),
        ("strem.seed", "unknown section 'strem'; did you mean 'stream'?"),
    ],
)
def test_error_suggests_the_nearest_name(name: str, error: str) -> None:
    with pytest.raises(BadInput) as found:
        RunSpec.make(learner="er", settings={name: 1})
    assert str(found.value) == error


def test_unknown_learners_and_streams_are_rejected() -> None:
    with pytest.raises(BadInput, match="unknown learner 'naiv'; did you mean 'naive'"):
        RunSpec.make(learner="naiv")
    with pytest.raises(BadInput, match="unknown stream 'sprits'; did you mean 'sprites'"):
        RunSpec.make(stream="sprits", learner="er")
    with pytest.raises(BadInput, match="nearest has no settings"):
        RunSpec.make(learner="nearest", settings={"learner.k": 3})


INVALID_JSON = [
    "", "{", "[]", "null", "3", "{}", '{"stream": NaN}', '{"stream": "sprites", "stream": "mnist"}',
    '{"stream": 3}', '{"stream": {}}', '{"stream": {"stream": 3}}', '{"stream": "sprites", "learner": 3}',
    '{"stream": "sprites", "learner": {"name": 3}}', '{"stream": "sprites", "learner": {"naem": "er"}}',
    '{"stream": "sprites", "learner": {"name": "er", "settings": 3}}',
    '{"stream": "sprites", "seed": 1e309}', '{"stream": "sprites", "format": 2}', "[" * 100_000,
    '{"a":' * 50_000, " " * 2_000_000, "\ud800", '{"stream": "sprites", "evaluation": []}',
    '{"stream": ["sprites"]}', '{"stream": "../../etc"}', '{"stream": "sprites", "learner": "../er"}',
    '{"stream": "sprites", "learner": "base"}', '{"stream": "sprites", "learner": "os"}',
]  # fmt: skip


@pytest.mark.parametrize("text", INVALID_JSON, ids=lambda text: text[:30].encode("ascii", "replace").decode())
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(BadInput) as error:
        RunSpec.from_json(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["a = ", "[stream", "stream = 3", "a = 1\na = 2", "\0", "x = " + "[" * 5000])
def test_invalid_toml_is_rejected(text: str) -> None:
    with pytest.raises(BadInput):
        RunSpec.from_toml(text)


@given(st.text())
def test_any_text_is_rejected(text: str) -> None:
    for read in (RunSpec.from_json, RunSpec.from_toml):
        with pytest.raises(BadInput):
            read(text)
