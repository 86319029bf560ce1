"""Compile all numba kernels once, so that the many processes of the test suite find them in the cache."""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from everlearn import learners, streams
from everlearn.memory.on_disk import OnDiskMemory
from everlearn.recognition import Recogniser

NUISANCES = {"noise": 0.1, "blur": 1.0, "occluder": 0.1, "clutter": 1, "lighting": 0.1, "texture": 0.1}


def main() -> None:
    """Render sprites, compose image files, match exemplars, search a memory, recognise images."""
    task = streams.sprites(image_size=32, factor_values=2).task(0)
    _ = streams.sprites(image_size=32, factor_values=2, rgb=True, **NUISANCES).task(0).train
    learner = learners.DCL.tiny((32, 32))
    learner.begin(task.for_learner())
    learner.learn(task.train[:8])
    learner.end(task.for_learner())
    learner.predict(task.test.images[:2])
    with tempfile.TemporaryDirectory() as folder:
        Image.fromarray(np.eye(32, dtype=np.uint8) * 255).save(Path(folder, "line.png"))
        _ = streams.folder(data=folder, n_poses=10, classes_per_task=1).task(0).train
    with tempfile.TemporaryDirectory() as folder:
        memory = OnDiskMemory.create(Path(folder, "memory"), image_shape=(32, 32))
        memory.add(task.exemplars.labels, task.exemplars.images)
        memory.search(task.test.images[:2])
        memory.close()
        with Recogniser.open(Path(folder, "recogniser"), features="gradients") as recogniser:
            for name, image in zip("ab", task.test.images[:2], strict=True):
                recogniser.teach(np.pad(image, 20, mode="edge"), name)


if __name__ == "__main__":
    main()
