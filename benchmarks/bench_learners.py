"""Images per CPU second that every learner trains on, one thread, beside bare loops, Avalanche and Mammoth.

`python -m benchmarks learners --before FOLDER` also measures the package in another source folder (such as
one that `git archive COMMIT src` wrote), in another process at the same time. With `--mammoth FOLDER` it
measures `er` of a checkout of github.com/aimagelab/mammoth, which needs kornia and timm.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.table import Row

ROOT = Path(__file__).parent.parent
SIZE, BATCH = 64, 64
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
    return {BATCH} / float(np.median(seconds[4:]))
def report(what, function, *arguments):
    try:
        print(json.dumps([what, function(*arguments)]), flush=True)
    except Exception as error:
        print(what, error, file=sys.stderr)
batches = [batch for batch in images.batches({BATCH}) if len(batch) == {BATCH}]
"""
OURS = """
from everlearn import learners
try:
    from everlearn.runs.memory_limits import keep_freed_memory  # as runs do
    keep_freed_memory()
except ImportError:
    pass
def speed(name):
    learner = learners.build(name, image_shape=task.train.images.shape[1:], seed=0)
    learner.begin(task.for_learner())
    return measure(learner.learn)
for name in sys.argv[1:]:
    report(name, speed, name)
"""
BARE = """
from torch.nn import functional
from everlearn.networks import make_backbone, to_tensor
def speed(in_bfloat16):
    body = make_backbone("compact", task.train.images.shape[1:], 0)
    net = torch.nn.Sequential(body, torch.nn.Linear(body.n_features, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    def step(batch):
        with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16):
            loss = functional.cross_entropy(net(to_tensor(batch.images)), torch.from_numpy(batch.labels % 10))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return measure(step)
report("bare PyTorch loop", speed, False)
report("bare PyTorch loop, bfloat16", speed, True)
"""
AVALANCHE = """
from benchmarks.avalanche import import_torchvision
import_torchvision()
import avalanche.training as training
from avalanche.benchmarks.utils import as_classification_dataset
from avalanche.benchmarks import benchmark_from_datasets
from torch.utils.data import TensorDataset
from everlearn.networks import make_backbone, to_tensor
class Labelled(TensorDataset):
    targets = images.labels % 10
data = as_classification_dataset(Labelled(to_tensor(images.images), torch.from_numpy(images.labels % 10)))
stream = benchmark_from_datasets(train=[data, data]).train_stream
def speed(kind, **settings):
    body = make_backbone("compact", task.train.images.shape[1:], 0)
    net = torch.nn.Sequential(body, torch.nn.Linear(body.n_features, 10))
    optimizer, loss = torch.optim.Adam(net.parameters(), lr=2e-3), torch.nn.CrossEntropyLoss()
    strategy = getattr(training, kind)(
        model=net, optimizer=optimizer, criterion=loss, train_mb_size=64, evaluator=None, **settings)
    strategy.train(stream[0])
    start = time.process_time()
    strategy.train(stream[1])
    return len(images) / (time.process_time() - start)
report("Avalanche, naive", speed, "Naive")
report("Avalanche, er", lambda: speed("Replay", mem_size=2000))
report("Avalanche, ewc", lambda: speed("EWC", ewc_lambda=1.0))
report("Avalanche, si", lambda: speed("SynapticIntelligence", si_lambda=1.0))
"""
MAMMOTH = """
from argparse import Namespace
from types import SimpleNamespace
from unittest.mock import MagicMock
from benchmarks.avalanche import import_torchvision
from everlearn.networks import make_backbone, to_tensor
import_torchvision()
sys.modules["datasets"] = MagicMock()  # its data sets, which are not used, download weights on import
sys.path.insert(0, sys.argv[1])
from models.er import Er
def speed():
    body = make_backbone("compact", task.train.images.shape[1:], 0)
    net = torch.nn.Sequential(body, torch.nn.Linear(body.n_features, 10))
    settings = Namespace(
        buffer_size=2000, minibatch_size=64, optimizer="adam", lr=2e-3, optim_wd=0, label_perc=1, nowand=1)
    data = SimpleNamespace(
        N_CLASSES=10, N_TASKS=1, N_CLASSES_PER_TASK=10, SETTING="class-il", get_offsets=lambda task: (0, 10))
    learner = Er(net, torch.nn.CrossEntropyLoss(), settings, None, data)
    learner.meta_begin_task(data)
    def step(batch):
        tensor = to_tensor(batch.images)
        learner.meta_observe(tensor, torch.from_numpy(batch.labels % 10), tensor)
    return measure(step)
report("Mammoth, er", speed)
"""


def run(*options: str) -> list[Row]:
    """Every learner; with options also of the package in another source folder, and of Mammoth."""
    from everlearn import learners

    own, names = str(ROOT / "src"), learners.names()
    folders = dict(zip(options[::2], options[1::2], strict=True))
    sources = {"": own} | ({BEFORE: folders["--before"]} if "--before" in folders else {})
    rows = [row for code in (BARE, AVALANCHE) for row in _rows(_started(code, own))]
    if "--mammoth" in folders:
        rows += _rows(_started(MAMMOTH, own, folders["--mammoth"]))
    started = {end: _started(OURS, source, *names) for end, source in sources.items()}
    return rows + [row for end, process in started.items() for row in _rows(process, end)]


def _started(code: str, source: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that measures the package in a source folder, with one thread."""
    path = os.pathsep.join([source, str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", PREPARE + MEASURE + code, *arguments],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _rows(process: subprocess.Popen[str], end: str = "") -> list[Row]:
    """The rows that a process reports, without learners that do not exist or that crash it."""
    lines = process.communicate()[0].splitlines()
    return [Row(what + end, speed, "images/s") for what, speed in map(json.loads, lines)]
