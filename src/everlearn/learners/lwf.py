"""Learning without forgetting: keep saying what you would have said."""

from typing import Unpack

from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range, unknown
from everlearn.learners.base.classifier import Classifier, Shared
from everlearn.learners.base.learner import Footprint, State
from everlearn.learners.base.teacher import Teacher
from everlearn.networks import BACKWARD
from everlearn.streams import TaskView

MAX_ALPHA = 1e9
MAX_TEMPERATURE = 1e3
NEW_LABELS = ("free", "refused")
WEIGHING = ("fixed", "by-labels")


class LwF(Classifier):
    """Answer new images, as far as old labels go, like the network of the last task answers them.

    The loss gains alpha * KL(softmax(old / temperature) || softmax(new / temperature)), over the labels that
    the old network knew; outputs of newer labels are free. The old network is a frozen copy and is counted
    as weights.

    Expect little more than `naive` in class-incremental streams: on images of new classes the old network
    has little to say about old ones, and nothing keeps new labels from taking over old images. It needs
    tasks whose images resemble each other. The other two settings are how van de Ven and Tolias adapted it
    to one head for all labels, which helps somewhat.

    Args:
        alpha: how much the old answers weigh.
        temperature: how much the answers are softened before they are compared.
        new_labels: what the old answers say of labels that came later: "free" leaves them out of the
            comparison, "refused" wants them to get nothing.
        weighing: how new and old answers are balanced: "fixed" adds alpha times the old ones; "by-labels"
            gives each the share that its labels have among all, and the old ones alpha times that.

    Example:
        >>> LwF.tiny().teacher is None
        True

    References: Li and Hoiem 2016, "Learning without forgetting", arXiv:1606.09282; for one head: van de Ven
    and Tolias 2019, "Three scenarios for continual learning", arXiv:1904.07734.
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        temperature: float = 2.0,
        new_labels: str = "free",
        weighing: str = "fixed",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        check_range("alpha", alpha, 0, MAX_ALPHA)
        check_range("temperature", temperature, 1e-3, MAX_TEMPERATURE)
        if new_labels not in NEW_LABELS:
            raise unknown("new_labels", new_labels, NEW_LABELS)
        if weighing not in WEIGHING:
            raise unknown("weighing", weighing, WEIGHING)
        self.alpha, self.temperature = alpha, temperature
        self.new_labels, self.weighing = new_labels, weighing
        self.teacher: Teacher | None = None

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """Cross-entropy, and how far the answers are from the old ones."""
        outputs = self.outputs(images)
        loss = functional.cross_entropy(outputs, columns)
        if self.teacher is None:
            return loss
        self.flops += len(images) * self._flops_per_image / (1 + BACKWARD)
        n_old, n_labels = self.teacher.n_labels, outputs.shape[1]
        compared = outputs if self.new_labels == "refused" else outputs[:, :n_old]
        apart = self.alpha * distance(compared, self.teacher(images), self.temperature)
        if self.weighing == "fixed":
            return loss + apart
        return (1 - n_old / n_labels) * loss + n_old / n_labels * apart

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
    """KL divergence of softened answers from those wanted, mean over images.

    Where there are outputs for more labels than wanted, those labels are wanted to get nothing.

    Example:
        >>> import torch
        >>> distance(torch.zeros(1, 4), torch.zeros(1, 2), temperature=2.0).exp()
        tensor(2.)
    """
    said = functional.log_softmax(outputs / temperature, 1)
    asked = functional.softmax(wanted / temperature, 1)
    return functional.kl_div(said[:, : wanted.shape[1]], asked, reduction="batchmean")
