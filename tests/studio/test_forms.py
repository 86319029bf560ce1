import pytest

from everlearn import learners, streams
from everlearn.runs import RunSpec
from everlearn.studio.forms import learner_form, run_options, stream_form


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
