"""Descriptions of settings for the form of a new run, and the setting that caused an error."""

from collections.abc import Callable, Mapping
from typing import Any

from everlearn import learners, streams
from everlearn.errors import BadInput
from everlearn.runs.run_record import check_name
from everlearn.runs.spec import SECTIONS, RunSpec
from everlearn.settings import Settings, describe, first_line
from everlearn.studio import glossary, presets


def run_options() -> dict[str, Any]:
    """The names of learners and streams, and the settings of a run other than theirs."""
    fields = [field for field in _fields(RunSpec, "") if field["key"] not in SECTIONS]
    names = {"learners": learners.names(), "streams": list(streams.names())}
    return {**names, "fields": fields, "presets": presets.describe()}


def learner_form(name: str) -> dict[str, Any]:
    """The description, the supervision and the settings of a learner."""
    cls = learners.learner_class(name)
    about = {
        "description": first_line(cls.__doc__),
        "supervision": cls.supervision,
        **glossary.reference(name),
    }
    return {**about, "fields": _fields(learners.settings_class(name), "learner.")}


def stream_form(name: str) -> dict[str, Any]:
    """The description and the settings of a stream."""
    cls = streams.settings_class(name)
    return {"description": first_line(cls.__doc__), "fields": _fields(cls, "stream.")}


def _fields(model: type[Settings], prefix: str) -> list[dict[str, Any]]:
    """The key, default, help and input type of each setting."""
    schema = model.model_json_schema()["properties"]
    return [
        {"key": prefix + name, "default": each["default"], "help": each["meaning"], **_input(schema[name])}
        for name, each in describe(model).items()
    ]


def _input(field: dict[str, Any]) -> dict[str, Any]:
    """The input element for the JSON schema of a setting."""
    if "enum" in field:
        return {"input": "select", "options": field["enum"]}
    match field.get("type"):
        case "integer" | "number" as kind:
            bounds = {"min": field.get("minimum"), "max": field.get("maximum")}
            return {"input": "number", "integer": kind == "integer", **bounds}
        case "boolean":
            return {"input": "checkbox"}
        case _:
            return {"input": "text"}


def field_at_fault(*, stream: str, learner: str, settings: Mapping[str, Any], name: str) -> str | None:
    """The field of the form that makes a run invalid; None if no single field does.

    A setting is at fault if the run is valid without it, or invalid for another reason.

    Example:
        >>> field_at_fault(stream="sprites", learner="er", settings={"seed": 1, "epochs": 0}, name="")
        'epochs'
    """
    if _error(lambda: check_name(name)):
        return "name"
    if _error(lambda: learners.settings_class(learner)):
        return "learner"
    if _error(lambda: streams.settings_class(stream)):
        return "stream"

    def error_without(key: str | None) -> str | None:
        others = {each: value for each, value in settings.items() if each != key}
        return _error(lambda: RunSpec.make(stream=stream, learner=learner, settings=others))

    error = error_without(None)
    return next((key for key in settings if error and error_without(key) != error), None)


def _error(check: Callable[[], object]) -> str | None:
    """The message of the error that a function raises; None if it raises none."""
    try:
        check()
    except BadInput as error:
        return str(error)
    return None
