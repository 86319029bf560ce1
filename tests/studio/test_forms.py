from typing import Any

import pytest

from everlearn import learners, streams
from everlearn.runs import RunSpec
from everlearn.studio.forms import field_at_fault, learner_form, run_options, stream_form
from everlearn.studio.presets import PRESETS


def test_fields_describe_settings() -> None:
    learner = {field["key"]: field for field in learner_form("dcl")["fields"]}
    width = learners.settings_class("dcl").model_fields["width"]
    assert learner["learner.width"]["default"] == width.default
    assert learner["learner.width"]["help"] == width.description
    assert learner["learner.width"]["input"] == "number"
    stream = {field["key"]: field for field in stream_form("sprites")["fields"]}
    assert (stream["stream.image_size"]["min"], stream["stream.image_size"]["max"]) == (16, 512)
    assert stream["stream.rgb"]["input"] == "checkbox"
    assert {"n_tasks", "epochs", "seed"} <= {field["key"] for field in run_options()["fields"]}


@pytest.mark.parametrize("name", run_options()["learners"])
def test_the_defaults_of_a_learner_form_are_the_default_run(name: str) -> None:
    form = learner_form(name)
    settings = {each["key"]: each["default"] for each in form["fields"] if each["default"] is not None}
    assert RunSpec.make(learner=name, settings=settings) == RunSpec.make(learner=name)
    assert form["description"]


@pytest.mark.parametrize("name", streams.names())
def test_every_stream_has_a_form(name: str) -> None:
    form = stream_form(name)
    assert form["description"]
    assert all(field["help"] for field in form["fields"])


@pytest.mark.parametrize(
    ("run", "field"),
    [
        ({}, None),
        ({"settings": {"seed": 3, "epochs": 0, "learner.width": 0}}, "learner.width"),
        ({"settings": {"learner.width": 4, "stream.split": [0.5, 0.6, 0.7]}}, "stream.split"),
        ({"settings": {"stream.n_tasks": 0, "n_tasks": 5}}, "stream.n_tasks"),
        ({"learner": "dlc"}, "learner"),
        ({"stream": "sprits"}, "stream"),
        ({"name": "a\nb"}, "name"),
    ],
)
def test_the_field_at_fault_is_found(run: dict[str, Any], field: str | None) -> None:
    valid: dict[str, Any] = {"stream": "sprites", "learner": "dcl", "settings": {}, "name": ""}
    assert field_at_fault(**valid | run) == field


def test_presets_are_valid_runs() -> None:
    for key, preset in PRESETS.items():
        settings = {**preset.settings, **({preset.asks: __file__} if preset.asks else {})}
        spec = RunSpec.make(stream=preset.stream, learner=preset.learner, settings=settings)
        assert spec.n_tasks == preset.settings.get("n_tasks"), key
