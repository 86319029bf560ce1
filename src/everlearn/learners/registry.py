"""Learners by name: classes, settings and construction."""

import importlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
    "ar1": ("cwr", "AR1", "AR1: CWR* head, backbone under synaptic intelligence"),
    "cci-vae": ("vase.cci_vae", "CCIVAE", "CCI-VAE: VAE with controlled capacity increase"),
    "contrastive": ("contrastive", "Contrastive", "Supervised contrastive learning with class exemplars"),
    "cumulative-budget": ("joint", "CumulativeBudget", "Joint training with one step per batch"),
    "cwr*": ("cwr", "CWRStar", "CopyWeights with reinit (CWR*): consolidated class weights"),
    "dcl": ("dcl", "DCL", "Disentangled continual learning"),
    "dcl-paper": ("dcl_paper", "DCLPaper", "Disentangled continual learning as published"),
    "der": ("der", "DER", "Dark experience replay"),
    "der++": ("der", "DERPlusPlus", "Dark experience replay with replayed labels (DER++)"),
    "er": ("er", "ER", "Experience replay"),
    "ewc": ("ewc", "EWC", "Elastic weight consolidation (Fisher-weighted quadratic penalty), online variant"),
    "gdumb": ("gdumb", "GDumb", "Greedy sampler and dumb learner"),
    "gnr": ("gnr.learner", "GNR", "Generative negative replay"),
    "icarl": ("icarl", "ICaRL", "Incremental classifier and representation learning"),
    "joint": ("joint", "Joint", "Joint training on all tasks so far (upper bound)"),
    "l2": ("l2", "L2", "Quadratic penalty on parameter drift"),
    "l2p": ("l2p", "L2P", "Learning to prompt"),
    "lwf": ("lwf", "LwF", "Learning without forgetting"),
    "naive": ("naive", "Naive", "Sequential fine-tuning (lower bound)"),
    "nearest": ("nearest_mean_image", "NearestMeanImage", "Nearest mean image in pixel space"),
    "prototypes": ("ncm", "NCM", "Nearest class mean in a frozen feature space"),
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
    module = importlib.import_module(f"everlearn.learners.{entry.module}")
    found: type[Learner] = getattr(module, entry.class_name)
    return found


@cache
def settings_class(name: str) -> "type[Settings]":
    """The settings of a learner as a pydantic model, without image_shape and seed.

    Example:
        >>> field = settings_class("er").model_fields["memory_size"]
        >>> field.default, field.description
        (2000, 'images stored in total')
    """
    from everlearn.learners.base import CONTEXT, settings_model

    return settings_model(learner_class(name), name, CONTEXT)


def complete(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a learner, checked: the given ones, and the defaults of the others."""
    model = settings_class(name)
    if settings and not model.model_fields:
        raise BadInput(f"{name} has no settings, but {sorted(settings)[0]!r} was given; leave it out")
    return model(**settings).model_dump(mode="json")


def build(name: str, *, image_shape: tuple[int, ...], seed: int, **settings: Any) -> "Learner":
    """A new learner; settings that are not given have their defaults."""
    return learner_class(name)(image_shape=image_shape, seed=seed, **complete(name, settings))
