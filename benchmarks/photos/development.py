"""The development set, which shares no thing with `new-user`: `python -m benchmarks.photos.development FILE`.

30 iconic photos of Grocery and 30 emoji, one image of each, under the conditions of `new-user`; photos of
shops are the textured background. Half of the things are taught, all are asked. The answers are stored in
FILE; with a second FILE, the answers of another version, the two are compared.
"""

import json
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.photos.archives import Pixels, emoji_file, open_zip, pixels, read_image
from benchmarks.photos.new_user import CANVAS, CONDITIONS, over, placed, random_pose
from benchmarks.photos.objects import GROCERY
from everlearn import Recogniser
from everlearn.rng import rng_at

EMOJI = (
    "1f33d", "1f344", "1f346", "1f347", "1f349", "1f34a", "1f350", "1f35f", "1f36a", "1f366",
    "1f426", "1f427", "1f428", "1f42c", "1f42f", "1f433", "1f437", "1f981", "1f984", "1f98b",
    "1f682", "1f681", "1f69c", "1f3ba", "1f3bb", "1f3c8", "1f528", "1f4d7", "1f381", "1f570-fe0f",
)  # fmt: skip
N_PHOTOS, N_POSES, SHOP = 30, 2, "textured background"


def things() -> list[Pixels]:
    """The things: photos, then emoji."""
    names = [name for name in open_zip(GROCERY).namelist() if "conic" in name and not name.endswith("/")]
    images = [name for name in sorted(names) if name.lower().endswith((".jpg", ".png", ".webp"))]
    some = [images[i] for i in np.linspace(0, len(images) - 1, N_PHOTOS).astype(int)]
    return [read_image(GROCERY, name) for name in some] + [pixels(emoji_file(code), "RGBA") for code in EMOJI]


def shops() -> list[Pixels]:
    """Photos behind the things, as large as the canvas."""
    names = [name for name in open_zip(GROCERY).namelist() if "test" in PurePosixPath(name).parts]
    files = [name for name in sorted(names) if not name.endswith("/")]
    some = [read_image(GROCERY, files[i]) for i in np.linspace(0, len(files) - 1, 10).astype(int)]
    return [np.asarray(Image.fromarray(each[..., :3]).resize((CANVAS, CANVAS))) for each in some]


def queries() -> list[tuple[str, int, Pixels]]:
    """Condition, thing and image of all questions."""
    found, backgrounds = [], shops()
    for thing, image in enumerate(things()):
        for number, (name, condition) in enumerate(CONDITIONS.items()):
            for pose in range(N_POSES):
                rng = rng_at(0, "photos: development", number, thing, pose)
                layer = placed(image, random_pose(rng, pose, 0.1 if "perspective" in name else 0.0))
                behind = backgrounds[(thing + pose) % len(backgrounds)] / 255.0
                asked = over(layer, behind) if name == SHOP else condition(layer, rng)
                found.append((name, thing, np.rint(np.clip(asked, 0, 1) * 255).astype(np.uint8)))
    return found


def ask_all(folder: Path) -> list[dict[str, Any]]:
    """Teach every other thing, then ask about all."""
    answers = []
    with Recogniser.open(folder) as memory:
        for thing, image in enumerate(things()):
            if thing % 2 == 0:
                memory.teach(image, str(thing))
        for condition, thing, image in queries():
            start = time.process_time()
            (answer,) = memory.ask(image)
            asked = {"condition": condition, "thing": thing, "seconds": time.process_time() - start}
            given = {"best": answer.best, "name": answer.name, "confidence": answer.confidence}
            answers.append(asked | given)
    return answers


def summary(answers: list[dict[str, Any]]) -> str:
    """Right answers about known things, and errors of the threshold, by condition."""
    lines = []
    for condition in CONDITIONS:
        some = [each for each in answers if each["condition"] == condition]
        known = [each for each in some if each["thing"] % 2 == 0]
        right = np.mean([each["best"] == str(each["thing"]) for each in known])
        refused = np.mean([each["name"] is None for each in known])
        accepted = np.mean([each["name"] is not None for each in some if each["thing"] % 2])
        middle = 1000 * np.median([each["seconds"] for each in some])
        lines.append(
            f"{condition:20} right {right:.3f}, known refused {refused:.3f}, "
            f"unknown accepted {accepted:.3f}, {middle:.0f} ms"
        )
    return "\n".join(lines)


def difference(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> str:
    """How many answers differ between two versions."""
    pairs = list(zip(first, second, strict=True))
    changed = sum(a["best"] != b["best"] for a, b in pairs)
    status = sum(a["name"] != b["name"] for a, b in pairs)
    moved = max(abs(a["confidence"] - b["confidence"]) for a, b in pairs)
    return (
        f"of {len(pairs)} answers {changed} have another best class and {status} another name; "
        f"confidence {moved:.3f}"
    )


def main(files: list[str]) -> None:
    """Ask, store and compare."""
    with tempfile.TemporaryDirectory() as folder:
        answers = ask_all(Path(folder) / "memory")
    Path(files[0]).write_text(json.dumps(answers), "utf-8")
    print(summary(answers))
    if len(files) > 1:
        print(difference(json.loads(Path(files[1]).read_text("utf-8")), answers))


if __name__ == "__main__":
    main(sys.argv[1:])
