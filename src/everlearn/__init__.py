"""A continual-learning library and benchmark.

`run` trains a learner on a stream and gives a `Record`; `resume` continues it; `compare` makes a table of
records. Packages, in the order of the data flow:

* ``factors``, ``shapes``, ``rendering``, ``streams``: ground-truth factors, outlines, pixels, tasks;
* ``memory``, ``networks``, ``learners``: replay buffers and exemplars, neural networks, methods;
* ``recognition``: things recognised from one image each (`Recogniser`);
* ``evaluation``, ``runs``, ``reports``: metrics and protocols, training loop and records, tables and figures;
* ``papers``: reproduced figures; ``studio``: web interface; ``plotting``: figure styles and axes;
* ``testing``: checks of learners and streams of your own.

Importing this package imports none of them; a name is imported on first use.
"""

import os
from typing import TYPE_CHECKING

from everlearn.lazy import lazy_package

if TYPE_CHECKING:
    from everlearn import (
        errors,
        evaluation,
        factors,
        files,
        learners,
        memory,
        networks,
        papers,
        plotting,
        recognition,
        registry,
        rendering,
        reports,
        rng,
        runs,
        serialization,
        settings,
        shapes,
        streams,
        studio,
        testing,
    )
    from everlearn.api import Record, compare, resume, run
    from everlearn.errors import BadInput
    from everlearn.learners import Learner, setting
    from everlearn.recognition import Answer, Recogniser
    from everlearn.runs import RunSpec
    from everlearn.streams import Batch, Stream, Task

__version__ = "0.1.0"

# Read when torch and numpy are loaded: their threads sleep while they wait, instead of spinning.
_SLEEP = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "OPENBLAS_THREAD_TIMEOUT": "4"}
for _name, _value in _SLEEP.items():
    os.environ.setdefault(_name, _value)

# mypy: implicit-reexport
__getattr__, __dir__, __all__ = lazy_package(__name__)
__all__.append("__version__")
