import sys

import numpy as np
import pytest
import torch

from everlearn.errors import BadInput
from everlearn.streams.adapters import to_avalanche
from tests.streams.exports.tiny_stream import TinyStream

pytestmark = pytest.mark.filterwarnings("ignore")  # avalanche 0.6 beside newer libraries


def test_experiences_are_lazy(avalanche):
    stream = TinyStream(n_tasks=None)
    benchmark = to_avalanche(stream, 500)
    assert stream.drawn == []
    assert (len(benchmark.train_stream), benchmark.n_classes) == (500, 1000)
    experience = benchmark.test_stream[321]
    assert set(stream.drawn) == {321}
    assert (experience.current_experience, experience.task_label) == (321, 0)
    assert experience.origin_stream.benchmark is benchmark


def test_experience_contains_its_task(avalanche):
    stream = TinyStream(rgb=True, provides_task_ids=True)
    experience = to_avalanche(stream).train_stream[2]
    train = stream.task(2).train
    assert len(experience.dataset) == len(train)
    image, label, task = experience.dataset[4]
    np.testing.assert_array_equal((image * 255).round().numpy(), train.images[4].transpose(2, 0, 1))
    assert (int(label), task) == (train.labels[4], 2)
    assert list(experience.dataset.targets) == train.labels.tolist()
    assert experience.classes_in_this_experience == [4, 5]
    assert experience.previous_classes == [0, 1, 2, 3]
    assert experience.classes_seen_so_far == [0, 1, 2, 3, 4, 5]
    assert experience.future_classes == [6, 7]


def test_streams_can_be_sliced_and_iterated_twice(avalanche):
    benchmark = to_avalanche(TinyStream())
    for _ in range(2):
        assert [e.current_experience for e in benchmark.valid_stream[1:3]] == [1, 2]
    assert [len(e.dataset) for e in benchmark.held_out_stream] == [3] * 4


def test_avalanche_strategy_trains(avalanche):
    from avalanche.evaluation.metrics import accuracy_metrics
    from avalanche.models import IncrementalClassifier
    from avalanche.training.plugins import EvaluationPlugin
    from avalanche.training.supervised import Naive

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = torch.nn.Linear(256, 32)
            self.head = IncrementalClassifier(32, 2)

        def forward(self, images):
            return self.head(torch.relu(self.hidden(images.flatten(1) - 0.5)))

    torch.manual_seed(0)
    model = Net()
    strategy = Naive(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), 0.01),
        train_mb_size=6,
        train_epochs=30,
        evaluator=EvaluationPlugin(accuracy_metrics(epoch=True, experience=True), loggers=[]),
    )
    benchmark = to_avalanche(TinyStream(), 2)
    for experience in benchmark.train_stream:
        strategy.train(experience)
        last = strategy.evaluator.get_last_metrics()
        assert last["Top1_Acc_Epoch/train_phase/train_stream/Task000"] == 1.0
    assert model.head.classifier.out_features == 4
    scores = strategy.eval(benchmark.test_stream)
    assert sum("Top1_Acc_Exp" in name for name in scores) == 2


def test_missing_avalanche_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "avalanche", None)
    with pytest.raises(BadInput, match=r"needs avalanche, .*everlearn\[avalanche\]"):
        to_avalanche(TinyStream(), 2)


def test_invalid_arguments_are_refused(avalanche):
    with pytest.raises(BadInput, match="is infinite"):
        to_avalanche(TinyStream(n_tasks=None))
    with pytest.raises(BadInput, match="no tasks are given"):
        to_avalanche(TinyStream(), 0)
    with pytest.raises(BadInput, match="cannot take -1 tasks"):
        to_avalanche(TinyStream(), -1)
