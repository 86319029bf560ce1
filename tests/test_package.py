"""Importing the package is fast, needs no torch and has no side effects."""

import json
import subprocess
import sys

import everlearn


def loaded_by(code: str) -> list[str]:
    """The modules loaded after running code in a new process."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stdout)
    return modules


def test_import_loads_no_other_package() -> None:
    ours = [name for name in loaded_by("import everlearn") if name.startswith("everlearn")]
    assert ours == ["everlearn", "everlearn.lazy"]
    assert not {"numpy", "torch", "numba", "pydantic"} & set(loaded_by("import everlearn"))


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it fails, as if it were not installed
import everlearn
from everlearn.streams import sprites
from everlearn.memory import ExemplarMemory, Reservoir
task = sprites(image_size=16, factor_values=2).task(3)
assert len(task.train) and len(task.exemplars) == 10
reservoir = Reservoir(capacity=5)
reservoir.add(task.train)
assert len(reservoir) == 5
del sys.modules["torch"]
"""


def test_packages_up_to_memory_work_without_torch() -> None:
    assert "torch" not in loaded_by(WITHOUT_TORCH)


def test_public_names() -> None:
    assert set(everlearn.__all__) == {
        "__version__", "errors", "rng", "files", "settings", "serialization", "plotting", "factors",
        "shapes", "rendering", "streams", "memory", "networks", "learners", "evaluation", "runs",
        "reports", "papers", "studio", "registry", "testing", "recognition", "Recogniser", "Answer",
        "run", "resume", "compare", "Record", "RunSpec", "Learner", "setting", "Stream", "Task", "Batch",
        "BadInput",
    }  # fmt: skip
    assert set(dir(everlearn)) == set(everlearn.__all__)
    assert all(getattr(everlearn, name).__doc__ for name in everlearn.__all__)
