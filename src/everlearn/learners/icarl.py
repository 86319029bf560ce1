"""iCaRL: features that are kept from drifting, exemplars that stand for their class, nearest means."""

import math
from typing import Unpack

import numpy as np
from torch import Tensor
from torch.nn import functional

from everlearn.errors import check_range
from everlearn.learners.base.classifier import Shared
from everlearn.learners.base.learner import Footprint, Losses, State
from everlearn.learners.base.rehearsal import Rehearsal, mixed, plain
from everlearn.learners.base.teacher import Teacher
from everlearn.memory import Herding
from everlearn.networks import BACKWARD
from everlearn.rng import FloatArray, IntArray
from everlearn.streams import Batch, TaskView
from everlearn.streams.stream import Images

MAX_TEMPERATURE = 1e3


class ICaRL(Rehearsal):
    """Answer with the class whose exemplars are nearest on average, in features that exemplars help to keep.

    Each output is a yes or no of its own (binary cross-entropy, summed over labels): for labels of earlier
    tasks the answer wanted is that of the network after the last task, for new labels the truth. A batch is
    learned with its share of the exemplars, so that a pass over the task is one over them too. After a task,
    herding chooses exemplars whose mean feature follows that of their class, and the answer to an image is
    the class whose mean of exemplar features, seen with the network as it is now, is nearest. Features are of
    length 1.

    Made for streams in which classes come once: a class that comes again is chosen from anew, but learned
    from the old network only. It answers with no class before its task has ended. Expect it to fade as the
    share of each class shrinks.

    Args:
        memory_size: exemplars kept in all; classes share them evenly.
        temperature: how much the old network's answers are softened before they are wanted. 1 is the paper's;
            van de Ven and Tolias take 2, which leaves new classes more room.

    Example:
        >>> ICaRL.tiny().memory
        <Herding: 0 of at most 2000 images, 0 seen>

    References: Rebuffi et al. 2017, "iCaRL: incremental classifier and representation learning",
    arXiv:1611.07725; softened: van de Ven and Tolias 2019, arXiv:1904.07734.
    """

    def __init__(
        self, *, memory_size: int = 2000, temperature: float = 1.0, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(**shared)
        check_range("temperature", temperature, 1e-3, MAX_TEMPERATURE)
        self.temperature = temperature
        self.memory = Herding(capacity=memory_size, seed=self.seed)
        self.teacher: Teacher | None = None
        self.exemplars_per_image = 0.0
        self._means: FloatArray | None = None

    def begin(self, task: TaskView) -> None:
        """See how many exemplars have to go with each image of the task."""
        self.exemplars_per_image = len(self.memory) / max(1, len(task.train))

    def learn(self, batch: Batch) -> Losses:
        """One step on new images and their share of exemplars."""
        self._means = None
        old = self.memory.sample(math.ceil(len(batch) * self.exemplars_per_image))
        return {"loss": self.step(mixed(batch, old))}

    def loss(self, images: Tensor, columns: Tensor) -> Tensor:
        """Yes or no for every label: the truth for new ones, what the old network says for old ones."""
        outputs = self.outputs(images)
        wanted = functional.one_hot(columns, outputs.shape[1]).float()
        if self.teacher is not None:
            self.flops += len(images) * self._flops_per_image / (1 + BACKWARD)
            wanted[:, : self.teacher.n_labels] = (self.teacher(images) / self.temperature).sigmoid()
        summed = functional.binary_cross_entropy_with_logits(outputs, wanted, reduction="sum")
        return summed / len(images)

    def end(self, task: TaskView) -> None:
        """Choose exemplars; the network as it is now is what the next task has to agree with."""
        self.memory.add(plain(task.train), features=self.directions(task.train.images))
        self.teacher = Teacher(self.body, self.head)
        self._means = None

    def predict(self, images: Images, tasks: IntArray | None = None) -> IntArray:
        """The class with the nearest mean."""
        if not len(self.memory):
            return np.full(len(images), -1, np.int64)
        likeness = self.directions(images) @ self._class_means().T
        return np.asarray(np.array(self.memory.labels(), np.int64)[likeness.argmax(1)])

    def directions(self, images: Images) -> FloatArray:
        """Features of images, of length 1."""
        return _of_length_one(self.features(images))

    def state(self) -> State:
        """The network's state, the exemplars, the old network."""
        return {
            **super().state(),
            "teacher": self.teacher and self.teacher.state(),
            "exemplars_per_image": self.exemplars_per_image,
        }

    def load(self, state: State) -> None:
        """Go on from a saved state."""
        super().load(state)
        old = state["teacher"]
        self.teacher = old and Teacher.loaded(self.body, self.head, old)
        self.exemplars_per_image, self._means = state["exemplars_per_image"], None

    def footprint(self) -> Footprint:
        """The bytes of the network and of the old one; and of the exemplars."""
        own = super().footprint()
        return Footprint(own.weights + (self.teacher.nbytes if self.teacher else 0), own.memory)

    def _class_means(self) -> FloatArray:
        """The mean of each class that has exemplars; kept until something is learned."""
        if self._means is None:
            means = [self.directions(self.memory.of(k).images).mean(0) for k in self.memory.labels()]
            self._means = _of_length_one(np.stack(means))
        return self._means


def _of_length_one(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))
