"""The simulated device refuses what the real ones refuse, and allows what they allow."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from everlearn.networks.simulated_device import SimulatedDevice

CUDA = torch.device("cuda", 0)


@pytest.mark.parametrize(
    "operation",
    [
        lambda gpu, cpu: gpu + cpu,
        lambda gpu, cpu: gpu.add_(cpu),
        lambda gpu, cpu: torch.cat([gpu, cpu]),
        lambda gpu, cpu: torch.stack([gpu[0], cpu[0]]),
        lambda gpu, cpu: cpu + gpu[0],
        lambda gpu, cpu: nn.functional.mse_loss(gpu, cpu),
        lambda gpu, cpu: nn.Linear(2, 2)(gpu),
        lambda gpu, cpu: cpu[gpu.long()],
        lambda gpu, cpu: gpu.__setitem__(torch.tensor([0, 1]), cpu),
        lambda gpu, cpu: torch._foreach_add_([gpu], [cpu]),
        lambda gpu, cpu: (gpu.requires_grad_().sum() * cpu).sum(),
    ],
)
def test_mixed_devices_are_refused(operation) -> None:  # type: ignore[no-untyped-def]
    with SimulatedDevice("cuda"), pytest.raises(RuntimeError, match="on the same device"):
        operation(torch.ones(2, device="cuda"), torch.ones(2))


@pytest.mark.parametrize(
    "operation",
    [
        lambda gpu, cpu: gpu * cpu[0],
        lambda gpu, cpu: gpu[cpu.long()],
        lambda gpu, cpu: gpu[np.array([1, 0])],
        lambda gpu, cpu: torch.empty_like(gpu).copy_(cpu),
        lambda gpu, cpu: torch.where(gpu > 0, gpu, cpu[0]),
        lambda gpu, cpu: cpu.to(gpu),
        lambda gpu, cpu: gpu.new_zeros(3),
        lambda gpu, cpu: nn.Parameter(gpu).detach()[None].T.contiguous(),
        lambda gpu, cpu: copy.deepcopy(nn.Parameter(gpu)),
        lambda gpu, cpu: torch.autograd.grad((x := gpu.clone().requires_grad_()).sum(), x)[0],
    ],
)
def test_results_stay_on_the_device(operation) -> None:  # type: ignore[no-untyped-def]
    with SimulatedDevice("cuda"):
        result = operation(torch.ones(2, device="cuda"), torch.ones(2))
        assert result.device == CUDA
        assert result.cpu().device.type == "cpu"


def test_gradients_and_optimizer_states_are_on_the_device() -> None:
    with SimulatedDevice("cuda"):
        net = nn.Linear(2, 1).to("cuda")
        optimizer = torch.optim.Adam(net.parameters(), fused=True)
        net(torch.ones(1, 2).to("cuda")).sum().backward()
        assert {weight.grad.device for weight in net.parameters()} == {CUDA}
        optimizer.step()
        assert {slots["exp_avg"].device for slots in optimizer.state.values()} == {CUDA}


def test_numpy_needs_the_cpu() -> None:
    with SimulatedDevice("cuda"):
        tensor = torch.ones(2, device="cuda")
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            tensor.numpy()
        with pytest.raises(TypeError, match="to numpy"):
            np.asarray(tensor)
        assert tensor.cpu().numpy().tolist() == [1, 1]


def test_mps_has_no_float64() -> None:
    with SimulatedDevice("mps"):
        tensor = torch.ones(2, device="mps")
        for make in (tensor.double, lambda: torch.zeros(2, dtype=torch.float64, device="mps")):
            with pytest.raises(TypeError, match="float64"):
                make()
        assert torch.ones(2, dtype=torch.float64).to(tensor).device.type == "mps", "converted on the way"


def test_copies_do_not_share_memory() -> None:
    with SimulatedDevice("cuda"):
        cpu = torch.zeros(2)
        gpu = cpu.to("cuda")
        cpu[0] = 1
        assert gpu.tolist() == [0, 0]
        assert gpu.to("cuda") is gpu


def test_waits_are_counted() -> None:
    with SimulatedDevice("cuda") as device:
        tensor = torch.ones(2).pin_memory().to("cuda", non_blocking=True) * 2
        assert device.n_waits == 0
        assert float(tensor[0]) == 2
        tensor.cpu()
        torch.ones(2).to("cuda")
        torch.ones(2).to("cuda", non_blocking=True)  # not from pinned memory
        assert device.n_waits == 4
