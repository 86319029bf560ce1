"""Learners: one module per method, all with the same interface.

A learner takes batches and task views and gives predictions; its state can be saved at any time. Classes are
imported when they are first used: `from everlearn.learners import ER`. Names and descriptions need no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from everlearn.learners.registry import (
    LEARNERS,
    build,
    complete,
    description,
    learner_class,
    names,
    settings_class,
)

if TYPE_CHECKING:
    from everlearn.learners.agem import AGEM
    from everlearn.learners.base import Footprint, Learner, Losses, Setting, State, setting
    from everlearn.learners.capabilities import (
        Decodes,
        EditsMemory,
        Encodes,
        EnvironmentInfo,
        EstimatesFactors,
        Generates,
        HasPosterior,
        InfersEnvironment,
        MatchesExemplars,
        Rejects,
    )
    from everlearn.learners.classifier import Classifier
    from everlearn.learners.contrastive import Contrastive
    from everlearn.learners.cwr import AR1, CWRStar
    from everlearn.learners.dcl import DCL
    from everlearn.learners.dcl_paper import DCLPaper
    from everlearn.learners.der import DER, DERPlusPlus
    from everlearn.learners.er import ER
    from everlearn.learners.ewc import EWC
    from everlearn.learners.gdumb import GDumb
    from everlearn.learners.gnr.learner import GNR
    from everlearn.learners.icarl import ICaRL
    from everlearn.learners.joint import CumulativeBudget, Joint
    from everlearn.learners.l2 import L2
    from everlearn.learners.l2p import L2P
    from everlearn.learners.lwf import LwF
    from everlearn.learners.naive import Naive
    from everlearn.learners.ncm import NCM
    from everlearn.learners.nearest_mean_image import NearestMeanImage
    from everlearn.learners.si import SI
    from everlearn.learners.slda import SLDA
    from everlearn.learners.vase.cci_vae import CCIVAE
    from everlearn.learners.vase.learner import VASE

__all__ = [
    "AGEM",
    "AR1",
    "CCIVAE",
    "DCL",
    "DER",
    "ER",
    "EWC",
    "GNR",
    "L2",
    "L2P",
    "LEARNERS",
    "NCM",
    "SI",
    "SLDA",
    "VASE",
    "CWRStar",
    "Classifier",
    "Contrastive",
    "CumulativeBudget",
    "DCLPaper",
    "DERPlusPlus",
    "Decodes",
    "EditsMemory",
    "Encodes",
    "EnvironmentInfo",
    "EstimatesFactors",
    "Footprint",
    "GDumb",
    "Generates",
    "HasPosterior",
    "ICaRL",
    "InfersEnvironment",
    "Joint",
    "Learner",
    "Losses",
    "LwF",
    "MatchesExemplars",
    "Naive",
    "NearestMeanImage",
    "Rejects",
    "Setting",
    "State",
    "build",
    "complete",
    "description",
    "learner_class",
    "names",
    "setting",
    "settings_class",
]

_MODULES = dict.fromkeys(__all__, "capabilities")
_MODULES |= dict.fromkeys(("Footprint", "Learner", "Losses", "Setting", "State", "setting"), "base")
_MODULES |= {entry.class_name: entry.module for entry in LEARNERS.values()} | {"Classifier": "classifier"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'everlearn.learners' has no attribute {name!r}")
    return getattr(importlib.import_module(f"everlearn.learners.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
