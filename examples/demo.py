"""See it work: draw the endless stream, jump a million tasks ahead, and cite it."""

import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from everlearn import streams
from everlearn.reports import moving_portrait, portrait, save

FOLDER = Path("demo")


def main() -> None:
    """Make the figures and say what they show."""
    console = Console(highlight=False)
    FOLDER.mkdir(exist_ok=True)
    stream = streams.sprites(seed=0)
    console.print(f"[bold]{stream.id}[/]: 10 new shapes a task, 6,000 images to learn them from, no end.")
    console.print(f"To cite it: {stream.id}, fingerprint {stream.fingerprint()}")
    for k in (0, 1_000_000):
        start = time.perf_counter()
        n_images = sum(len(stream.task(k).split(name)) for name in streams.SPLITS)
        console.print(f"Task {k:>9,}: {n_images:,} images drawn in {time.perf_counter() - start:.3f} s")

    still = save(portrait(stream.task(0)), FOLDER / "stream.png")
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("Setting shapes in motion")
        pages = moving_portrait(
            stream, 0, lambda done, total, _: progress.update(bar, completed=done, total=total)
        )
    moving = save(pages, FOLDER / "stream.gif")
    console.print(f"\nThe figure is {still.resolve()}\nand in motion {moving.resolve()}")


if __name__ == "__main__":
    main()
