import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn import learners, runs
from everlearn.errors import BadInput
from everlearn.runs.spec import RunSpec

from .conftest import tiny


def test_defaults_of_the_learner_are_written_out() -> None:
    spec = RunSpec.make(learner="er")
    assert spec.learner.settings == {
        "backbone": "small", "optimizer": "adam", "learning_rate": 1e-3, "momentum": 0.0,
        "memory_size": 2000, "replay_size": 64, "policy": "reservoir",
    }  # fmt: skip
    assert spec == RunSpec.make(learner="er", settings={"learner.memory_size": 2000})


def test_words_are_read_as_the_values_they_mean() -> None:
    words = {
        "stream.image_size": "32",
        "learner.learning_rate": "0.01",
        "evaluation.ahead": "false",
        "epochs": "3",
    }
    spec = RunSpec.make(learner="naive", settings=words)
    assert (spec.stream.model_dump()["image_size"], spec.epochs, spec.evaluation.ahead) == (32, 3, False)
    assert spec.learner.settings["learning_rate"] == 0.01


@pytest.mark.parametrize("name", learners.names())
def test_json_and_toml_both_ways(name: str) -> None:
    spec = RunSpec.make(
        learner=name, settings={"stream.held_out": {"scale": [0.9, 1.0]}, "n_tasks": 7, "seed": 3}
    )
    assert RunSpec.from_json(spec.to_json()) == spec == RunSpec.from_toml(spec.to_toml())
    assert RunSpec.from_json(spec.to_json()).hash == spec.hash == RunSpec.from_toml(spec.to_toml()).hash


