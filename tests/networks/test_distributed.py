import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import nn

from everlearn.errors import BadInput
from everlearn.networks import data_parallel
from everlearn.networks.distributed import own_rows
from everlearn.runs.distributed import RankInfo, joined_group, open_store

from . import data_parallel_nets

Gaps = dict[tuple[str, int], float]


@pytest.fixture(scope="module")
def gaps() -> Iterator[Gaps]:
    """Measured by two processes; this one is in the process group until the tests are over."""
    listener = socket.create_server(("127.0.0.1", 0))
    first = RankInfo(
        rank=0,
        world_size=2,
        local_rank=0,
        local_world_size=2,
        host="127.0.0.1",
        port=listener.getsockname()[1],
    )
    other = replace(first, rank=1, local_rank=1)
    command = [sys.executable, "-m", "tests.networks.data_parallel_nets"]
    with subprocess.Popen(command, env={**data_parallel_nets.ENVIRONMENT, **other.environment()}) as process:
        with joined_group(first, open_store(first, listener.detach())):
            yield data_parallel_nets.gaps()
        assert process.wait(60) == 0


@pytest.mark.parametrize("n", data_parallel_nets.N_IMAGES)
@pytest.mark.parametrize("name", data_parallel_nets.BACKBONES)
def test_data_parallel_equals_one_process(gaps: Gaps, name: str, n: int) -> None:
    assert gaps.get((name, n), 0.0) < 1e-9


def test_own_rows(gaps: Gaps) -> None:
    assert [own_rows(n) for n in (2, 3, 8)] == [slice(0, 1), slice(0, 1), slice(0, 4)]


def test_data_parallel_keeps_class_and_names(gaps: Gaps) -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    names = list(net.state_dict())
    assert isinstance(data_parallel(net), nn.Sequential)
    assert list(net.state_dict()) == names


def test_other_layers_with_statistics_are_refused(gaps: Gaps) -> None:
    with pytest.raises(
        BadInput, match="InstanceNorm1d, whose statistics cannot be computed by several processes"
    ):
        data_parallel(nn.InstanceNorm1d(3, track_running_stats=True))


def test_gradients_of_images_are_refused(gaps: Gaps) -> None:
    with pytest.raises(TypeError, match="no gradients of its images"):
        data_parallel(nn.Linear(2, 3))(torch.zeros(1, 2, requires_grad=True))
