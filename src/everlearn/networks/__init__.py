"""Small networks that several learners share; torch enters the house here.

Takes sizes and seeds; gives torch modules, and the few acts every learner needs: images to tensors,
weights to arrays and back, an optimiser whose state can be saved.
"""

from everlearn.networks.backbones import BACKBONES, make_backbone
from everlearn.networks.cut import cut
from everlearn.networks.flops import BACKWARD, flops_per_image
from everlearn.networks.head import GrowingHead, IncrementalNet
from everlearn.networks.shares import data_parallel
from everlearn.networks.tensors import (
    EVAL_BATCH_SIZE,
    NotFinite,
    load_module,
    load_optimizer,
    map_batches,
    module_state,
    n_bytes,
    optimizer_state,
    pad_to,
    seeded,
    to_tensor,
    transfer_optimizer_state,
)

__all__ = [
    "BACKBONES",
    "BACKWARD",
    "EVAL_BATCH_SIZE",
    "GrowingHead",
    "IncrementalNet",
    "NotFinite",
    "cut",
    "data_parallel",
    "flops_per_image",
    "load_module",
    "load_optimizer",
    "make_backbone",
    "map_batches",
    "module_state",
    "n_bytes",
    "optimizer_state",
    "pad_to",
    "seeded",
    "to_tensor",
    "transfer_optimizer_state",
]
