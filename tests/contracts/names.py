"""Names of learners for contracts."""

from typing import Any

import pytest

from everlearn import learners

VARIANTS = (
    "cls-er", "coda-prompt", "der", "dualprompt", "er-ace", "exemplar-replay", "fecam", "gdumb", "hpcr", "l2",
    "merge", "mir", "onpro", "packnet", "prd", "ranpac", "refresh", "scr", "simplecil", "uer", "wa",
)  # fmt: skip
"""Learners that are made of the same parts as others; their contracts are checked by `make more`."""


def some_learners() -> list[Any]:
    """All learners; variants are marked `more`."""
    return [
        pytest.param(name, marks=[pytest.mark.more] if name in VARIANTS else []) for name in learners.names()
    ]
