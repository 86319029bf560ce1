"""Learners: one module per method, all with the same interface.

A learner takes batches and task views and gives predictions; its state can be saved at any time. Classes are
imported when they are first used: `from everlearn.learners import ER`. Names and descriptions need no torch.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package
from everlearn.learners.registry import (
    LEARNERS,
    REGISTRY,
    as_written,
    build,
    complete,
    entry,
    learner_class,
    names,
    settings_class,
    written,
)

if TYPE_CHECKING:
    from everlearn.learners.agem import AGEM
    from everlearn.learners.base import Learner, Losses, Setting, setting
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
    from everlearn.learners.cls_er import CLSER
    from everlearn.learners.coda_prompt import CODAPrompt
    from everlearn.learners.contrastive import Contrastive
    from everlearn.learners.cwr import AR1, CWRStar
    from everlearn.learners.dcl import DCL
    from everlearn.learners.dcl_features import DCLFeatures
    from everlearn.learners.dcl_paper import DCLPaper
    from everlearn.learners.der import DER, DERPlusPlus
    from everlearn.learners.dgr import DGR
    from everlearn.learners.dualprompt import DualPrompt
    from everlearn.learners.er import ER
    from everlearn.learners.er_ace import ERACE
    from everlearn.learners.ewc import EWC
    from everlearn.learners.exemplar_replay import ExemplarReplay
    from everlearn.learners.fecam import FeCAM
    from everlearn.learners.gdumb import GDumb
    from everlearn.learners.gnr.learner import GNR
    from everlearn.learners.hpcr import HPCR
    from everlearn.learners.icarl import ICaRL
    from everlearn.learners.joint import CumulativeBudget, Joint
    from everlearn.learners.l2 import L2
    from everlearn.learners.l2p import L2P
    from everlearn.learners.lwf import LwF
    from everlearn.learners.merge import Merge
    from everlearn.learners.mir import MIR
    from everlearn.learners.naive import Naive
    from everlearn.learners.ncm import NCM
    from everlearn.learners.nearest_mean_image import NearestMeanImage
    from everlearn.learners.onpro import OnPro
    from everlearn.learners.packnet import PackNet
    from everlearn.learners.prd import PRD
    from everlearn.learners.ranpac import RanPAC
    from everlearn.learners.refresh import Refresh, Refreshing
    from everlearn.learners.scr import SCR
    from everlearn.learners.si import SI
    from everlearn.learners.simplecil import SimpleCIL
    from everlearn.learners.slda import SLDA
    from everlearn.learners.stateful import Footprint, State
    from everlearn.learners.uer import UER
    from everlearn.learners.vase.cci_vae import CCIVAE
    from everlearn.learners.vase.learner import VASE
    from everlearn.learners.wa import WA

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
