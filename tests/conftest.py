"""One thread of arithmetic per process: the tests themselves run side by side, and exact results need a number."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
