"""The Ray executor without a cluster; tests/cli/test_sweep_on_ray.py uses a real one."""

import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep import Capacity
from everlearn.runs.sweep.ray_executor import check_address, n_slots

GB = 1_000_000_000
INVALID = [
    "nonsense",
    "host:",
    ":6379",
    "host:0",
    "host:70000",
    "ray://host:1",
    "a b:1",
    "host:1\n",
    "host:１",
]


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "head.example:1", "some_host:65535"])
def test_address_is_host_and_port(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize("address", [None, "", "auto"])
def test_default_address_is_the_cluster_of_this_machine(address: str | None) -> None:
    assert check_address(address) is None


@pytest.mark.parametrize("address", INVALID)
def test_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(BadInput, match="is not an address of a Ray cluster; write host:port"):
        check_address(address)


@pytest.mark.parametrize(
    ("available", "capacity", "n"),
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
def test_scarcest_resource_limits_slots(available: dict[str, float], capacity: Capacity, n: int) -> None:
    assert n_slots({"Resources": available}, capacity) == n
