"""Learning without forgetting: keep saying what you would have said."""

from typing import Unpack

from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Classifier, Shared
from everlearn.learners.base.learner import Footprint, State
from everlearn.learners.base.teacher import Teacher
from everlearn.networks import BACKWARD
from everlearn.streams import TaskView

MAX_ALPHA = 1e9
MAX_TEMPERATURE = 1e3


class LwF(Classifier):
    """Answer new images, as far as old labels go, like the network of the last task answers them.

    The loss gains alpha * KL(softmax(old / temperature) || softmax(new / temperature)), over the labels that
    the old network knew; outputs of newer labels are free. The old network is a frozen copy and is counted
    as weights.

    Expect little more than `naive` in class-incremental streams: on images of new classes the old network
    has little to say about old ones. It needs tasks whose images resemble each other.

    Args:
        alpha: how much the old answers weigh.
        temperature: how much the answers are softened before they are compared.

    Example:
        >>> LwF.tiny().teacher is None
        True

    Reference: Li and Hoiem 2016, "Learning without forgetting", arXiv:1606.09282.
    """

    def __init__(self, *, alpha: float = 1.0, temperature: float = 2.0, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        check_range("alpha", alpha, 0, MAX_ALPHA)
        check_range("temperature", temperature, 1e-3, MAX_TEMPERATURE)
        self.alpha, self.temperature = alpha, temperature
        self.teacher: Teacher | None = None

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """Cross-entropy, and how far the answers are from the old ones."""
        outputs = self.outputs(images)
        loss = functional.cross_entropy(outputs, columns)
        if self.teacher is None:
            return loss
        self.flops += len(images) * self._flops_per_image / (1 + BACKWARD)
        return loss + self.alpha * distance(
            outputs[:, : self.teacher.n_labels], self.teacher(images), self.temperature
        )

    def end(self, task: TaskView) -> None:
        """The network as it is now is what the next task has to agree with."""
        self.teacher = Teacher(self.body, self.head)

    def state(self) -> State:
        """The network's state and the old network's."""
        return {**super().state(), "teacher": self.teacher and self.teacher.state()}

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        old = state["teacher"]
        self.teacher = old and Teacher.loaded(self.body, self.head, old)

    def footprint(self) -> Footprint:
        """The bytes of the network and of the old one."""
        return Footprint(weights=super().footprint().weights + (self.teacher.nbytes if self.teacher else 0))


def distance(outputs: Tensor, wanted: Tensor, temperature: float) -> Tensor:
    """KL divergence of softened answers (n, n_labels) from those wanted, mean over images."""
    return functional.kl_div(
        functional.log_softmax(outputs / temperature, 1),
        functional.softmax(wanted / temperature, 1),
        reduction="batchmean",
    )
