"""What can be set, as the settings themselves say it."""

from typing import Any

from everlearn import learners, streams
from everlearn.runs import RunSpec
from everlearn.settings import Settings

PARTS = ("stream", "learner", "evaluation")
"""Parts of a run that have settings of their own."""


def choices() -> dict[str, list[str]]:
    """The learners and streams there are."""
    return {"learners": learners.names(), "streams": list(streams.names())}


def run_form() -> list[dict[str, Any]]:
    """The settings of a run apart from its stream and its learner."""
    return [field for field in _fields(RunSpec, "") if field["key"] not in PARTS]


def learner_form(name: str) -> dict[str, Any]:
    """What a learner does, what it is given, and its settings."""
    found = learners.learner_class(name)
    about = {"name": name, "about": _first_line(found.__doc__), "given": found.supervision}
    return {**about, "fields": _fields(learners.settings_class(name), "learner.")}


def stream_form(kind: str) -> dict[str, Any]:
    """What a kind of stream shows, and its settings."""
    found = streams.settings_class(kind)
    return {"name": kind, "about": _first_line(found.__doc__), "fields": _fields(found, "stream.")}


def _fields(model: type[Settings], prefix: str) -> list[dict[str, Any]]:
    """One field for each setting: its key, default, meaning, and what kind of value it takes."""
    schema = model.model_json_schema()["properties"]
    defaults = model.model_construct().model_dump(mode="json", warnings=False)
    return [
        {
            "key": prefix + name,
            "default": defaults.get(name),
            "meaning": about.get("description", ""),
            **_takes(about),
        }
        for name, about in schema.items()
    ]


def _takes(about: dict[str, Any]) -> dict[str, Any]:
    """Which input suits a setting: choices, yes or no, a number within bounds, or words."""
    if "enum" in about:
        return {"input": "choice", "choices": about["enum"]}
    kind = about.get("type", "")
    if kind in ("integer", "number"):
        bounds = {"low": about.get("minimum"), "high": about.get("maximum")}
        return {"input": "number", "whole": kind == "integer", **bounds}
    return {"input": "switch"} if kind == "boolean" else {"input": "words"}


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
