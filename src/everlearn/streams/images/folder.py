"""Folders of images: one sub-folder per class (or folders train, val and test of them), or one image each."""

from functools import partial
from pathlib import Path

from everlearn.errors import BadInput
from everlearn.streams.images.canonical import MAX_SIDE, cut_out, limited
from everlearn.streams.images.dataset import FileDataset, LabelledFile, Pixels
from everlearn.streams.images.decode import SUFFIXES, gray, premultiplied, reduced
from everlearn.streams.images.location import data_path
from everlearn.streams.images.tree import FileTree, open_tree, readable

OVERSAMPLING = 2
"""Pixels stored per pixel drawn at scale 1, so that scales up to 2 are sharp."""
SPLIT_FOLDERS = {"train": "train", "val": "val", "validation": "val", "valid": "val", "test": "test"}


def open_folder(path: Path, *, drawn_size: int, rgb: bool = True, is_cut_out: bool = False) -> FileDataset:
    """The images of a folder, or of a zip file, indexed by name and decoded on first use.

    Each sub-folder is a class with its name; empty ones are ignored. If the class folders are in folders
    train, val and test, these are the splits; other folders beside them are ignored. A folder without
    sub-folders, such as a set of icons, has one class per image. Hidden files and files without an image
    suffix are ignored. Classes and images are sorted by name. Large images are averaged down to two to four
    times `drawn_size`. With `is_cut_out`, objects are cut out of their backgrounds first.
    """
    root = data_path(path, "the folder of images")
    tree = open_tree(root)
    prepare = partial(prepare_image, drawn_size=drawn_size, rgb=rgb, is_cut_out=is_cut_out)
    if files := _split_files(tree):
        return FileDataset.of_files(files, source=repr(str(root)), read=tree.read, prepare=prepare)
    return FileDataset(files=_index(tree, root), read=tree.read, prepare=prepare)


def prepare_image(rgba: Pixels, *, drawn_size: int, rgb: bool, is_cut_out: bool = False) -> Pixels:
    """The reduced image of decoded pixels; with `is_cut_out`, only its object, in the bounding box."""
    if is_cut_out:
        rgba = cut_out(limited(rgba, max(MAX_SIDE, 2 * OVERSAMPLING * drawn_size))).pixels
    kept = reduced(premultiplied(rgba), OVERSAMPLING * drawn_size)
    return kept if rgb else gray(kept)


def _split_files(tree: FileTree) -> list[LabelledFile]:
    """The images of a folder with the folders train and val or test, and class folders in them."""
    splits = {name: SPLIT_FOLDERS[name] for name in tree.folders() if name in SPLIT_FOLDERS}
    if "train" not in splits or len(splits) == 1 or any(tree.images(name) for name in splits):
        return []
    folders = [
        (f"{name}/{label}", label, split) for name, split in splits.items() for label in tree.folders(name)
    ]
    return [
        LabelledFile(file, readable(label), split)
        for folder, label, split in folders
        for file in tree.images(folder)
    ]


def _index(tree: FileTree, root: Path) -> dict[str, list[str]]:
    files = tree.images()
    classes = {readable(name): tree.images(name) for name in tree.folders()}
    found = {name: images for name, images in classes.items() if images}
    if found and files:
        raise BadInput(
            f"{str(root)!r} contains both class folders and single images (such as {files[0]!r}); "
            "move these into class folders"
        )
    if not found and not files:
        raise BadInput(
            f"{str(root)!r} contains no images; add one sub-folder per class with images in it "
            f"({', '.join(SUFFIXES)})"
        )
    by_stem = {readable(Path(file).stem): [file] for file in files}  # unless two stems are equal
    return found or (by_stem if len(by_stem) == len(files) else {readable(file): [file] for file in files})
