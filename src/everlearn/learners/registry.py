"""Learners by name: classes, settings and construction."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from everlearn.errors import BadInput, unknown

if TYPE_CHECKING:
    from everlearn.learners.base import Learner
    from everlearn.settings import Settings


class LearnerEntry(NamedTuple):
    """Where a learner is, and the first line of its docstring; read without importing torch."""

    module: str
    class_name: str
    description: str


_TABLE = {
    "a-gem": ("agem", "AGEM", "Averaged gradient episodic memory"),
    "ar1": ("ar1", "AR1", "AR1: CWR* head, backbone under synaptic intelligence"),
    "cci-vae": ("vase.cci_vae", "CCIVAE", "CCI-VAE: VAE with controlled capacity increase"),
    "contrastive": LearnerEntry(
        "contrastive", "Contrastive", "Supervised contrastive learning with class exemplars"
    ),
    "cumulative-budget": LearnerEntry("joint", "CumulativeBudget", "Joint training with one step per batch"),
    "cwr*": ("cwr_star", "CWRStar", "CopyWeights with reinit (CWR*): consolidated class weights"),
    "dcl": ("dcl", "DCL", "Disentangled continual learning"),
    "dcl-paper": ("dcl_paper", "DCLPaper", "Disentangled continual learning as published"),
    "der": ("der", "DER", "Dark experience replay"),
    "der++": ("der", "DERPlusPlus", "Dark experience replay with replayed labels (DER++)"),
    "er": ("er", "ER", "Experience replay"),
    "ewc": ("ewc", "EWC", "Elastic weight consolidation, online variant"),
    "gdumb": ("gdumb", "GDumb", "Greedy sampler and dumb learner"),
    "gnr": ("gnr", "GNR", "Generative negative replay"),
    "icarl": ("icarl", "ICaRL", "Incremental classifier and representation learning"),
    "joint": ("joint", "Joint", "Joint training on all tasks so far (upper bound)"),
    "l2": ("l2", "L2", "Quadratic penalty on parameter drift"),
    "l2p": ("l2p", "L2P", "Learning to prompt"),
    "lwf": ("lwf", "LwF", "Learning without forgetting"),
    "naive": ("naive", "Naive", "Sequential fine-tuning (lower bound)"),
    "nearest": ("nearest", "Nearest", "Nearest mean image in pixel space"),
    "prototypes": ("prototypes", "Prototypes", "Nearest class mean in a frozen feature space"),
    "si": ("si", "SI", "Synaptic intelligence (path-integral importance)"),
    "slda": ("slda", "SLDA", "Streaming linear discriminant analysis"),
    "vase": ("vase.learner", "VASE", "Variational autoencoder with shared embeddings (VASE)"),
}
LEARNERS = {name: LearnerEntry(*row) for name, row in _TABLE.items()}
"""The learners of the package by short name."""


def names() -> list[str]:
    """The short names of all learners.

    Example:
        >>> {"a-gem", "cwr*", "der++"} <= set(names())
        True
    """
    return sorted(LEARNERS)


def description(name: str) -> str:
    """One line about a learner."""
    return LEARNERS[name].description


def learner_class(name: str) -> "type[Learner]":
    """The class with a short name; its module is imported now."""
    if name not in LEARNERS:
        raise unknown("learner", name, names())
    entry = LEARNERS[name]
    found: type[Learner] = getattr(
        importlib.import_module(f"everlearn.learners.{entry.module}"), entry.class_name
    )
    return found


@cache
def settings_class(name: str) -> "type[Settings]":
    """The settings of a learner as a pydantic model, without image_shape and seed.

    Example:
        >>> field = settings_class("er").model_fields["memory_size"]
        >>> field.default, field.description
        (2000, 'images stored in total')
    """
    from everlearn.learners.base import CONTEXT, Configurable, settings_model

    if learner_class(name).__init__ is not Configurable.__init__:
        return _old_settings_class(name)
    return settings_model(learner_class(name), name, CONTEXT)


def complete(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a learner, checked: the given ones, and the defaults of the others."""
    model = settings_class(name)
    if settings and not model.model_fields:
        raise BadInput(f"{name} has no settings, but {sorted(settings)[0]!r} was given; leave it out")
    return model(**settings).model_dump(mode="json")


def build(name: str, *, image_shape: tuple[int, ...], seed: int, **settings: Any) -> "Learner":
    """A new learner; settings that are not given have their defaults."""
    checked = dict(settings_class(name)(**complete(name, settings)))
    return learner_class(name)(image_shape=image_shape, seed=seed, **checked)


# From here on: learners whose settings are still arguments of a constructor.


def _old_settings_class(name: str) -> "type[Settings]":
    from pydantic import Field, create_model

    from everlearn.learners.base import CONTEXT
    from everlearn.settings import Settings

    found = learner_class(name)
    fields: dict[str, Any] = {}
    for constructor in _constructors(found):
        types = get_type_hints(constructor, include_extras=True)
        for key, parameter in inspect.signature(constructor).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and key not in (*CONTEXT, *fields):
                fields[key] = types[key], Field(parameter.default, description=_description(found, key))
    model: type[Settings] = create_model(found.__name__, __base__=Settings, __module__=__name__, **fields)
    model.kind = name
    return model


def _constructors(found: type) -> Iterator[Callable[..., None]]:
    for constructor in (c.__dict__["__init__"] for c in found.__mro__ if "__init__" in c.__dict__):
        yield constructor
        if all(p.kind is not p.VAR_KEYWORD for p in inspect.signature(constructor).parameters.values()):
            break


def _description(found: type, key: str) -> str | None:
    return next((said[key] for said in map(_descriptions, found.__mro__) if key in said), None)


@cache
def _descriptions(found: type) -> dict[str, str]:
    arguments = inspect.cleandoc(found.__doc__ or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", arguments, re.MULTILINE)
    return {key: " ".join(text.split()) for key, text in entries}
