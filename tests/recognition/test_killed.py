"""A process that is killed while it keeps or names unknown images leaves a memory that opens.

The memory is as before the edit or as after it. Naming is several edits: repeated, it is completed.
"""

import os
import shutil
import subprocess
import sys

import pytest

from everlearn import Recogniser
from tests.crash.disks import AFTER, BEFORE, TORN
from tests.recognition.things import photo, thing

pytestmark = [
    pytest.mark.more,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
]

WORKER = """
import os, shutil, signal, sys
from everlearn import Recogniser, files
from tests.crash.disks import CrashingDisk
from tests.recognition.things import photo

class KillingDisk(CrashingDisk):
    def operate(self, name, do, torn):
        self.n_operations += 1
        if self.n_operations == self.at:
            {"before": lambda: None, "torn": torn, "after": do}[self.mode]()
            os.kill(os.getpid(), signal.SIGKILL)
        return do()

def edit(folder, action):
    with Recogniser(folder) as memory:
        if action == "keep":
            memory.ask_and_keep(photo(5, angle=90))
        else:
            memory.name_unknown(1, "blue mug")

with Recogniser(sys.argv[1]) as memory:
    memory.ask(photo(0))  # compiled code is loaded before processes are forked
for line in sys.stdin:
    folder, action, at, mode = line.split()
    child = os.fork()
    if not child:
        files.disk = KillingDisk(int(at), mode)
        edit(folder, action)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A memory of three things."""
    path = tmp_path_factory.mktemp("killed") / "memory"
    with Recogniser.open(path, features="gradients") as memory:
        for number in range(3):
            memory.teach(thing(number), f"thing {number}")
    return path


@pytest.fixture(scope="module")
def grouped(taught):
    """The same with a group of two images of an unknown thing."""
    path = taught.parent / "grouped"
    shutil.copytree(taught, path)
    with Recogniser(path) as memory:
        memory.ask_and_keep([photo(5), photo(5, angle=90)])
        assert [(group.number, group.n_images) for group in memory.unknowns] == [(1, 2)]
    return path


@pytest.fixture(scope="module")
def worker(taught):
    """Edits copies of a memory, in processes that are killed at a disk operation."""
    command = [sys.executable, "-c", WORKER, str(taught)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


def killed_copies(worker, memory, action, folder):
    """Copies of a memory after a process was killed at every n-th operation, until one is not killed."""
    for at in range(1, 1000, 2):
        copy, mode = folder / f"at {at}".replace(" ", "-"), (BEFORE, TORN, AFTER)[at // 2 % 3]
        shutil.copytree(memory, copy)
        worker.stdin.write(f"{copy} {action} {at} {mode}\n")
        worker.stdin.flush()
        code = int(worker.stdout.readline())
        yield copy
        if code == 0:
            assert at > 20
            return
        assert code == -9
        shutil.rmtree(copy)


def images_of(memory):
    """The number of images of each class, and of each unknown group."""
    classes = {name: memory.n_images(name) for name in memory.names}
    return classes, {group.number: group.n_images for group in memory.unknowns}


@pytest.mark.parametrize("start", ["taught", "grouped"])
def test_a_killed_process_has_kept_an_image_or_not(worker, start, tmp_path, request):
    memory = request.getfixturevalue(start)
    known, before = {f"thing {number}": 1 for number in range(3)}, {1: 2} if start == "grouped" else {}
    found = []
    for copy in killed_copies(worker, memory, "keep", tmp_path):
        with Recogniser(copy) as opened:
            classes, groups = images_of(opened)
            assert classes == known
            found.append(groups)
            kept = opened.ask_and_keep(photo(7, angle=20))[0].group  # the groups can be edited
            assert kept.number == max(groups, default=0) + 1
    after = found[-1]
    assert after == ({1: 3} if start == "grouped" else {1: 1})
    assert {tuple(groups.items()) for groups in found} == {tuple(each.items()) for each in (before, after)}


def test_a_killed_naming_is_completed_when_it_is_repeated(worker, grouped, tmp_path):
    states = set()
    for copy in killed_copies(worker, grouped, "name", tmp_path):
        with Recogniser(copy) as memory:
            classes, groups = images_of(memory)
            n_named = classes.get("blue mug", 0)
            states.add((n_named, groups.get(1, 0)))
            if groups:
                assert memory.name_unknown(1, "blue mug") == 2
            assert images_of(memory) == (
                {"blue mug": 2, "thing 0": 1, "thing 1": 1, "thing 2": 1}, {},
            )  # fmt: skip
    # Images are taught one by one; the group is erased when all are.
    assert states == {(0, 2), (1, 2), (2, 2), (2, 0)}
