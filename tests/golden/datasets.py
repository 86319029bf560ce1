"""Small datasets on disk, one for each kind of stream that reads files: ten classes of six and two images."""

import gzip
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

N_CLASSES, N_TRAIN, N_TEST = 10, 6, 2
PARTS = {"train": range(N_TRAIN), "test": range(N_TRAIN, N_TRAIN + N_TEST)}

Pixels = npt.NDArray[np.uint8]


def make_image(label: int, number: int, size: int, *channels: int) -> Pixels:
    ramp = np.arange(size * size * (*channels, 1)[0]).reshape(size, size, *channels)
    return (ramp * (2 * label + 1) + 31 * number).astype(np.uint8)


def make_arrays(part: str, size: int, *channels: int) -> tuple[Pixels, npt.NDArray[np.int64]]:
    """The images and labels of a part, in turn one of each class."""
    pairs = [(label, number) for number in PARTS[part] for label in range(N_CLASSES)]
    images = np.stack([make_image(*pair, size, *channels) for pair in pairs])
    return images, np.array([label for label, _ in pairs], np.int64)


def write_npz(folder: Path) -> Path:
    (images, labels), (test_images, test_labels) = (make_arrays(part, 16, 3) for part in PARTS)
    np.savez(
        folder / "images.npz", images=images, labels=labels, test_images=test_images, test_labels=test_labels
    )
    return folder / "images.npz"


def write_png(path: Path, image: Pixels) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return str(path)


def write_csv(folder: Path) -> Path:
    lines = ["image,label,split"]
    for part in PARTS:
        for number, (image, label) in enumerate(zip(*make_arrays(part, 20, 3), strict=True)):
            write_png(folder / "images" / f"{part}-{number}.png", image)
            lines.append(f"images/{part}-{number}.png,kind {label},{part}")
    (folder / "table.csv").write_text("\n".join(lines))
    return folder / "table.csv"


def write_huggingface(folder: Path) -> Path:
    import datasets

    datasets.disable_progress_bars()
    names = datasets.ClassLabel(names=[f"kind {label}" for label in range(N_CLASSES)])
    features = datasets.Features({"image": datasets.Image(), "label": names})
    splits = {}
    for part in PARTS:
        images, labels = make_arrays(part, 20, 3)
        rows = {"image": [Image.fromarray(image) for image in images], "label": labels.tolist()}
        splits[part] = datasets.Dataset.from_dict(rows, features=features)
    datasets.DatasetDict(splits).save_to_disk(folder / "hub")
    return folder / "hub"


def write_idx(folder: Path, name: str = "mnist") -> Path:
    (folder / name).mkdir(parents=True)
    for part, prefix in (("train", "train"), ("test", "t10k")):
        images, labels = make_arrays(part, 28)
        for array, kind in ((images, "images-idx3"), (labels.astype(np.uint8), "labels-idx1")):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            content = gzip.compress(header + array.tobytes(), mtime=0)
            (folder / name / f"{prefix}-{kind}-ubyte.gz").write_bytes(content)
    return folder


def write_fashion(folder: Path) -> Path:
    return write_idx(folder, "fashion-mnist")


def write_cifar10(folder: Path) -> Path:
    root = folder / "cifar-10-batches-py"
    root.mkdir(parents=True)
    (images, labels), test = make_arrays("train", 32, 3), make_arrays("test", 32, 3)
    for batch in range(5):
        _write_batch(root / f"data_batch_{batch + 1}", images[batch::5], labels[batch::5], b"labels")
    _write_batch(root / "test_batch", *test, b"labels")
    _write_pickle(root / "batches.meta", {b"label_names": _names()})
    return folder


def write_cifar100(folder: Path) -> Path:
    root = folder / "cifar-100-python"
    root.mkdir(parents=True)
    for part in PARTS:
        _write_batch(root / part, *make_arrays(part, 32, 3), b"fine_labels")
    _write_pickle(root / "meta", {b"fine_label_names": _names()})
    return folder


def _names() -> list[bytes]:
    return [f"kind {label}".encode() for label in range(N_CLASSES)]


def _write_batch(path: Path, images: Pixels, labels: npt.NDArray[np.int64], key: bytes) -> None:
    data = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)
    _write_pickle(path, {b"data": data, key: labels.tolist()})


def _write_pickle(path: Path, content: object) -> None:
    path.write_bytes(pickle.dumps(content, protocol=4))


def write_tiny_imagenet(folder: Path) -> Path:
    root, lines = folder / "tiny-imagenet-200", []
    for number, (image, label) in enumerate(zip(*make_arrays("train", 64, 3), strict=True)):
        write_png(root / "train" / f"n{label:08}" / "images" / f"{number}.png", image)
    for number, (image, label) in enumerate(zip(*make_arrays("test", 64, 3), strict=True)):
        write_png(root / "val" / "images" / f"val_{number}.png", image)
        lines.append(f"val_{number}.png\tn{label:08}\t0\t0\t62\t62")
    (root / "val" / "val_annotations.txt").write_text("\n".join(lines) + "\n")
    return folder


def write_imagenet_r(folder: Path) -> Path:
    for number, (image, label) in enumerate(zip(*make_arrays("train", 24, 3), strict=True)):
        write_png(folder / "imagenet-r" / f"n{1443537 + label:08}" / f"art_{number}.png", image)
    return folder


def write_cifar50(folder: Path) -> Path:
    """Enough images of each class for eight sessions."""
    for label in range(6):
        for number in range(12):
            part = "train" if number < 10 else "test"
            write_png(folder / part / f"kind {label}" / f"{number:02}.png", make_image(label, number, 32, 3))
    return folder


def write_objects(folder: Path) -> Path:
    """Three objects of ETH-80 and three of ALOI from four directions, and five photos."""
    for label in range(3):
        for number, pan in enumerate((0, 90, 180, 270)):
            thing = make_image(label, number, 16, 3) // 2 + 100
            alpha = np.full((16, 16, 1), 255, np.uint8)
            write_png(folder / "eth80" / f"kind{label}" / f"066-{pan:03}.png", np.dstack([thing, alpha]))
            on_black = np.pad(255 - thing, ((4, 4), (6, 6), (0, 0)))
            write_png(folder / "aloi" / f"{label:04}" / f"{pan:03}.png", on_black)
    for number in range(5):
        write_png(folder / "grocery" / "train" / "kind" / f"{number}.png", make_image(number, 1, 24, 3))
    return folder


WRITERS: dict[str, Callable[[Path], Path]] = {
    "arrays": write_npz,
    "csv": write_csv,
    "huggingface": write_huggingface,
    "split-mnist": write_idx,
    "permuted-mnist": write_idx,
    "rotated-mnist": write_idx,
    "split-fashion": write_fashion,
    "split-cifar10": write_cifar10,
    "split-cifar100": write_cifar100,
    "split-tiny-imagenet": write_tiny_imagenet,
    "imagenet-r": write_imagenet_r,
    "objects-50": write_objects,
}
"""What writes the files of a kind of stream; each returns the value of the setting data."""
