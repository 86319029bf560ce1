import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.factors import Factors, FactorSpace, Poses
from everlearn.streams.images.folder import open_folder
from everlearn.streams.images.mnist import open_mnist
from everlearn.streams.images.omniglot import open_omniglot
from everlearn.streams.images.source import (
    Canvas,
    DatasetSource,
    PosedSource,
    ReorderedDataset,
    split_all,
    split_train_val,
)
from everlearn.streams.stream import SPLITS

from .files import omniglot_members, png, write_mnist, write_tree, write_zip

CANONICAL = FactorSpace(scale=1, angle=1, x=1, y=1)
ANY_POSE = FactorSpace(
    scale={"low": 0.5, "high": 1.0},
    angle={"low": 0.0, "high": 6.28},
    x={"low": 0.0, "high": 1.0},
    y={"low": 0.0, "high": 1.0},
)
SPLIT = (0.7, 0.1, 0.2)


@pytest.fixture
def digits(tmp_path):
    files = write_mnist(tmp_path, n_train=300, n_test=50)
    return open_mnist(tmp_path), files


@pytest.fixture
def characters(tmp_path):
    write_zip(tmp_path / "images_background.zip", omniglot_members("images_background"))
    return open_omniglot(tmp_path)


def dataset_source(dataset, space=CANONICAL, seed=0, split=SPLIT, **canvas):
    options = {"image_size": 64, "drawn_size": 28} | canvas
    return DatasetSource(dataset=dataset, canvas=Canvas(**options), split=split, seed=seed, space=space)


def posed_source(dataset, poses, seed=0, n_poses=None, **canvas):
    options = {"image_size": 64, "drawn_size": 28} | canvas
    return PosedSource(
        dataset=dataset, canvas=Canvas(**options), split=SPLIT, seed=seed, poses=poses, n_poses=n_poses
    )


def pools(source, class_id):
    return {split: source.pool(class_id, split) for split in SPLITS}


def test_given_test_images_and_random_validation_images(digits):
    source = dataset_source(digits[0])
    parts = pools(source, 4)
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 27,
        "val": 3,
        "test": 5,
        "held_out": 0,
    }
    assert sorted(parts["test"]) == [30, 31, 32, 33, 34]
    assert sorted(np.concatenate(list(parts.values()))) == list(range(35))
    again, other = pools(dataset_source(digits[0]), 4), pools(dataset_source(digits[0], seed=1), 4)
    np.testing.assert_array_equal(again["train"], parts["train"])
    assert not np.array_equal(other["val"], parts["val"])


def test_static_images_are_centered(digits):
    dataset, files = digits
    source = dataset_source(dataset)
    images, factors = source.load(np.array([7, 7]), np.array([2, 31]))
    np.testing.assert_array_equal(images[0, 18:46, 18:46], files["train"][0][27])
    np.testing.assert_array_equal(images[1, 18:46, 18:46], files["t10k"][0][17])
    assert factors == Factors.canonical(2)
    assert (source.n_classes, source.image_shape, source.class_name(7)) == (10, (64, 64), "7")


def test_moving_images_agree_with_their_factors(digits):
    dataset, files = digits
    positions = [0.0, 0.25, 0.5, 1.0]
    source = dataset_source(dataset, FactorSpace(scale=1, angle=1, x=positions, y=positions))
    images, factors = source.load(np.zeros(30, np.int64), np.arange(30))
    for i, image in enumerate(images):
        left, top = (int(64 * (0.25 + 0.5 * p)) - 14 for p in (factors.x[i], factors.y[i]))
        np.testing.assert_array_equal(image[top : top + 28, left : left + 28], files["train"][0][10 * i])
    assert len({(x, y) for x, y in zip(factors.x, factors.y, strict=True)}) > 8


def test_image_does_not_depend_on_the_batch(characters):
    source = dataset_source(characters, ANY_POSE)
    rng = np.random.default_rng(0)
    classes, indices = rng.integers(0, 4, 30), rng.integers(0, 20, 30)
    images, factors = source.load(classes, indices)
    for i in range(30):
        alone, own = source.load(classes[i : i + 1], indices[i : i + 1])
        np.testing.assert_array_equal(alone[0], images[i])
        assert own == factors[i]


def test_inverted(digits):
    plain, negative = dataset_source(digits[0]), dataset_source(digits[0], inverted=True)
    rows = np.arange(5), np.arange(5)
    np.testing.assert_array_equal(negative.load(*rows)[0], 255 - plain.load(*rows)[0])
    np.testing.assert_array_equal(negative.exemplars(rows[0]), 255 - plain.exemplars(rows[0]))


def test_coloured(digits):
    palette = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    source = dataset_source(digits[0], FactorSpace(scale=1, angle=1, x=1, y=1, colour=palette), rgb=True)
    images, factors = source.load(np.zeros(30, np.int64), np.arange(30))
    assert source.image_shape == images.shape[1:] == (64, 64, 3)
    lit = images.max(axis=(1, 2)) > 0
    np.testing.assert_array_equal(lit, factors.colour > 0)
    assert len(np.unique(factors.colour, axis=0)) == 3


def test_exemplars_are_the_first_training_images(digits):
    dataset, files = digits
    source = dataset_source(dataset, ANY_POSE)
    classes = np.array([3, 0])
    for image, c in zip(source.exemplars(classes), classes, strict=True):
        index = source.pool(c, "train")[0]
        np.testing.assert_array_equal(image[18:46, 18:46], files["train"][0][10 * index + c])


