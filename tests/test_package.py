"""What a newcomer notices first: importing is instant, needs no torch, and does nothing."""

import json
import subprocess
import sys

import everlearn


def loaded_by(code: str) -> list[str]:
    """The modules that are loaded after some code ran in a fresh process."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(said.stdout)
    return modules


def test_importing_the_package_loads_nothing_else() -> None:
    ours = [name for name in loaded_by("import everlearn") if name.startswith("everlearn")]
    assert ours == ["everlearn"]
    assert not {"numpy", "torch", "numba", "pydantic"} & set(loaded_by("import everlearn"))


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it now fails, as where it is not installed
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


def test_the_rooms_up_to_memory_work_without_torch() -> None:
    assert "torch" not in loaded_by(WITHOUT_TORCH)


def test_public_names() -> None:
    assert everlearn.__all__ == [
        "__version__", "errors", "chance", "files", "factors", "shapes", "rendering", "streams", "memory",
        "networks", "learners", "evaluation", "runs", "reports", "papers", "studio",
    ]  # fmt: skip
    assert set(dir(everlearn)) == set(everlearn.__all__)
