"""Outlines per second, beside the peer's `generate_shape`."""

import numpy as np

from benchmarks import peer
from benchmarks.table import Row, interleaved, ratio_row
from everlearn.shapes import ShapeFamily

BATCH, SINGLES, PEER_BATCH = 2000, 200, 5


def run() -> list[Row]:
    """Outlines in batches and one by one."""
    family, indices = ShapeFamily(), np.arange(BATCH)
    data = peer.dataset(64, 1)
    seconds = interleaved(
        {
            "peer": lambda: [data.generate_shape() for _ in range(PEER_BATCH)],
            "batch": lambda: family.outlines(indices),
            "single": lambda: [family.outline(i) for i in range(SINGLES)],
        }
    )
    theirs, batch, single = (
        seconds["peer"] / PEER_BATCH,
        seconds["batch"] / BATCH,
        seconds["single"] / SINGLES,
    )
    return [
        Row("peer generate_shape", 1 / float(np.median(theirs)), "shapes/s"),
        Row(f"ours outlines, {BATCH} at a time", 1 / float(np.median(batch)), "shapes/s"),
        ratio_row(f"ours outlines, {BATCH} at a time / peer", theirs, batch, 300),
        Row("ours outline(i), one at a time", 1 / float(np.median(single)), "shapes/s"),
        ratio_row("ours outline(i), one at a time / peer", theirs, single, 50),
    ]
