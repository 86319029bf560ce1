"""One torch thread per process: tests run in parallel, and exact results need a fixed number."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
