"""Subsets of ImageNet in their published layouts: Tiny-ImageNet and ImageNet-R."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.images.dataset import FileDataset, LabelledFile, Pixels
from everlearn.streams.images.folder import open_folder, prepare_image
from everlearn.streams.images.sources import SOURCES
from everlearn.streams.images.tree import FolderTree

ANNOTATIONS = "val_annotations.txt"
LISTED = re.compile(r"(n\d{8}/[^/\s'\"]+\.(?:jpe?g|png))", re.IGNORECASE)
"""A path in a published list, such as "data/imagenet-r/n01443537/art_0.jpg"."""


def open_tiny_imagenet(data: Path | None, *, drawn_size: int, rgb: bool) -> FileDataset:
    """Tiny-ImageNet: train/CLASS/images, and val with val_annotations.txt or in folders of classes."""
    root = SOURCES["tiny-imagenet"].locate(data)
    tree = FolderTree(root)
    train = [LabelledFile(file, label) for label, file in _class_images(tree, "train")]
    if (root / "val" / ANNOTATIONS).is_file():
        val = list(_annotated(root))
    else:
        val = [LabelledFile(file, label, "val") for label, file in _class_images(tree, "val")]
    return FileDataset.of_files(
        [*train, *val], source=repr(str(root)), read=tree.read, prepare=_prepare(drawn_size, rgb)
    )


def open_imagenet_r(data: Path | None, *, drawn_size: int, rgb: bool) -> FileDataset:
    """ImageNet-R: folders of classes, with the published list if it is there, or folders train and test."""
    root = SOURCES["imagenet-r"].locate(data)
    if (root / "train").is_dir():
        return open_folder(root, drawn_size=drawn_size, rgb=rgb)
    tree = FolderTree(root)
    files = [LabelledFile(file, label) for label in tree.folders() for file in tree.images(label)]
    tested = _published_test_images(root)
    if tested and (missing := tested - {file.name for file in files}):
        raise BadInput(f"{str(root)!r} lacks {min(missing)!r}, which imagenet-r_test.yaml lists; add it")
    files = [file._replace(split="test") if file.name in tested else file for file in files]
    return FileDataset.of_files(
        files, source=repr(str(root)), read=tree.read, prepare=_prepare(drawn_size, rgb)
    )


def _prepare(drawn_size: int, rgb: bool) -> Callable[[Pixels], Pixels]:
    return partial(prepare_image, drawn_size=drawn_size, rgb=rgb)


def _class_images(tree: FolderTree, part: str) -> Iterator[tuple[str, str]]:
    """The class and the path of each image, in folders of classes with or without a folder images."""
    if part not in tree.folders():
        raise BadInput(f"{str(tree.root)!r} has no folder {part!r}; unpack the published file again")
    for label in tree.folders(part):
        folder = f"{part}/{label}"
        inner = f"{folder}/images" if "images" in tree.folders(folder) else folder
        yield from ((label, file) for file in tree.images(inner))


def _annotated(root: Path) -> Iterator[LabelledFile]:
    for line in (root / "val" / ANNOTATIONS).read_text("utf-8").splitlines():
        file, label, *_ = [*line.split("\t"), ""]
        if line.strip():
            yield LabelledFile(f"val/images/{file}", label, "val")


def _published_test_images(root: Path) -> set[str]:
    """The paths in imagenet-r_test.yaml, in the folder or beside it; empty if there is no such file."""
    lists = [folder / "imagenet-r_test.yaml" for folder in (root, root.parent)]
    found = [path for path in lists if path.is_file()]
    return set(LISTED.findall(found[0].read_text("utf-8"))) if found else set()
