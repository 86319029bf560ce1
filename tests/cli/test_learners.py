import pytest

from everlearn import learners

from .outcomes import Run


def test_learners_are_listed(run: Run) -> None:
    data = run("learners", "--json").data["learners"]
    assert list(data) == learners.names()
    assert data["dcl"]["supervision"] == "labelled images, factor labels, exemplars"
    assert (data["er"]["data_parallel"], data["nearest"]["data_parallel"]) == (True, False)
    out = run("learners").out
    assert "supervision" in out
    assert "data-parallel" in out


@pytest.mark.parametrize("name", learners.names())
def test_settings_of_a_learner_are_listed(run: Run, name: str) -> None:
    settings = run("learners", name, "--json").data["settings"]
    assert settings.keys() == learners.settings_class(name).model_fields.keys()
    assert all(setting["meaning"] for setting in settings.values())
    out = run("learners", name).out
    assert all(f"learner.{setting} " in out for setting in settings)


def test_unknown_learner_is_an_error(run: Run) -> None:
    assert run("learners", "ecr").err == "everlearn: unknown learner 'ecr'; did you mean 'er'?\n"
