"""What learning costs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What was spent, and what had to be held.

    Costs add up: seconds, images and operations are sums; bytes are held at the same time, so of two
    periods the larger counts.

    Attributes:
        seconds: wall-clock time.
        images: images learned from, each as often as it was used.
        flops: estimated floating-point operations.
        weight_bytes: what the learned parameters take.
        memory_bytes: what is kept of the past.

    Example:
        >>> total = Cost(seconds=2.0, images=100, memory_bytes=512) + Cost(seconds=1.0, memory_bytes=640)
        >>> total.seconds, total.images, total.memory_bytes
        (3.0, 100, 640)
        >>> total.per_task(10).images
        10.0
    """

    seconds: float = 0.0
    images: float = 0
    flops: float = 0
    weight_bytes: int = 0
    memory_bytes: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            seconds=self.seconds + other.seconds,
            images=self.images + other.images,
            flops=self.flops + other.flops,
            weight_bytes=max(self.weight_bytes, other.weight_bytes),
            memory_bytes=max(self.memory_bytes, other.memory_bytes),
        )

    def __radd__(self, start: int) -> "Cost":
        """Let `sum` begin with its 0."""
        return self if start == 0 else NotImplemented

    @property
    def bytes(self) -> int:
        """All that is held."""
        return self.weight_bytes + self.memory_bytes

    def per_task(self, n_tasks: int) -> "Cost":
        """The mean spending on each of n tasks; what is held is held for all of them."""
        return Cost(
            seconds=self.seconds / n_tasks,
            images=self.images / n_tasks,
            flops=self.flops / n_tasks,
            weight_bytes=self.weight_bytes,
            memory_bytes=self.memory_bytes,
        )