def test_poses_of_one_image(characters):
    source = posed_source(characters, Poses(ANY_POSE, seed=0, n=50))
    parts = pools(source, 2)
    assert [len(part) for part in parts.values()] == [35, 5, 10, 0]
    assert sorted(np.concatenate(list(parts.values()))) == list(range(50))
    images, factors = source.load(np.full(50, 2), np.arange(50))
    assert len(np.unique(factors.array(), axis=0)) == 50
    canonical = source.exemplars(np.array([2]))[0].astype(float)
    area = images.sum(axis=(1, 2)) / canonical.sum()
    inside = (images[:, 0].max(axis=1) == 0) & (images[:, :, 0].max(axis=1) == 0)
    np.testing.assert_allclose(area[inside], factors.scale[inside] ** 2, rtol=0.05)


def test_discrete_poses_with_held_out(characters):
    grid = FactorSpace(scale=2, angle=8, x=3, y=3)
    source = posed_source(characters, Poses(grid, seed=0, held_out={"scale": (1.0, 1.0)}), n_poses=20)
    parts = pools(source, 0)
    assert [len(parts[name]) for name in SPLITS] == [14, 2, 4, 72]
    assert len(set(np.concatenate(list(parts.values())).tolist())) == 92
    rows = np.concatenate([parts[name] for name in ("train", "val", "test")])
    assert set(source.load(np.zeros(20, np.int64), rows)[1].scale) == {0.5}
    assert not np.array_equal(pools(source, 1)["train"], parts["train"])


def test_poses_use_the_first_image_only(tmp_path):
    red, noise = png(np.full((8, 8, 3), (255, 0, 0), np.uint8)), b"this does not decode"
    write_tree(tmp_path, {"a/1.png": red, "a/2.png": noise})
    source = posed_source(
        open_folder(tmp_path, drawn_size=28), Poses(ANY_POSE, seed=0, n=10), rgb=True, background=255
    )
    images, _ = source.load(np.zeros(10, np.int64), np.arange(10))
    assert (images[..., 0] == 255).all()
    assert (images[..., 1].min(axis=(1, 2)) == 0).all()


def test_trimmed(characters):
    source = posed_source(characters, Poses(CANONICAL, seed=0), trimmed=True)
    rows, columns = np.nonzero(source.exemplars(np.array([0]))[0])
    assert 28 <= rows.max() - rows.min() + 1 <= 30  # enlarged, so its edges are soft
    assert columns.max() - columns.min() + 1 < 10


def test_empty_batch(digits):
    images, factors = dataset_source(digits[0]).load(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (images.shape, len(factors)) == ((0, 64, 64), 0)


def test_reordered_dataset(digits):
    order = np.random.default_rng(0).permutation(10)
    plain, other = dataset_source(digits[0]), dataset_source(ReorderedDataset(digits[0], order))
    rows = np.array([3]), np.array([5])
    np.testing.assert_array_equal(other.load(*rows)[0], plain.load(order[rows[0]], rows[1])[0])
    assert other.class_name(3) == plain.class_name(order[3])


@pytest.mark.parametrize("kind", ["digits", "characters"])
def test_pickled_source(request, kind):
    value = request.getfixturevalue(kind)
    source = dataset_source(value[0] if kind == "digits" else value, ANY_POSE)
    copy = pickle.loads(pickle.dumps(source))
    rows = np.arange(4), np.arange(4)
    np.testing.assert_array_equal(copy.load(*rows)[0], source.load(*rows)[0])


def sizes(parts):
    return {name: len(part) for name, part in parts.items() if name != "held_out"}


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, (1, 0, 0)), (2, (1, 0, 1)), (5, (4, 0, 1)), (10, (7, 1, 2)), (15, (11, 1, 3)), (20, (14, 2, 4))],
)
def test_fractions_of_small_classes(n, expected):
    assert tuple(sizes(split_all(np.arange(n), SPLIT)).values()) == expected


@pytest.mark.parametrize(
    ("n", "expected"),
    [(100, (10, 5, 20)), (30, (5, 5, 20)), (22, (1, 1, 20)), (3, (1, 0, 2)), (1, (1, 0, 0))],
)
def test_counts_of_small_classes(n, expected):
    assert tuple(sizes(split_all(np.arange(n), (10, 5, 20))).values()) == expected


def test_given_test_images_stay_test_images():
    parts = split_train_val(np.arange(80), np.arange(100, 130), SPLIT)
    assert sizes(parts) == {"train": 70, "val": 10, "test": 30}
    assert sizes(split_train_val(np.arange(80), np.arange(100, 130), (20, 0, 7))) == {
        "train": 20,
        "val": 0,
        "test": 7,
    }
    assert parts["test"].min() == 100


@settings(max_examples=50)
@given(st.integers(1, 200), st.floats(0, 0.9), st.floats(0.01, 0.9))
def test_splits_are_disjoint_and_complete(n, val, test):
    total = 1.0 + val + test
    parts = split_all(np.arange(n), (1 / total, val / total, test / total))
    np.testing.assert_array_equal(np.sort(np.concatenate(list(parts.values()))), np.arange(n))
    assert len(parts["train"]) >= 1
    assert n == 1 or len(parts["test"]) >= 1
