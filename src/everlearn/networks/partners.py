"""The processes that play one run together, and the few words they say to each other.

Everybody says the same words in the same order, or all of them wait. Alone, nothing is said.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from everlearn.errors import BadInput

FAREWELL = -1


class PartnerLost(BadInput):
    """Another process of the run does not answer any more."""


class Dismissed(Exception):
    """The first process needs us no longer."""


def n_partners() -> int:
    """How many processes play together, this one among them.

    Example:
        >>> n_partners()
        1
    """
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def share(n: int) -> slice:
    """Which of n rows are this process's to compute: about as many as anybody's.

    Example:
        >>> share(5)
        slice(0, 5, None)
    """
    rank = dist.get_rank() if n_partners() > 1 else 0
    return slice(n * rank // n_partners(), n * (rank + 1) // n_partners())


def gathered(own: Tensor, n: int) -> Tensor:
    """All n rows, of which every process brings those that `share` says."""
    rows = own.new_zeros(n, *own.shape[1:])
    rows[share(n)] = own
    return _added(rows)


def summed(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The sums of everybody's tensors; sent as one, since each message takes its time."""
    flat = _added(torch.cat([tensor.flatten() for tensor in tensors]))
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def said(number: int, other: int = 0) -> list[tuple[int, int]]:
    """What everybody says, two whole numbers below 2^63, in the order of the processes."""
    own = torch.tensor([number, other], dtype=torch.int64)
    everybody = [torch.empty_like(own) for _ in range(n_partners())]
    with _told_of_loss():
        dist.all_gather(everybody, own)
    pairs = [(int(first), int(second)) for first, second in everybody]
    if pairs[0][0] == FAREWELL != number:
        raise Dismissed
    return pairs


def handed_out(data: bytes) -> bytes:
    """The bytes that the first process has; the others bring none."""
    size, _ = max(said(len(data)))
    sent = torch.frombuffer(bytearray(data.ljust(size)), dtype=torch.uint8)
    with _told_of_loss():
        dist.broadcast(sent, src=0)
    return sent.numpy().tobytes()


def dismiss() -> None:
    """Let the others go, whatever they expect to hear; for the first process."""
    said(FAREWELL)


def _added(tensor: Tensor) -> Tensor:
    with _told_of_loss():
        dist.all_reduce(tensor)
    return tensor


@contextmanager
def _told_of_loss() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise PartnerLost("another process of this run is gone, or cannot be reached") from error
