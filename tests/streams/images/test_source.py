import pickle

import numpy as np
import pytest

from everlearn.factors import Factors, FactorSpace, Poses
from everlearn.streams.images.folder import open_folder
from everlearn.streams.images.mnist import open_mnist
from everlearn.streams.images.omniglot import open_omniglot
from everlearn.streams.images.source import Canvas, ManyDrawings, OneDrawing, Reordered
from everlearn.streams.stream import SPLITS

from .files import omniglot_members, png, write_mnist, write_tree, write_zip

STILL = FactorSpace(scale=1, angle=1, x=1, y=1)
ANYHOW = FactorSpace(
    scale={"low": 0.5, "high": 1.0},
    angle={"low": 0.0, "high": 6.28},
    x={"low": 0.0, "high": 1.0},
    y={"low": 0.0, "high": 1.0},
)
SPLIT = (0.7, 0.1, 0.2)


@pytest.fixture
def digits(tmp_path):
    written = write_mnist(tmp_path, n_train=300, n_test=50)
    return open_mnist(tmp_path), written


@pytest.fixture
def characters(tmp_path):
    write_zip(tmp_path / "images_background.zip", omniglot_members("images_background"))
    return open_omniglot(tmp_path)


def many(collection, space=STILL, seed=0, split=SPLIT, **canvas):
    options = {"image_size": 64, "drawn_size": 28} | canvas
    return ManyDrawings(collection=collection, canvas=Canvas(**options), split=split, seed=seed, space=space)


def one(collection, poses, seed=0, n_poses=None, **canvas):
    options = {"image_size": 64, "drawn_size": 28} | canvas
    return OneDrawing(
        collection=collection, canvas=Canvas(**options), split=SPLIT, seed=seed, poses=poses, n_poses=n_poses
    )


def pools(source, class_id):
    return {split: source.pool(class_id, split) for split in SPLITS}


def test_own_test_images_are_test_and_the_rest_is_cut_by_the_seed(digits):
    source = many(digits[0])
    parts = pools(source, 4)
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 27,
        "val": 3,
        "test": 5,
        "held_out": 0,
    }
    assert sorted(parts["test"]) == [30, 31, 32, 33, 34]
    assert sorted(np.concatenate(list(parts.values()))) == list(range(35))
    again, other = pools(many(digits[0]), 4), pools(many(digits[0], seed=1), 4)
    np.testing.assert_array_equal(again["train"], parts["train"])
    assert not np.array_equal(other["val"], parts["val"])


def test_without_own_test_images_every_class_is_cut(characters):
    for c in range(4):
        parts = pools(many(characters), c)
        assert [len(part) for part in parts.values()] == [14, 2, 4, 0]
        assert sorted(np.concatenate(list(parts.values()))) == list(range(20))


def test_static_images_are_the_files_in_the_middle(digits):
    collection, written = digits
    source = many(collection)
    images, factors = source.draw(np.array([7, 7]), np.array([2, 31]))
    np.testing.assert_array_equal(images[0, 18:46, 18:46], written["train"][0][27])
    np.testing.assert_array_equal(images[1, 18:46, 18:46], written["t10k"][0][17])
    assert factors == Factors.canonical(2)
    assert (source.n_classes, source.image_shape, source.class_name(7)) == (10, (64, 64), "7")


def test_moving_images_are_shown_where_their_factors_say(digits):
    collection, written = digits
    places = [0.0, 0.25, 0.5, 1.0]
    source = many(collection, FactorSpace(scale=1, angle=1, x=places, y=places))
    images, factors = source.draw(np.zeros(30, np.int64), np.arange(30))
    for i, image in enumerate(images):
        left, top = (int(64 * (0.25 + 0.5 * p)) - 14 for p in (factors.x[i], factors.y[i]))
        np.testing.assert_array_equal(image[top : top + 28, left : left + 28], written["train"][0][10 * i])
    assert len({(x, y) for x, y in zip(factors.x, factors.y, strict=True)}) > 8


def test_a_row_is_the_same_in_any_company(characters):
    source = many(characters, ANYHOW)
    rng = np.random.default_rng(0)
    classes, numbers = rng.integers(0, 4, 30), rng.integers(0, 20, 30)
    images, factors = source.draw(classes, numbers)
    for i in range(30):
        alone, own = source.draw(classes[i : i + 1], numbers[i : i + 1])
        np.testing.assert_array_equal(alone[0], images[i])
        assert own == factors[i]


def test_inverted_is_the_negative_exemplars_too(digits):
    plain, negative = many(digits[0]), many(digits[0], inverted=True)
    rows = np.arange(5), np.arange(5)
    np.testing.assert_array_equal(negative.draw(*rows)[0], 255 - plain.draw(*rows)[0])
    np.testing.assert_array_equal(negative.exemplars(rows[0]), 255 - plain.exemplars(rows[0]))


