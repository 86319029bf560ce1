"""Time of answers with 1,000 classes on one core: `python -m benchmarks.photos.latency FOLDER`.

The memory in FOLDER gets one view of each object of ALOI, and for 1,000 classes also back views of some
objects as classes of their own; classes that it has already are kept. CPU time is measured, which depends
less on other processes. The first answer is that of a new process.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.photos.archives import Pixels
from benchmarks.photos.objects import aloi_views, background, composed
from everlearn import Recogniser

N_CLASSES, BACK = 1000, 180
N_ASKED = 50
FIRST = """
import sys, time
import numpy as np
from everlearn import Recogniser
with Recogniser.open(sys.argv[1]) as memory:
    memory.ask(np.load(sys.argv[2]))
print(time.process_time())
"""


def teach(folder: Path) -> None:
    """Teach the classes that the memory does not have yet."""
    front, back = aloi_views((0,)), aloi_views((BACK,))
    names = [*front.names, *(f"{name} from behind" for name in back.names)][:N_CLASSES]
    images = [*front.images, *back.images]
    with Recogniser.open(folder) as memory:
        missing = [i for i, name in enumerate(names) if name is not None and name not in memory]
        memory.teach_all([images[i] for i in missing], [str(names[i]) for i in missing])


def on_photo(image: Pixels, number: int) -> Pixels:
    """An object of ALOI, which has a black background, in front of a photo."""
    alpha = np.where(image.max(axis=2) > 20, 255, 0).astype(np.uint8)
    return composed(np.dstack([image, alpha]), background(number % 11)[: len(image)])


def measure(folder: Path, angle: int, change: Callable[[Pixels, int], Pixels]) -> str:
    """The time of answers in milliseconds, and the share of them that is right."""
    asked, times, right = aloi_views((angle,)), [], 0
    step = len(asked.names) // N_ASKED
    with Recogniser.open(folder) as memory:
        memory.ask(change(asked.images[0], 0))
        for i in range(0, step * N_ASKED, step):
            image = change(asked.images[i], i)
            start = time.process_time()
            (answer,) = memory.ask(image)
            times.append(1000 * (time.process_time() - start))
            right += answer.best == asked.names[i]
    low, middle, high = np.quantile(times, [0.1, 0.5, 0.9])
    return f"{middle:.0f} ms ({low:.0f} to {high:.0f} for four of five); {right} of {N_ASKED} right"


def first_answer(folder: Path, image: Path) -> float:
    """CPU seconds from the start of a process to its first answer."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST, str(folder), str(image)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main(folder: Path) -> None:
    """Print all rows."""
    teach(folder)
    image = folder.parent / "asked.npy"
    np.save(image, aloi_views((30,)).images[0])
    seconds = sorted(first_answer(folder, image) for _ in range(5))
    print(
        f"first answer of a process: {seconds[2]:.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f})", flush=True
    )
    print(f"the taught view: {measure(folder, 0, lambda each, _: each)}", flush=True)
    print(f"30 degrees: {measure(folder, 30, lambda each, _: each)}", flush=True)
    print(f"30 degrees, in front of a photo: {measure(folder, 30, on_photo)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
