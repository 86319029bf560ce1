"""One torch thread per process, because exact results need a fixed number; fixed Hypothesis examples."""

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

LONGEST_FILES = (
    "tests/cli/test_sweep_on_ray.py",
    "tests/golden/test_golden_runs.py",
    "tests/crash/test_kills.py",
    "tests/outside/test_outside.py",
    "tests/studio/test_server.py",
    "tests/runs/test_distributed.py",
    "tests/studio/test_pages.py",
    "tests/runs/sweep/test_scheduler.py",
    "tests/streams/exports/test_staging.py",
    "tests/contracts/test_learners.py",
    "tests/contracts/test_devices.py",
    "tests/contracts/test_streams.py",
    "tests/studio/test_untrusted_text.py",
    "tests/studio/test_accessibility.py",
    "tests/studio/test_processes.py",
    "tests/crash/test_crash_points.py",
    "tests/test_api.py",
    "tests/test_readme.py",
)
"""They run first: a worker runs one file at a time, and both should end at the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {file: number for number, file in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))