def test_coloured_images_have_the_colour_of_their_factors(digits):
    palette = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    source = many(digits[0], FactorSpace(scale=1, angle=1, x=1, y=1, colour=palette), rgb=True)
    images, factors = source.draw(np.zeros(30, np.int64), np.arange(30))
    assert source.image_shape == images.shape[1:] == (64, 64, 3)
    lit = images.max(axis=(1, 2)) > 0
    np.testing.assert_array_equal(lit, factors.colour > 0)
    assert len(np.unique(factors.colour, axis=0)) == 3


def test_exemplars_are_first_training_images_in_canonical_form(digits):
    collection, written = digits
    source = many(collection, ANYHOW)
    classes = np.array([3, 0])
    for image, c in zip(source.exemplars(classes), classes, strict=True):
        number = source.pool(c, "train")[0]
        np.testing.assert_array_equal(image[18:46, 18:46], written["train"][0][10 * number + c])


def test_poses_of_one_drawing(characters):
    source = one(characters, Poses(ANYHOW, seed=0, n=50))
    parts = pools(source, 2)
    assert [len(part) for part in parts.values()] == [35, 5, 10, 0]
    assert sorted(np.concatenate(list(parts.values()))) == list(range(50))
    images, factors = source.draw(np.full(50, 2), np.arange(50))
    assert len(np.unique(factors.array(), axis=0)) == 50
    canonical = source.exemplars(np.array([2]))[0].astype(float)
    ink = images.sum(axis=(1, 2)) / canonical.sum()
    whole = (images[:, 0].max(axis=1) == 0) & (images[:, :, 0].max(axis=1) == 0)
    np.testing.assert_allclose(ink[whole], factors.scale[whole] ** 2, rtol=0.05)


def test_grid_poses_are_chosen_by_the_seed_and_some_held_out(characters):
    grid = FactorSpace(scale=2, angle=8, x=3, y=3)
    source = one(characters, Poses(grid, seed=0, held_out={"scale": (1.0, 1.0)}), n_poses=20)
    parts = pools(source, 0)
    assert [len(parts[name]) for name in SPLITS] == [14, 2, 4, 72]
    assert len(set(np.concatenate(list(parts.values())).tolist())) == 92
    rows = np.concatenate([parts[name] for name in ("train", "val", "test")])
    assert set(source.draw(np.zeros(20, np.int64), rows)[1].scale) == {0.5}
    assert not np.array_equal(pools(source, 1)["train"], parts["train"])


def test_poses_use_nothing_but_the_first_drawing(tmp_path):
    red, noise = png(np.full((8, 8, 3), (255, 0, 0), np.uint8)), b"this does not decode"
    write_tree(tmp_path, {"a/1.png": red, "a/2.png": noise})
    source = one(open_folder(tmp_path, drawn_size=28), Poses(ANYHOW, seed=0, n=10), rgb=True, background=255)
    images, _ = source.draw(np.zeros(10, np.int64), np.arange(10))
    assert (images[..., 0] == 255).all()
    assert (images[..., 1].min(axis=(1, 2)) == 0).all()


def test_trimmed_drawings_fill_their_size(characters):
    source = one(characters, Poses(STILL, seed=0), trimmed=True)
    rows, columns = np.nonzero(source.exemplars(np.array([0]))[0])
    assert 28 <= rows.max() - rows.min() + 1 <= 30  # enlarged, so its ends fade
    assert columns.max() - columns.min() + 1 < 10


def test_no_rows(digits):
    images, factors = many(digits[0]).draw(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (images.shape, len(factors)) == ((0, 64, 64), 0)


def test_reordered_classes_keep_their_images(digits):
    order = np.random.default_rng(0).permutation(10)
    plain, other = many(digits[0]), many(Reordered(digits[0], order))
    rows = np.array([3]), np.array([5])
    np.testing.assert_array_equal(other.draw(*rows)[0], plain.draw(order[rows[0]], rows[1])[0])
    assert other.class_name(3) == plain.class_name(order[3])


@pytest.mark.parametrize("kind", ["digits", "characters"])
def test_a_copy_in_another_process_draws_the_same(request, kind):
    found = request.getfixturevalue(kind)
    source = many(found[0] if kind == "digits" else found, ANYHOW)
    copy = pickle.loads(pickle.dumps(source))
    rows = np.arange(4), np.arange(4)
    np.testing.assert_array_equal(copy.draw(*rows)[0], source.draw(*rows)[0])
