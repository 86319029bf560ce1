import inspect
import json

import pytest

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams import SpriteSettings, StreamSettings
from everlearn.streams.images.settings import ImageSettings
from everlearn.streams.scenarios.settings import ScenarioStreamSettings


def test_incomplete_settings_class_is_rejected():
    class WithoutBuild(StreamSettings):
        kind = "without-build"

    class WithoutTitle(ScenarioStreamSettings):
        build = SpriteSettings.build

    class WithoutDataset(ImageSettings):
        kind = "without-dataset"

    for model, missing in ((WithoutBuild, "build"), (WithoutTitle, "title"), (WithoutDataset, "dataset")):
        with pytest.raises(TypeError, match=f"abstract method '?{missing}"):
            model()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"scale": [0.5, 1.0], "angle": {"low": 0, "high": 3}, "held_out": {"scale": [0.9, 1.0]}},
        {"colour": [[1, 0, 0], [0, 0, 1]], "rgb": True, "split": [100, 0, 25]},
        {"scenario": "nic", "n_sessions": 4, "n_tasks": 20},
    ],
)
def test_sprite_settings_round_trip(given):
    spec = SpriteSettings(**given)
    assert streams.from_json(spec.to_json()) == streams.from_toml(spec.to_toml()) == spec
    assert streams.build(json.loads(spec.to_json())).spec == spec


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        SpriteSettings().seed = 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"image_sise": 3}, "unknown sprites setting 'image_sise'; did you mean 'image_size'?"),
        ({"image_size": -3}, "image_size is -3; it must be at least 16"),
        ({"image_size": 1000}, "image_size is 1000; it must be at most 512"),
        ({"image_size": "big"}, "image_size is 'big'; it must be a whole number"),
        (
            {"scenario": "clas-incremental"},
            "unknown scenario 'clas-incremental'; did you mean 'class-incremental'?",
        ),
        ({"scenario": 3}, "scenario is 3; it must be 'class-incremental'"),
        ({"scale": "x"}, "scale is 'x'; give a number of values, a list of them, or"),
        ({"scale": -1}, "scale is -1; it must be at least 1"),
        ({"scale": []}, "scale is an empty list; give at least one value"),
        ({"scale": {"low": 1, "high": 0.5}}, "scale is {'low': 1.0, 'high': 0.5}, an empty range"),
        ({"noise": float("nan")}, "noise is nan; it must be a finite number"),
        ({"seed": -1}, "seed is -1; it must be at least 0"),
        ({"classes_per_task": 0}, "classes_per_task is 0; it must be at least 1"),
        ({"held_out": 625}, "held_out is 625; it must be between 0 and 624"),
        ({"held_out": 624}, "1 images per class cannot be split"),
        ({"vertices": [8, 5]}, "vertices is (8, 5); the minimum must not exceed the maximum"),
        ({"vertices": 5}, "vertices is 5; it must be a list, such as [5, 8]"),
        ({"vertices": [5]}, "vertices is [5]; a value is missing"),
        ({"spline_orders": []}, "spline_orders is []; it must have at least 1 item"),
        ({"split": [600, 15, 100]}, "625 images per class cannot be split into 600 for train"),
        ({"split": [0.5, 0.1, 0.1]}, "split is (0.5, 0.1, 0.1); give three counts"),
        ({"similarity": 0.5, "scenario": "nc", "first_classes": 15}, "groups of 10"),
    ],
)
def test_invalid_settings_are_rejected(given, message):
    with pytest.raises(BadInput) as error:
        SpriteSettings(**given)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stream": "sprits"}, "unknown stream 'sprits'; did you mean 'sprites'?"),
        ({"image_size": 32}, "do not name a stream"),
        ({"stream": 3}, "do not name a stream"),
        ("sprites", "the settings 'sprites' do not name a stream"),
    ],
)
def test_unknown_streams_are_rejected(given, message):
    with pytest.raises(BadInput, match=message):
        streams.build(given)


def test_invalid_text_is_rejected():
    for read in (streams.from_json, streams.from_toml):
        with pytest.raises(BadInput, match="settings"):
            read("{")


@pytest.mark.parametrize("name", streams.names())
def test_builders_are_documented_as_settings(name):
    function, model = getattr(streams, name.replace("-", "_")), streams.settings_class(name)
    parameters = inspect.signature(function).parameters
    assert list(parameters) == list(model.model_fields)
    for key, field in model.model_fields.items():
        assert field.description
        assert f"    {key}: {field.description}" in function.__doc__
        assert parameters[key].default == field.default
        assert parameters[key].kind is inspect.Parameter.KEYWORD_ONLY
        is_optional = type(None) in getattr(field.annotation, "__args__", ())
        assert field.default is None or not is_optional, key
