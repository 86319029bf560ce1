"""Descriptions of settings, from which the form for a new run is built."""

from typing import Any

from everlearn import learners, streams
from everlearn.runs.spec import SECTIONS, RunSpec
from everlearn.settings import Settings, describe, first_line


def run_options() -> dict[str, Any]:
    """The names of learners and streams, and the settings of a run apart from theirs."""
    fields = [field for field in _fields(RunSpec, "") if field["key"] not in SECTIONS]
    return {"learners": learners.names(), "streams": list(streams.names()), "fields": fields}


def learner_form(name: str) -> dict[str, Any]:
    """The description, the supervision and the settings of a learner."""
    cls = learners.learner_class(name)
    about = {"description": first_line(cls.__doc__), "supervision": cls.supervision}
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
