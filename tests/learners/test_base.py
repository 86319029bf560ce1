import inspect
from typing import Any, Literal

import pytest

from everlearn.errors import BadInput
from everlearn.learners import EditsMemory, learner_class
from everlearn.learners.base import Configurable, setting, settings_model


class Base(Configurable):
    """An example."""

    n_images: int = setting("images per step", default=64, ge=1)
    optimizer: str = setting("optimizer", default="adam", choices=("adam", "sgd"))

    def setup(self) -> None:
        self.doubled = 2 * self.n_images


class Derived(Base):
    """A derived example.

    Example:
        >>> Derived().strength
        1.0
    """

    strength: float = setting("weight of the penalty", default=1.0, gt=0, lt=10)
    policy: Literal["first", "last"] = setting("which images", default="last")
    n_images: int = setting(default=32)


def test_settings_become_attributes_before_setup() -> None:
    assert (Base().n_images, Base(n_images=3).doubled) == (64, 6)


def test_subclass_overrides_a_default_and_inherits_the_rest() -> None:
    assert Derived().n_images == 32
    assert Derived.settings["n_images"].description == "images per step"
    with pytest.raises(BadInput, match="n_images is 0; it must be at least 1"):
        Derived(n_images=0)
    assert Base().n_images == 64


def test_hiding_a_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Hides.n_images hides a setting; write setting\(default=...\)"):

        class Hides(Base):
            n_images = 5


def test_own_settings_come_first() -> None:
    assert list(Derived.settings) == ["strength", "policy", "n_images", "optimizer"]


def test_signature_and_docstring_show_every_setting() -> None:
    signature = inspect.signature(Derived)
    assert str(signature.parameters["n_images"]) == "n_images: int = 32"
    assert all(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())
    assert inspect.getdoc(Derived).splitlines()[0] == "A derived example."  # type: ignore[union-attr]
    assert "    n_images: images per step (default: 32)." in inspect.getdoc(Derived).splitlines()  # type: ignore[union-attr]
    assert inspect.getdoc(Derived).count("Args:") == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": 0}, "strength is 0; it must be greater than 0"),
        ({"strength": float("nan")}, "strength is nan"),
        ({"strength": "much"}, "strength is 'much'"),
        ({"policy": "lasst"}, "did you mean 'last'"),
        ({"optimizer": "sdg"}, "did you mean 'sgd'"),
        ({"strenght": 1}, "unknown Derived setting 'strenght'; did you mean 'strength'"),
        ({"n_images": True}, "n_images is True"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Derived(**settings)


def test_settings_model_has_choices_and_bounds() -> None:
    schema = settings_model(Derived, "derived").model_json_schema()["properties"]
    assert schema["optimizer"]["enum"] == ["adam", "sgd"]
    assert schema["strength"]["exclusiveMaximum"] == 10


@pytest.mark.parametrize(
    ("name", "edits"), [("dcl", True), ("er", False), ("naive", False), ("nearest", False)]
)
def test_only_exemplar_memories_can_be_edited(name: str, edits: bool) -> None:
    assert isinstance(learner_class(name).tiny(), EditsMemory) is edits


def test_seeds_are_bounded() -> None:
    with pytest.raises(BadInput, match="seed is 9223372036854775808; it must be at most"):
        learner_class("nearest")(seed=2**63)
