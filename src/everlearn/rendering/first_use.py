"""Compilation at first use: shapes in this process, the renderer in another one at the same time."""

import contextlib
import subprocess
import sys
import warnings
from functools import lru_cache

import numpy as np

from everlearn.errors import Notice
from everlearn.factors import Factors
from everlearn.rendering.render import available_cpus, is_renderer_compiled, render
from everlearn.shapes import Outlines, ShapeFamily

MESSAGE = "compiling the renderer, which takes seconds and is needed once per machine"


@lru_cache(maxsize=2)
def compile_at_first_use(rgb: bool) -> None:
    """Compile shapes and renderer in parallel, after a warning, unless their machine code is on disk."""
    if is_renderer_compiled(rgb):
        return
    warnings.warn(MESSAGE, Notice, stacklevel=2)
    if available_cpus() > 1:
        code = f"from {__name__} import compile_renderer; compile_renderer({rgb})"
        # Without the other process, this one compiles the renderer when it needs it.
        with contextlib.suppress(OSError), subprocess.Popen([sys.executable, "-c", code]):  # noqa: S603
            ShapeFamily().outline(0)


def compile_renderer(rgb: bool) -> None:
    """Compile the renderer, by rendering an outline that needs no shape family."""
    render(Outlines(np.zeros((1, 1, 2, 4)), np.ones(1, np.int64)), Factors(), rgb=rgb)
