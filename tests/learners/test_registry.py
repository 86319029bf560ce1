import inspect
import subprocess
import sys
from typing import Literal, get_origin

import pytest

from everlearn import learners
from everlearn.errors import BadInput

OUTSIDE = {"ge": -1, "gt": 0, "le": 1, "lt": 0}
"""Distances of a value that is out of range from each kind of bound."""
UNBOUNDED = ("reconstruction_weight",)
"""Numbers without a range."""


@pytest.mark.parametrize("name", learners.names())
def test_table_matches_the_class(name: str) -> None:
    found = learners.learner_class(name)
    assert inspect.getdoc(found).splitlines()[0].rstrip(".") == learners.entry(name).description  # type: ignore[union-attr]
    entry = learners.LEARNERS[name]
    assert getattr(learners, entry.class_name) is found
    assert (entry.supervision, entry.supports_data_parallel) == (
        found.supervision,
        found.supports_data_parallel,
    )
    assert found.__name__ in dir(learners)


@pytest.mark.parametrize("name", learners.names())
def test_every_setting_has_a_default_and_a_description(name: str) -> None:
    for key, field in learners.settings_class(name).model_fields.items():
        assert not field.is_required(), key
        assert field.description, key


@pytest.mark.parametrize("name", learners.names())
def test_values_outside_the_declared_range_are_refused(name: str) -> None:
    for key, each in learners.learner_class(name).settings.items():
        if key not in (fields := learners.settings_class(name).model_fields):
            continue
        wrong: list[object] = [each.bounds[kind] + by for kind, by in OUTSIDE.items() if kind in each.bounds]
        if fields[key].annotation in (int, float) and key not in UNBOUNDED:
            assert {"ge", "gt"} & each.bounds.keys(), f"{key} has no lower bound"
            wrong.append(float("nan"))
        if get_origin(fields[key].annotation) is Literal:
            wrong.append("another")
        for value in wrong:
            with pytest.raises(BadInput, match=key):
                learners.complete(name, {key: value})


def test_own_settings_come_before_inherited_ones() -> None:
    fields = learners.settings_class("der++").model_fields
    own = ["beta", "alpha", "memory_size", "replay_size"]
    shared = ["backbone", "norm", "average", "weights", "optimizer", "learning_rate", "momentum"]
    assert list(fields) == [*own, *shared]


def test_names_need_no_torch() -> None:
    code = "import sys; from everlearn import learners; learners.names(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
