"""Networks and helpers for torch: backbones, layers, autoencoders, tensors and weights.

They convert images to tensors, and weights and optimizer states to arrays and back.
"""

from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn.networks.backbones import BACKBONES, Backbone, IncrementalNet, make_backbone, split_layers
    from everlearn.networks.distributed import data_parallel
    from everlearn.networks.layers import GrowingHead
    from everlearn.networks.tensors import (
        BACKWARD,
        EVAL_BATCH_SIZE,
        NotFinite,
        flops_per_image,
        load_module,
        load_optimizer,
        map_batches,
        minimize,
        module_state,
        n_bytes,
        optimizer_state,
        pad_to,
        seeded,
        to_tensor,
        transfer_optimizer_state,
    )

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
