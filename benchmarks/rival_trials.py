"""Short trials of baselines: `python -m benchmarks.rival_trials [NAME...]`.

Sprites of 32 px, 3 tasks of 10 classes, 3 epochs; prompts on Split-MNIST, with a small transformer that was
pretrained on Fashion-MNIST; regularisation methods on the first 10 tasks of figure 3. On seeds that no
reported run uses; accuracy on the validation images of all tasks after the last. Rows are added to
results/rivals/trials.jsonl, which also has a few made by hand, with a note.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.rivals_tuning import validation_accuracy
from everlearn.networks.pretraining import pretrain
from everlearn.networks.weights import save_weights
from everlearn.runs import RunSpec
from everlearn.streams import Batch, fashion

TRIED = Path(__file__).parent.parent / "results" / "rivals" / "trials.jsonl"
SEEDS = (8, 9)
ANY = {"device": "cpu", "evaluation.every_n_tasks": 5, "evaluation.forward_transfer": False}
SPRITES = {**ANY, "stream.image_size": 32, "n_tasks": 3, "epochs": 3, "batch_size": 32}
MNIST = {**ANY, "stream.image_size": 28, "stream.drawn_size": 28, "stream.split": [500, 100, 100]}
MNIST |= {"batch_size": 32}
FIGURE_3_RUN = {**ANY, "n_tasks": 10, "batch_size": 32, "amp": True, "threads": 1}
PRETRAINED = Path(tempfile.gettempdir()) / "everlearn-fashion-vit.safetensors"
REPLAY = {"memory_size": 500, "replay_size": 32}

TRIALS: dict[str, tuple[str, dict[str, Any]]] = {
    "er": ("er", REPLAY),
    "uer": ("uer", REPLAY),
    "refresh": ("refresh", REPLAY),
    "refresh, rate 1e-3": ("refresh", {**REPLAY, "unlearning_rate": 1e-3}),
    "refresh, rate 1e-2": ("refresh", {**REPLAY, "unlearning_rate": 1e-2}),
    "lwf": ("lwf", {}),
    "prd": ("prd", {}),
    "l2p": ("l2p", {}),
    "dualprompt": ("dualprompt", {}),
    "coda-prompt": ("coda-prompt", {}),
}
STRENGTHS = {
    "lwf": ("alpha", (0.1, 1.0, 10.0)),
    "ewc": ("strength", (1.0, 100.0, 10_000.0)),
    "si": ("strength", (0.1, 1.0, 10.0)),
}
"""Of the penalties of figure 3."""
FIGURE_3 = {
    f"{learner}, {key} {value:g}, figure 3": (learner, {key: value})
    for learner, (key, values) in STRENGTHS.items()
    for value in values
}
TRIALS |= FIGURE_3
BUFFERLESS = ("lwf", "prd")
"""Without replayed images; these have batches of 64 instead of 32 + 32, and as many steps."""
PROMPTS = ("l2p", "dualprompt", "coda-prompt")


def tried() -> list[dict[str, Any]]:
    """All stored trials."""
    return [json.loads(line) for line in TRIED.read_text().splitlines()] if TRIED.exists() else []


def table() -> str:
    """The stored trials without a note, in Markdown."""
    lines = ["| trial | stream | validation, % | seeds | CPU, s |", "|---|---|---|---|---|"]
    rows = [row for row in tried() if "note" not in row]
    for name in dict.fromkeys(row["trial"] for row in rows):
        own = [row for row in rows if row["trial"] == name]
        found = ", ".join(f"{row['validation']:.1f}" for row in own)
        seeds = ", ".join(str(row["seed"]) for row in own)
        seconds = max(row["cpu_seconds"] for row in own)
        lines.append(f"| {name} | {own[0]['stream']} | {found} | {seeds} | {seconds} |")
    return "\n".join(lines)


def run(name: str, seed: int) -> dict[str, Any]:
    """The row of a trial."""
    learner, own = TRIALS[name]
    stream = "mnist" if learner in PROMPTS else "sprites"
    shared = FIGURE_3_RUN if name in FIGURE_3 else MNIST if stream == "mnist" else SPRITES
    settings = {**shared, "seed": seed, "stream.seed": seed}
    if learner in BUFFERLESS and name not in FIGURE_3:
        settings |= {"epochs": 6, "batch_size": 64}
    settings |= {f"learner.{key}": value for key, value in own.items()}
    if learner in PROMPTS:
        settings["learner.weights"] = str(pretrained())
    start = time.process_time()
    accuracy = validation_accuracy(RunSpec.make(stream=stream, learner=learner, settings=settings))
    return {
        "trial": name,
        "stream": stream,
        "learner": learner,
        "settings": own,
        "seed": seed,
        "validation": round(accuracy, 2),
        "cpu_seconds": round(time.process_time() - start),
    }


def pretrained() -> Path:
    """A small transformer, trained for 4 epochs on 10,000 images of Fashion-MNIST."""
    if not PRETRAINED.exists():
        tasks = fashion(image_size=28, drawn_size=28, split=(1000, 100, 100)).take(5)
        images = Batch.concatenate([Batch(task.train.images, task.train.labels) for task in tasks])
        save_weights(pretrain(images, epochs=4, seed=SEEDS[0]), PRETRAINED)
    return PRETRAINED


def main(names: list[str]) -> None:
    for seed in SEEDS:
        for name in names or TRIALS:
            if any(row["trial"] == name and row["seed"] == seed for row in tried()):
                continue
            row = run(name, seed)
            print(row, flush=True)
            with TRIED.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
