"""The exports as other people's tools see them."""

import csv
import sys

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams.exports import export, load

from .tiny_stream import TinyStream

RGB = TinyStream(rgb=True)


def test_numpy_reads_npz(tmp_path):
    export(RGB, tmp_path, to="npz", tasks=[1])
    train = RGB.task(1).train
    with np.load(tmp_path / "task-000001" / "train.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["images"], train.images)
        np.testing.assert_array_equal(arrays["label"], train.labels)
        np.testing.assert_array_equal(arrays["green"], train.factors.colour[:, 1])


def test_png_images_are_in_folders_by_label(tmp_path):
    export(RGB, tmp_path, to="png", tasks=[1])
    test = RGB.task(1).test
    folder = tmp_path / "task-000001"
    with (folder / "test.csv").open() as file:
        rows = list(csv.DictReader(file))
    for i, row in enumerate(rows):
        assert row["file"] == f"test/{test.labels[i]}/{i:06d}.png"
        np.testing.assert_array_equal(np.asarray(Image.open(folder / row["file"])), test.images[i])
        assert float(row["angle"]) == test.factors.angle[i]
    assert sorted(path.name for path in (folder / "train").iterdir()) == ["2", "3"]


@pytest.fixture
def hugging_face(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    return pytest.importorskip("datasets")


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning"
)  # of the reader, not ours
def test_hugging_face_reads_parquet(tmp_path, hugging_face):
    export(RGB, tmp_path / "out", to="parquet", tasks=range(3))
    found = hugging_face.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in found.items()} == {
        "train": 18,
        "val": 6,
        "test": 12,
        "held_out": 9,
        "exemplars": 6,
    }
    train = found["train"]
    assert isinstance(train.features["image"], hugging_face.Image)
    assert train.features["label"] == hugging_face.ClassLabel(names=list("012345"))
    expected = RGB.task(2).train
    for i, row in enumerate(train.select(range(12, 18))):
        np.testing.assert_array_equal(np.asarray(row["image"]), expected.images[i])
        assert (row["label"], row["task"]) == (expected.labels[i], 2)
        assert (row["scale"], row["blue"]) == (expected.factors.scale[i], expected.factors.colour[i, 2])


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning"
)  # of the reader, not ours
def test_hugging_face_reads_parquet_without_factors_or_held_out(tmp_path, hugging_face):
    stream = TinyStream(factors=False, held_out=False)
    export(stream, tmp_path / "out", to="parquet", tasks=[0])
    found = hugging_face.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert set(found) == {"train", "val", "test", "exemplars"}
    assert found["train"][0]["scale"] is None


def test_labels_of_many_classes_are_integers(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    stream = TinyStream(n_tasks=None)
    export(stream, tmp_path, to="parquet", tasks=[900_000])
    schema = parquet.read_schema(tmp_path / "task-900000" / "train.parquet")
    assert b"ClassLabel" not in schema.metadata[b"huggingface"]
    assert load(tmp_path).task(900_000).train == stream.task(900_000).train


@pytest.mark.filterwarnings("ignore")  # webdataset 1.0.2 leaves files to the garbage collector
def test_webdataset_reads_shards(tmp_path):
    webdataset = pytest.importorskip("webdataset")
    export(RGB, tmp_path, to="webdataset", tasks=range(2))
    shards = str(tmp_path / "task-{000000..000001}" / "train.tar")
    samples = list(webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8"))
    assert len({sample["__key__"] for sample in samples}) == len(samples) == 12
    expected = [RGB.task(k).train[i : i + 1] for k in range(2) for i in range(6)]
    for sample, one in zip(samples, expected, strict=True):
        np.testing.assert_array_equal(sample["png"], one.images[0])
        assert sample["cls"] == sample["json"]["label"] == one.labels[0]
        assert sample["json"]["angle"] == one.factors.angle[0]


def test_missing_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"needs pyarrow, .*everlearn\[export\]"):
        export(TinyStream(), tmp_path / "out", to="parquet")
    assert not (tmp_path / "out").exists()
