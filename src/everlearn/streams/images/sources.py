"""The table of published datasets: where their files are expected, and where they can be downloaded.

Checksums are the MD5 sums that torchvision and Avalanche publish for these files.
"""

from dataclasses import dataclass
from pathlib import Path

from everlearn.errors import BadInput, unknown
from everlearn.streams.images.location import data_root, first_folder


@dataclass(frozen=True)
class RemoteFile:
    """A file to download; an archive is unpacked and contains the first of the folders of its dataset."""

    url: str
    md5: str | None = None
    is_archive: bool = False

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class DataSource:
    """A published dataset.

    Attributes:
        name: for `everlearn data fetch`.
        streams: the streams that use it.
        folders: its possible sub-folders of the folder of all datasets; downloads go into the first.
        markers: files or folders, one of which the dataset contains.
        content: description of its files, for messages.
        files: its downloads.
    """

    name: str
    streams: tuple[str, ...]
    folders: tuple[str, ...]
    markers: tuple[str, ...]
    content: str
    files: tuple[RemoteFile, ...]

    def find(self, root: Path) -> Path | None:
        """The folder of the dataset, a sub-folder of the root or the root itself; None if it is missing."""
        return first_folder(root, self.folders, self.markers)

    def locate(self, data: Path | None) -> Path:
        """The folder of the dataset; raises `BadInput` with `advice` if it is missing."""
        root = data_root(data, self.name)
        folder = self.find(root)
        if folder is None:
            raise BadInput(
                f"{self.name} is not in {str(root)!r}; {self.advice(root)}, or run `everlearn data fetch "
                f"{self.name}`"
            )
        return folder

    def advice(self, root: Path) -> str:
        """What to copy where if the dataset is not in a root folder."""
        return f"copy {self.content} to {str(root / self.folders[0])!r}"


def data_source(name: str) -> DataSource:
    """A published dataset by name."""
    if name not in SOURCES:
        raise unknown("dataset", name, SOURCES)
    return SOURCES[name]


def _idx_files(url: str, sums: tuple[str, str, str, str]) -> tuple[RemoteFile, ...]:
    names = [
        f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
    ]
    return tuple(RemoteFile(url + name, md5) for name, md5 in zip(names, sums, strict=True))


IDX = "its four files (train and t10k, images-idx3-ubyte and labels-idx1-ubyte, gzipped or not)"
OMNIGLOT_SETS = (
    "images_background",
    "images_evaluation",
    "images_background_small1",
    "images_background_small2",
)
_OMNIGLOT = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"

SOURCES = {
    source.name: source
    for source in (
        DataSource(
            name="mnist",
            streams=("mnist", "split-mnist", "permuted-mnist", "rotated-mnist"),
            folders=("mnist", "MNIST/raw"),  # ours, then that of torchvision
            markers=("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"),
            content=IDX,
            files=_idx_files(
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                (
                    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                    "d53e105ee54ea40749a09fcbcd1e9432",
                    "9fb629c4189551a2d022fa330f9573f3",
                    "ec29112dd5afa0611ce80d1b7f02629c",
                ),
            ),
        ),
        DataSource(
            name="fashion-mnist",
            streams=("fashion", "split-fashion"),
            folders=("fashion-mnist", "FashionMNIST/raw"),
            markers=("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"),
            content=IDX,
            files=_idx_files(
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                (
                    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                    "25c81989df183df01b3e8a0aad5dffbe",
                    "bef4ecab320f06d8554ea6380940ec79",
                    "bb300cfdad3c16e7a12a480ee83cd310",
                ),
            ),
        ),
        DataSource(
            name="omniglot",
            streams=("omniglot",),
            folders=("omniglot", "omniglot-py"),
            markers=(*OMNIGLOT_SETS, *(f"{name}.zip" for name in OMNIGLOT_SETS)),
            content="images_background.zip, images_evaluation.zip or the small sets, zipped or unzipped,",
            files=(
                RemoteFile(f"{_OMNIGLOT}images_background.zip", "68d2efa1b9178cc56df9314c21c6e718"),
                RemoteFile(f"{_OMNIGLOT}images_evaluation.zip", "6b91aef0f799c5bb55b94e3f2daec811"),
            ),
        ),
        DataSource(
            name="cifar10",
            streams=("split-cifar10",),
            folders=("cifar-10-batches-py", "cifar10"),
            markers=("data_batch_1", "train", "cifar10.zip"),
            content="the files of cifar-10-python.tar.gz, or folders train/CLASS and test/CLASS,",
            files=(RemoteFile(f"{_CIFAR}cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a", True),),
        ),
        DataSource(
            name="cifar100",
            streams=("split-cifar100", "cifar-50"),
            folders=("cifar-100-python", "cifar100"),
            markers=("train", "cifar100.zip"),
            content="the files of cifar-100-python.tar.gz, or folders train/CLASS and test/CLASS,",
            files=(RemoteFile(f"{_CIFAR}cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85", True),),
        ),
        DataSource(
            name="tiny-imagenet",
            streams=("split-tiny-imagenet",),
            folders=("tiny-imagenet-200", "tiny-imagenet"),
            markers=("wnids.txt", "train"),
            content="the folders train and val of tiny-imagenet-200.zip",
            files=(
                RemoteFile(
                    "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                    "90528d7ca1a48142e341f4ef8d21d0de",
                    True,
                ),
            ),
        ),
        DataSource(
            name="imagenet-r",
            streams=("imagenet-r",),
            folders=("imagenet-r",),
            markers=("n01443537", "train"),
            content="the class folders of imagenet-r.tar, or folders train/CLASS and test/CLASS,",
            files=(
                RemoteFile(
                    "https://people.eecs.berkeley.edu/~hendrycks/imagenet-r.tar",
                    "a61312130a589d0ca1a8fca1f2bd3337",
                    True,
                ),
            ),
        ),
        DataSource(
            name="core50",
            streams=("core50",),
            folders=("core50_128x128", "core50", "core50_imgs"),
            markers=("s1",),
            content="the folders s1 to s11 of core50_128x128.zip (s1/o1/C_01_01_000.png etc.)",
            files=(
                RemoteFile(
                    "http://bias.csr.unibo.it/maltoni/download/core50/core50_128x128.zip",
                    "745f3373fed08d69343f1058ee559e13",
                    True,
                ),
            ),
        ),
    )
}