CHANGES = [
    {"seed": 1}, {"n_tasks": 3}, {"epochs": 2}, {"batch_size": 17}, {"device": "mps"},
    {"evaluation.every": 2}, {"evaluation.probe_size": 9}, {"evaluation.inside_every": 1},
    {"evaluation.ahead": False}, {"stream.seed": 1}, {"stream.image_size": 32}, {"stream.noise": 0.5},
    {"learner.memory_size": 3}, {"learner.replay_size": 3},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_every_setting_is_in_the_hash(change: dict[str, Any]) -> None:
    assert tiny("er").hash != tiny("er", **change).hash


def test_a_spec_is_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        tiny().epochs = 3  # type: ignore[misc]


# What is refused

FIELDS = ["n_tasks", "epochs", "batch_size", "seed", "evaluation.probe_size", "evaluation.every"]
FIELDS += ["evaluation.inside_every", "stream.image_size", "stream.classes_per_task", "learner.memory_size"]
FIELDS += ["learner.replay_size", "stream.seed", "stream.factor_values"]
BAD_NUMBERS: list[Any] = [
    -1, -0.5, 10**30, 1e309, float("nan"), "", "abc", "1e309", "NaN", "0x10", [], {}, [1], {"a": 1}, 2.5,
    "2.5", "１２", b"x", 1j, "9" * 400,
]  # fmt: skip
NUMBERS = [
    ({field: bad})
    for field in FIELDS
    for bad in BAD_NUMBERS
    if not (field == "stream.factor_values" and bad in ([1], [], {}))
]
WORDS: list[dict[str, Any]] = [
    *({"device": bad} for bad in ["gpu", "cuda:x", "", 3, None, "cpu ", "CPU", "cuda:99999"]),
    *({"learner.backbone": bad} for bad in ["big", 3, None, "", "resnet19"]),
    *({"learner.learning_rate": bad} for bad in [0, -1, "fast", None, float("inf"), 1e7]),
    *({"evaluation.ahead": bad} for bad in ["maybe", 2, None, []]),
    *({f"stream.{name}": bad} for name in ("marker", "rgb") for bad in ["maybe", 7, []]),
    *(
        {f"stream.{name}": bad}
        for name in ("noise", "lighting", "similarity")
        for bad in [-1, 2, "much", None]
    ),
    *({"stream.scenario": bad} for bad in ["class", 3, None, "", "Class-Incremental"]),
    *({"stream.vertices": bad} for bad in [3, [8, 5], [2, 5], [5], "many", [5, 6, 7]]),
]
NAMES: list[dict[str, Any]] = [
    {name: 1}
    for name in [
        "epoch", "batchsize", "tasks", "n-tasks", "Seed", "seed ", "", ".", "..", "stream", "learner",
        "evaluation", "stream.", "learner.", "stream.imagesize", "stream.image-size", "learner.memory",
        "learner.seed", "learner.image_shape", "learner.memory_size.x", "evaluation.probe",
        "eval.probe_size", "strem.seed", "run.seed", "stream.stream.seed", "__class__", "learner.__init__",
        "model_config", "stream.model_config", "kind", "format", "hash", "stream.kind", "💥", "a\0b", "a\nb",
        "x" * 5000,
    ]
]  # fmt: skip
TABLE = [*NUMBERS, *WORDS, *NAMES]


def is_a_sentence(error: BadInput) -> bool:
    said = str(error)
    return 10 < len(said) < 6000 and "Traceback" not in said and "pydantic" not in said and ";" in said


def test_the_table_is_long_enough() -> None:
    assert len(TABLE) >= 300


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: str(bad)[:40].encode("ascii", "replace").decode())
def test_malformed_settings_are_refused_in_a_sentence(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as refusal:
        RunSpec.make(learner="er", settings=bad).build_learner((16, 16))
    assert is_a_sentence(refusal.value), refusal.value


@given(st.sampled_from(FIELDS), st.text(max_size=20).filter(lambda word: not any(map(str.isdigit, word))))
def test_words_where_numbers_belong(field: str, word: str) -> None:
    with pytest.raises(BadInput) as refusal:
        RunSpec.make(learner="er", settings={field: word})
    assert is_a_sentence(refusal.value), refusal.value


@given(
    st.dictionaries(
        st.text(max_size=12), st.integers() | st.text(max_size=5) | st.none(), min_size=1, max_size=4
    )
)
def test_arbitrary_settings_never_break(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        RunSpec.make(learner="er", settings={f"x{key}": value for key, value in settings.items()})


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"epocs": 1}, "unknown run setting 'epocs'; did you mean 'epochs'?"),
        ({"learner.memory_sise": 1}, "unknown er setting 'memory_sise'; did you mean 'memory_size'?"),
        ({"stream.image_sise": 1}, "unknown sprites setting 'image_sise'; did you mean 'image_size'?"),
        ({"evaluation.prob_size": 1}, "unknown evaluation setting 'prob_size'; did you mean 'probe_size'?"),
        ({"strem.seed": 1}, "unknown section 'strem'; did you mean 'stream'?"),
    ],
)
def test_the_nearest_name_is_offered(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as refusal:
        RunSpec.make(learner="er", settings=bad)
    assert str(refusal.value) == said


def test_unknown_learners_and_streams_are_named() -> None:
    with pytest.raises(BadInput, match="unknown learner 'naiv'; did you mean 'naive'"):
        RunSpec.make(learner="naiv")
    with pytest.raises(BadInput, match="unknown stream 'sprits'; did you mean 'sprites'"):
        RunSpec.make(stream="sprits", learner="er")
    with pytest.raises(BadInput, match="nearest has no settings"):
        RunSpec.make(learner="nearest", settings={"learner.k": 3})


TEXTS = [
    "", "{", "[]", "null", "3", '"x"', "{}", "NaN", '{"stream": NaN}',
    '{"stream": "sprites", "stream": "mnist"}', '{"stream": 3}', '{"stream": {}}',
    '{"stream": {"stream": 3}}', '{"stream": "sprites", "learner": 3}',
    '{"stream": "sprites", "learner": {"name": 3}}', '{"stream": "sprites", "learner": {"naem": "er"}}',
    '{"stream": "sprites", "learner": {"name": "er", "settings": 3}}',
    '{"stream": "sprites", "seed": 1e309}', '{"stream": "sprites", "format": 2}',
    '{"stream": "sprites", "format": "x"}', "[" * 100_000, '{"a":' * 50_000, " " * 2_000_000, "\ud800",
    "{'stream': 'sprites'}", '{"stream": "sprites",}', '{"stream": "../../etc"}',
    '{"stream": "sprites", "evaluation": []}', '{"stream": ["sprites"]}',
    '{"stream": "sprites", "learner": "../er"}', '{"stream": "sprites", "learner": "base"}',
    '{"stream": "sprites", "learner": "base.learner"}', '{"stream": "sprites", "learner": "os"}',
    '{"stream": "sprites", "learner": "__init__"}',
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:30].encode("ascii", "replace").decode())
def test_malformed_specs_are_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        RunSpec.from_json(text)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["a", "a = ", "[stream", "stream = 3", "a = 1\na = 2", "\0", "x = " + "[" * 5000]
)
def test_malformed_toml_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadInput):
        RunSpec.from_toml(text)


@given(st.text())
def test_any_text_is_a_spec_or_a_sentence(text: str) -> None:
    for read in (RunSpec.from_json, RunSpec.from_toml):
        with pytest.raises(BadInput):
            read(text)


def test_huge_things_are_refused_with_the_number_before_anything_is_made() -> None:
    huge = {"stream.image_size": 512, "stream.rgb": True, "evaluation.probe_size": 1_000_000}
    with pytest.raises(BadInput, match=r"need 786|need 8\d\d GB"):
        runs.play(tiny(**huge))


def test_more_tasks_than_the_stream_has_are_refused() -> None:
    with pytest.raises(BadInput, match=r"n_tasks is 5, but .* has only 2"):
        runs.play(tiny(n_tasks=5, **{"stream.n_tasks": 2}))


def test_a_device_that_is_not_there_is_refused() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(BadInput, match="device is cuda:0, but torch finds none here"):
        runs.play(tiny(device="cuda:0"))


def test_the_hash_is_of_the_file_that_is_written() -> None:
    spec = tiny()
    assert json.loads(spec.to_json())["format"] == 1
    assert spec.hash == RunSpec.from_mapping(spec.to_mapping()).hash
