import inspect
import subprocess
import sys

import pytest

from everlearn import learners


@pytest.mark.parametrize("name", learners.names())
def test_table_matches_the_class(name: str) -> None:
    found = learners.learner_class(name)
    assert inspect.getdoc(found).splitlines()[0].rstrip(".") == learners.description(name)  # type: ignore[union-attr]
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


def test_own_settings_come_before_inherited_ones() -> None:
    fields = learners.settings_class("der++").model_fields
    own = ["beta", "alpha", "memory_size", "replay_size"]
    assert list(fields) == [*own, "backbone", "optimizer", "learning_rate", "momentum"]


def test_names_need_no_torch() -> None:
    code = "import sys; from everlearn import learners; learners.names(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
