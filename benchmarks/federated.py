"""Federated merging of class means on full Omniglot: `python -m benchmarks.federated`.

Clients share a frozen feature space, or pixels. Each adds up the features of its own images by class, and
sends sums and counts once; the server adds them. The sums are integers, so the result is that of one central
learner, whatever the split and the order. Of each character, images 1 to 15 are for training and 16 to 20,
by other writers, for testing. Numbers are written to results/federated/omniglot.json, and tables of them to
docs/federated.md. EVERLEARN_DATA must have the folders omniglot-full and weights.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmarks.page_sections import replace_section
from everlearn import files
from everlearn.learners.ncm import NCM
from everlearn.learners.nearest_mean_image import NearestMeanImage
from everlearn.memory.class_means import ClassMeans
from everlearn.rng import FloatArray, IntArray, rng_at
from everlearn.serialization import pack
from everlearn.streams import Batch
from everlearn.streams.images.location import data_folder
from everlearn.streams.images.omniglot import open_omniglot

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "federated" / "omniglot.json"
PAGE = ROOT / "docs" / "federated.md"
BEGIN, END = (
    "<!-- federated {}: written by python -m benchmarks.federated -->",
    "<!-- end of federated {} -->",
)
N_TRAIN, N_IMAGES = 15, 20
SEED = 0


@dataclass(frozen=True)
class Omniglot:
    """All images (n, H, W), and the character, alphabet and number of the writer of each.

    The writers of different alphabets are different persons, also where they have the same number.
    """

    images: npt.NDArray[np.uint8]
    characters: IntArray
    alphabets: IntArray
    writers: IntArray

    @cached_property
    def train(self) -> IntArray:
        """The rows for training."""
        return np.flatnonzero(self.writers < N_TRAIN)

    @cached_property
    def test(self) -> IntArray:
        """The rows for testing."""
        return np.flatnonzero(self.writers >= N_TRAIN)


def load(data: Path, size: int) -> Omniglot:
    """The images of a folder, black on white, in a size."""
    dataset = open_omniglot(data)
    classes = np.repeat(np.arange(dataset.n_classes), N_IMAGES)
    indices = np.tile(np.arange(N_IMAGES), dataset.n_classes)
    images = []
    for c in range(dataset.n_classes):
        raw = dataset.load(np.full(N_IMAGES, c), np.arange(N_IMAGES))
        gray = [Image.fromarray(255 - raw[i][..., 0]) for i in range(N_IMAGES)]
        images += [np.asarray(each.resize((size, size), Image.Resampling.BOX)) for each in gray]
    names = [dataset.class_name(c).split("/")[0] for c in range(dataset.n_classes)]
    alphabets = np.unique(names, return_inverse=True)[1][classes]
    return Omniglot(np.stack(images), classes, alphabets, indices)


Split = Callable[[Omniglot, int], list[IntArray]]


def uniform(omniglot: Omniglot, n_clients: int) -> list[IntArray]:
    """The images of each character, dealt in random order: all clients have the same distribution."""
    order = [rng_at(SEED, "federated", c).permutation(N_TRAIN) for c in range(omniglot.characters.max() + 1)]
    places = np.array(order)[omniglot.characters[omniglot.train], omniglot.writers[omniglot.train]]
    return [omniglot.train[places % n_clients == k] for k in range(n_clients)]


def by_writer(omniglot: Omniglot, n_clients: int) -> list[IntArray]:
    """Each client has the images of its writers, of all characters."""
    owner = omniglot.writers[omniglot.train] * n_clients // N_TRAIN
    return [omniglot.train[owner == k] for k in range(n_clients)]


def by_alphabet(omniglot: Omniglot, n_clients: int) -> list[IntArray]:
    """Each client has the characters of its alphabets: no class is at two clients."""
    owner = omniglot.alphabets[omniglot.train] % n_clients
    return [omniglot.train[owner == k] for k in range(n_clients)]


SPLITS: Sequence[tuple[str, Split, int]] = (
    ("i.i.d.", uniform, 5),
    ("by writer", by_writer, 5),
    ("by writer", by_writer, 15),
    ("by alphabet", by_alphabet, 5),
)


class Pixels:
    """Class means of pixels; the learner `nearest`."""

    name = "pixels"

    def __init__(self, omniglot: Omniglot) -> None:
        self.omniglot = omniglot

    def learner(self) -> NearestMeanImage:
        """A new learner."""
        return NearestMeanImage(image_shape=self.omniglot.images.shape[1:])

    def learn(self, learner: Any, rows: IntArray) -> None:
        """Add the images in some rows."""
        for batch in Batch(self.omniglot.images[rows], self.omniglot.characters[rows]).batches(1000):
            learner.learn(batch)

    def predict(self, learner: Any, rows: IntArray) -> IntArray:
        """The characters of the images in some rows."""
        predictions: IntArray = learner.predict(self.omniglot.images[rows])
        return predictions


class Features:
    """Class means of frozen ImageNet features; the learner `prototypes`. Features are computed once."""

    def __init__(self, omniglot: Omniglot, backbone: str) -> None:
        self.name, self.omniglot = backbone, omniglot
        self.settings = {"backbone": backbone, "weights": "imagenet", "n_training_tasks": 0}
        self.features: FloatArray = self.learner().features(omniglot.images)

    def learner(self) -> NCM:
        """A new learner; all have the same backbone."""
        return NCM(image_shape=self.omniglot.images.shape[1:], **self.settings)  # type: ignore[arg-type]

    def learn(self, learner: Any, rows: IntArray) -> None:
        """Add the features in some rows."""
        learner.add_features(self.features[rows], self.omniglot.characters[rows])

    def predict(self, learner: Any, rows: IntArray) -> IntArray:
        """The characters of the features in some rows."""
        predictions: IntArray = learner.classify(self.features[rows])
        return predictions


def compare(space: Pixels | Features, split: Split, n_clients: int) -> dict[str, Any]:
    """Central learner, merged clients and single clients, on all test images."""
    omniglot = space.omniglot
    truth = omniglot.characters[omniglot.test]
    central, merged = space.learner(), space.learner()
    space.learn(central, omniglot.train)
    single, own, traffic, compressed = [], [], [], []
    for rows in split(omniglot, n_clients):
        client = space.learner()
        space.learn(client, rows)
        right = space.predict(client, omniglot.test) == truth
        single.append(int(right.sum()))
        own.append(float(right[np.isin(truth, client.sums.labels)].mean()))
        sent = pack({"sums": client.sums.state()})
        traffic.append(len(sent))
        compressed.append(len(zlib.compress(sent, 6)))
        merged.sums.merge(client.sums)
    predictions = [space.predict(learner, omniglot.test) for learner in (central, merged)]
    return {
        "n_clients": n_clients,
        "n_test": len(truth),
        "central": int((predictions[0] == truth).sum()),
        "merged": int((predictions[1] == truth).sum()),
        "same_statistics": same(central.sums, merged.sums),
        "same_predictions": bool((predictions[0] == predictions[1]).all()),
        "single": single,
        "single_on_known_classes": [round(each, 4) for each in own],
        "bytes_sent": traffic,
        "bytes_compressed": compressed,
    }


def same(one: ClassMeans, other: ClassMeans) -> bool:
    """Whether sums and counts are equal to the bit; labels may be in another order."""
    first, second = np.argsort(one.labels), np.argsort(other.labels)
    return all(
        np.array_equal(a[first], b[second])
        for a, b in ((one.labels, other.labels), (one.counts, other.counts), (one.sums, other.sums))
    )


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Accuracies and traffic, in Markdown."""
    lines = [
        "| features | split | clients | central | merged | same sums | single clients | on their classes | "
        "MB sent per client | compressed |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        n = row["n_test"]
        single, own = [each / n for each in row["single"]], row["single_on_known_classes"]
        sent, packed = (max(row[name]) / 1e6 for name in ("bytes_sent", "bytes_compressed"))
        is_same = "yes" if row["same_statistics"] and row["same_predictions"] else "**no**"
        lines.append(
            f"| {row['features']} | {row['split']} | {row['n_clients']} | {row['central'] / n:.4f} | "
            f"{row['merged'] / n:.4f} | {is_same} | {_range(single)} | {_range(own)} | "
            f"{sent:.1f} | {packed:.2f} |"
        )
    return "\n".join(lines)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


def write(page: Path = PAGE) -> None:
    """Update the page from the stored numbers."""
    text, begin, end = page.read_text("utf-8"), BEGIN.format("results"), END.format("results")
    rows = json.loads(RESULTS.read_text("utf-8"))
    page.write_text(replace_section(text, begin, end, table(rows)), "utf-8")


def main() -> None:
    data = data_folder() / "omniglot-full"
    rows = []
    for space in (Pixels(load(data, 32)), Features(load(data, 64), "efficientnet-lite0")):
        for name, split, n_clients in SPLITS:
            size = f"{space.omniglot.images.shape[1]} px"
            row = {
                "features": f"{space.name}, {size}",
                "split": name,
                **compare(space, split, n_clients),
            }
            print(row, flush=True)
            rows.append(row)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    files.write(RESULTS, (json.dumps(rows, indent=1) + "\n").encode())
    write()


if __name__ == "__main__":
    main()
