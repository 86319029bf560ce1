import pytest

from everlearn.errors import BadInput
from everlearn.runs.sweep.ray_executor import check_address


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "head.example:1", "some_host:65535"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize("nothing", [None, "", "auto"])
def test_nothing_means_the_cluster_of_this_machine(nothing: str | None) -> None:
    assert check_address(nothing) is None


@pytest.mark.parametrize(
    "address",
    [
        "nonsense",
        "host:",
        ":6379",
        "host:0",
        "host:70000",
        "ray://host:10001",
        "a b:1",
        "host:1\n",
        "host:１",
    ],
)
def test_anything_else_is_refused(address: str) -> None:
    with pytest.raises(BadInput, match="is not one of a Ray cluster; write host:port"):
        check_address(address)
