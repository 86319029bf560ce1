import pickle
import re

import numpy as np
import pytest
from PIL import Image

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams import from_huggingface
from everlearn.streams.images.huggingface import open_huggingface
from tests.golden.datasets import make_arrays, write_huggingface, write_png

datasets = pytest.importorskip("datasets")
IMAGES, LABELS = make_arrays("train", 16, 3)


def make(labels=tuple(range(10)) * 6, names=None):
    """A dataset in memory with the columns image and label."""
    rows = {"image": [Image.fromarray(image) for image in IMAGES], "label": list(labels)}
    dataset = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())
    return dataset if names is None else dataset.cast_column("label", datasets.ClassLabel(names=names))


def test_dataset_survives_pickling_and_decodes_when_needed(tmp_path):
    dataset = open_huggingface(
        write_huggingface(tmp_path), image_column=None, label_column=None, drawn_size=20, rgb=True
    )
    copy = pickle.loads(pickle.dumps(dataset))
    images, _ = make_arrays("train", 20, 3)
    assert (copy.load(np.array([4]), np.array([0]))[0][..., :3] == images[4]).all()
    assert (copy.n_images(3), copy.n_val(3), copy.n_test(3)) == (8, 0, 2)


def test_folders_of_parquet_and_of_images(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "hub/data").mkdir(parents=True)
    make().to_parquet(tmp_path / "hub/data/train-00000-of-00001.parquet")
    for path in (tmp_path / "hub", tmp_path / "hub/data/train-00000-of-00001.parquet"):
        task = streams.huggingface(data=path, image_size=16).task(0)
        assert pixels(task.train) == pixels(from_huggingface(make()).task(0).train)
    for i, label in enumerate(LABELS[:20]):
        write_png(tmp_path / "folder" / "ab"[label % 2] / f"{i}.png", IMAGES[i])
    stream = streams.huggingface(data=tmp_path / "folder", image_size=16)
    assert [stream.source.class_name(c) for c in range(2)] == ["a", "b"]


def pixels(batch):
    return [image.tobytes() for image in batch.images]


def test_labels_are_names_or_numbers():
    names = from_huggingface(make([f"kind {label}" for label in LABELS]))
    assert [names.source.class_name(c) for c in range(2)] == ["kind 0", "kind 1"]
    assert names.fingerprint() == from_huggingface(make()).fingerprint()


def without(column):
    return make().remove_columns(column)


INVALID = {
    "the dataset has no image column that can be used, its columns are label": lambda: without("image"),
    "the dataset has no label column that can be used, its columns are image": lambda: without("label"),
    "row 0 of the dataset has the label -1; it must be a name or a number from 0": lambda: make([-1] * 60),
    "row 59 of the dataset has the label None": lambda: make([*["a"] * 59, None]),
    "row 0 of the dataset has the label 0.5": lambda: make([0.5] * 60),
    "the dataset is a list; give a datasets.Dataset or DatasetDict": lambda: [1],
    "the dataset has the splits test; it needs a split train": lambda: datasets.DatasetDict(test=make()),
    "class 'b' (label 1) has no images for training": lambda: make([0] * 60, ["a", "b"]),
    "unknown column of the dataset 'lable'; did you mean": lambda: (make(), {"label_column": "lable"}),
}  # fmt: skip


@pytest.mark.parametrize(("message", "given"), INVALID.items(), ids=list(INVALID))
def test_unusable_datasets_are_rejected(message, given):
    dataset, settings = made if isinstance(made := given(), tuple) else (made, {})
    with pytest.raises(BadInput, match=re.escape(message)):
        from_huggingface(dataset, **settings)


def test_unusable_folders_are_rejected(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="cannot be read as a Hugging Face dataset") as error:
        streams.huggingface(data=tmp_path / "empty")
    assert "\n" not in str(error.value)
    with pytest.raises(BadInput, match="the Hugging Face dataset is not at"):
        from_huggingface(tmp_path / "gone")
