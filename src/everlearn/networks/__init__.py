"""Small networks that several learners share; torch enters the house here.

Takes sizes and seeds; gives torch modules, and the few acts every learner needs: images to tensors,
weights to arrays and back, an optimiser whose state can be saved.
"""

from everlearn.networks.backbones import BACKBONES, backbone
from everlearn.networks.cut import cut
from everlearn.networks.flops import BACKWARD, flops_per_image
from everlearn.networks.head import GrowingHead
from everlearn.networks.shares import in_shares
from everlearn.networks.tensors import (
    NotFinite,
    grown,
    load_module,
    load_optimiser,
    module_state,
    n_bytes,
    optimiser_state,
    seeded,
    to_tensor,
)

__all__ = [
    "BACKBONES",
    "BACKWARD",
    "GrowingHead",
    "NotFinite",
    "backbone",
    "cut",
    "flops_per_image",
    "grown",
    "in_shares",
    "load_module",
    "load_optimiser",
    "module_state",
    "n_bytes",
    "optimiser_state",
    "seeded",
    "to_tensor",
]
