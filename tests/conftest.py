"""One thread of arithmetic per process: tests run side by side, and exact results need a fixed number."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
