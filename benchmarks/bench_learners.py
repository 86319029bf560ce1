"""Images per CPU second that every learner trains on, one thread, beside bare loops and Avalanche.

`python -m benchmarks learners --before FOLDER` also measures the package in another source folder (such as
one that `git archive COMMIT src` wrote), in turn with this one. Each measurement is a process of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.table import Row

ROOT = Path(__file__).parent.parent
SIZE, BATCH, ROUNDS = 64, 64, 1
BEFORE = ", before"
"""End of the names of measurements of the other source folder."""
SECONDS = 1.0
"""CPU time of a measurement."""
PREPARE = f"""
import itertools, json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import torch
torch.set_num_threads(1)
from everlearn.streams import sprites
task = sprites(image_size={SIZE}, factor_values=4).task(0)
images = task.train.shuffled(0, 0, 0)
"""
MEASURE = f"""
def measure(step):
    seconds = []
    for number, batch in enumerate(itertools.cycle(batches)):
        start = time.process_time()
        step(batch)
        seconds.append(time.process_time() - start)
        if number >= 8 and sum(seconds[4:]) > {SECONDS}:
            break
    print(json.dumps({BATCH} / float(np.median(seconds[4:]))))
batches = [batch for batch in images.batches({BATCH}) if len(batch) == {BATCH}]
"""
OURS = """
from everlearn import learners
try:
    from everlearn.runs.memory_limits import keep_freed_memory  # as runs do
    keep_freed_memory()
except ImportError:
    pass
learner = learners.build(sys.argv[1], image_shape=task.train.images.shape[1:], seed=0)
learner.begin(task.for_learner())
measure(learner.learn)
"""
BARE = """
from torch.nn import functional
from everlearn.networks import make_backbone, to_tensor
body = make_backbone("compact", task.train.images.shape[1:], 0)
net = torch.nn.Sequential(body, torch.nn.Linear(body.n_features, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
def step(batch):
    with torch.autocast("cpu", torch.bfloat16, enabled=sys.argv[1] == "bfloat16"):
        loss = functional.cross_entropy(net(to_tensor(batch.images)), torch.from_numpy(batch.labels % 10))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
measure(step)
"""
AVALANCHE = """
from benchmarks.avalanche import import_torchvision
import_torchvision()
import avalanche.training as training
from avalanche.benchmarks.utils import as_classification_dataset
from avalanche.benchmarks import benchmark_from_datasets
from torch.utils.data import TensorDataset
from everlearn.networks import make_backbone, to_tensor
body = make_backbone("compact", task.train.images.shape[1:], 0)
net = torch.nn.Sequential(body, torch.nn.Linear(body.n_features, 10))
kind, settings = {
    "naive": ("Naive", {}), "er": ("Replay", {"mem_size": 2000}), "ewc": ("EWC", {"ewc_lambda": 1.0}),
    "si": ("SynapticIntelligence", {"si_lambda": 1.0}),
}[sys.argv[1]]
strategy = getattr(training, kind)(
    model=net, optimizer=torch.optim.Adam(net.parameters(), lr=2e-3), criterion=torch.nn.CrossEntropyLoss(),
    train_mb_size=len(batches[0]), evaluator=None, **settings)
class Labelled(TensorDataset):
    targets = images.labels % 10
data = as_classification_dataset(Labelled(to_tensor(images.images), torch.from_numpy(images.labels % 10)))
stream = benchmark_from_datasets(train=[data, data]).train_stream
strategy.train(stream[0])
start = time.process_time()
strategy.train(stream[1])
print(json.dumps(len(images) / (time.process_time() - start)))
"""


def run(*options: str) -> list[Row]:
    """Every learner; with `--before FOLDER` also of the package in another source folder."""
    from everlearn import learners

    before = options[1] if options[:1] == ("--before",) else None
    rows = [
        *_rows("bare PyTorch loop", BARE, "float32"),
        *_rows("bare PyTorch loop, bfloat16", BARE, "bfloat16"),
    ]
    for name in ("naive", "er", "ewc", "si"):
        rows += _rows(f"Avalanche, {name}", AVALANCHE, name)
    for name in learners.names():
        rows += _rows(name, OURS, name, before)
    return rows


def _rows(what: str, code: str, argument: str, before: str | None = None) -> list[Row]:
    sources = {what: str(ROOT / "src")} | ({what + BEFORE: before} if before else {})
    found: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(ROUNDS):
        for name, source in sources.items():
            speed = _speed(code, argument, source)
            if speed is not None:
                found[name].append(speed)
    return [Row(name, float(np.median(speeds)), "images/s") for name, speeds in found.items() if speeds]


def _speed(code: str, argument: str, source: str) -> float | None:
    """Images per second; None if the measurement fails, for example for a learner that did not exist."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(ROOT)]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + MEASURE + code, argument],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"{argument}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return float(json.loads(done.stdout.splitlines()[-1]))
