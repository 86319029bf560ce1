import pytest

from everlearn.runs.sweep import Capacity
from everlearn.runs.sweep.ray_executor import places

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("there", "each", "n"),
    [
        ({"CPU": 8, "memory": 64 * GB}, Capacity(threads=3, memory=GB), 2),
        ({"CPU": 8, "memory": 5 * GB}, Capacity(memory=2 * GB), 2),
        ({"CPU": 8, "memory": 64 * GB}, Capacity(memory=GB, gpus=0.5), 0),
        ({"CPU": 8, "memory": 64 * GB, "GPU": 1}, Capacity(memory=GB, gpus=0.1), 8),
        ({"CPU": 64, "memory": 64 * GB, "GPU": 3}, Capacity(memory=GB, gpus=0.1), 30),
        ({"memory": 64 * GB}, Capacity(memory=0), 0),
        ({}, Capacity(), 0),
    ],
)
def test_the_scarcest_decides(there: dict[str, float], each: Capacity, n: int) -> None:
    assert places({"Resources": there}, each) == n
