"""A source's pictures in a scenario's order."""

from dataclasses import replace

import numpy as np

from everlearn.chance import IntArray
from everlearn.errors import BadInput, check_range
from everlearn.factors import Factors
from everlearn.streams.batch import Batch
from everlearn.streams.probe import probe_rows
from everlearn.streams.scenarios import OrderedSettings, Rows, Scenario
from everlearn.streams.stream import Stream
from everlearn.streams.task import Split, Task


class ArrangedStream(Stream):
    """What a source shows, in the order that a scenario says.

    Args:
        spec: the settings that made it.
        scenario: the order, over the source.
        version: raised by any change that moves a pixel or a split.
    """

    def __init__(self, *, spec: OrderedSettings, scenario: Scenario, version: int = 1) -> None:
        self.spec, self.source = spec, scenario.source
        self.scenario, self._labelling = scenario, scenario.labelling
        self.id = f"{spec.kind}/{spec.title}-v{version}"
        there_are = scenario.n_tasks
        if spec.n_tasks is not None and there_are is not None and spec.n_tasks > there_are:
            raise BadInput(f"n_tasks is {spec.n_tasks}, but {self.id} has only {there_are}")
        self.n_tasks = spec.n_tasks or there_are
        self.image_shape, self.gives_tasks = self.source.image_shape, self._labelling.tells_task
        self.labels_return = scenario.classes_return or scenario.labelling.modulus is not None

    def probe(self, n_tasks: int, size: int = 1000, seed: int = 0) -> Batch:
        """At most `size` test images spread evenly over all classes of the first `n_tasks` tasks."""
        self._check_number(n_tasks - 1)
        check_range("size", size, 1, 10**9)
        rows = probe_rows(self.source, self.scenario.seen(n_tasks), size=size, seed=seed)
        return replace(self._draw(rows), tasks=self.scenario.home_task(rows.classes))

    def _task(self, k: int) -> Task:
        classes = self.scenario.classes(k)
        # Where two classes share a label, the exemplar is of the one the task is tested on.
        labels, first = np.unique(self._labelling.labels(classes), return_index=True)
        return Task(
            k,
            tuple(labels.tolist()),
            draw=lambda split: self._split(k, split),
            draw_exemplars=lambda: self._exemplars(classes[first]),
            ordered=self.scenario.ordered,
            name=self.scenario.name(k),
        )

    def _split(self, k: int, split: Split) -> Batch:
        return self._draw(self.scenario.rows(k, split))

    def _draw(self, rows: Rows) -> Batch:
        images, factors = self.source.draw(rows.classes, rows.pictures)
        return Batch(images, self._labelling.labels(rows.classes), factors, self._tasks(rows.classes))

    def _exemplars(self, classes: IntArray) -> Batch:
        images = self.source.exemplars(classes)
        if images is None:
            return self._draw(Rows(classes[:0], classes[:0]))
        factors = Factors.canonical(len(classes))
        return Batch(images, self._labelling.labels(classes), factors, self._tasks(classes))

    def _tasks(self, classes: IntArray) -> IntArray | None:
        return self.scenario.home_task(classes) if self._labelling.tells_task else None
