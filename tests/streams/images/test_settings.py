import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from everlearn import streams
from everlearn.errors import BadInput
from everlearn.streams.images.settings import (
    FolderSettings,
    MnistSettings,
    OmniglotSettings,
    fashion,
    folder,
    mnist,
    omniglot,
    pixel_positions,
)

from .files import omniglot_members, png, write_mnist, write_tree, write_zip


@pytest.fixture
def data(tmp_path):
    write_mnist(tmp_path, n_train=300, n_test=50)
    write_mnist(tmp_path, name="fashion-mnist", n_train=300, n_test=50)
    write_zip(
        tmp_path / "omniglot/images_background.zip", omniglot_members("images_background", n_characters=5)
    )
    rng = np.random.default_rng(0)
    icons = {f"icons/{name}.png": png(rng.integers(0, 256, (12, 9, 4), dtype=np.uint8)) for name in "abcdef"}
    pets = {
        f"pets/{pet}/{i}.png": png(Image.new("L", (20, 30), 20 * i))
        for pet in ("cat", "dog")
        for i in range(12)
    }
    write_tree(tmp_path, icons | pets)
    return tmp_path


def test_every_kind_makes_tasks(data):
    assert str(mnist(data=data)) == "<mnist/class-incremental-v1: 5 tasks>"
    assert str(fashion(data=data, variant="inverted")) == "<fashion/inverted-class-incremental-v1: 5 tasks>"
    assert str(omniglot(data=data, n_poses=20)) == "<omniglot/posed-class-incremental-v1: 1 tasks>"
    assert str(folder(data=data / "pets", classes_per_task=1)) == "<folder/class-incremental-v1: 2 tasks>"


def test_task_sizes(data):
    task = mnist(data=data, variant="moving").task(1)
    assert task.labels == (2, 3)
    assert (len(task.train), len(task.val), len(task.test), len(task.exemplars)) == (54, 6, 10, 2)
    assert set(task.train.labels) == {2, 3}
    assert len(np.unique(task.train.factors.x)) > 10


def test_classes_of_unequal_size(tmp_path):
    write_tree(
        tmp_path, {f"class{n}/{i}.png": png(Image.new("L", (8, 8))) for n in (1, 2, 30) for i in range(n)}
    )
    task = folder(data=tmp_path, classes_per_task=3).task(0)  # class1, class2, class30
    counts = [np.bincount(task.split(name).labels, minlength=3).tolist() for name in ("train", "val", "test")]
    assert counts == [[1, 1, 21], [0, 0, 3], [0, 1, 6]]


@pytest.mark.parametrize(
    "settings",
    [
        {"stream": "fashion", "variant": "coloured", "image_size": 32, "shuffled_classes": True},
        {"stream": "omniglot", "n_poses": 10, "x": [0.25, 0.75], "angle": {"low": 0.0, "high": 3.0}},
        {
            "stream": "folder",
            "n_poses": 12,
            "held_out": {"scale": [0.5, 0.6]},
            "classes_per_task": 3,
            "background": 0,
        },
    ],
)
def test_json_and_toml_round_trip(data, settings):
    folder_path = data / "icons" if settings["stream"] == "folder" else data
    spec = streams.from_mapping(settings | {"data": str(folder_path)})
    fingerprints = {
        read(text).build().fingerprint()
        for read, text in ((streams.from_json, spec.to_json()), (streams.from_toml, spec.to_toml()))
    }
    assert fingerprints == {spec.build().fingerprint()}


def test_variants_and_seeds_differ(data):
    variants = ["static", "moving", "posed", "inverted", "coloured", "moving-coloured"]
    fingerprints = [mnist(data=data, variant=variant, n_tasks=1).fingerprint() for variant in variants]
    fingerprints += [
        mnist(data=data, seed=1, n_tasks=1).fingerprint(),
        mnist(data=data, shuffled_classes=True).fingerprint(),
    ]
    assert len(set(fingerprints)) == 8


def test_folder_of_icons_in_poses(data):
    stream = folder(data=data / "icons", n_poses=40, classes_per_task=3)
    task = stream.task(1)
    assert stream.source.class_name(3) == "d"
    assert (len(task.train), len(task.val), len(task.test)) == (84, 12, 24)
    assert task.exemplars.images.shape == (3, 64, 64, 3)
    assert task.exemplars.images[:, 0, 0].min() == 255  # the background


def test_default_drawn_size():
    assert MnistSettings().resolved_drawn_size == 28
    assert MnistSettings(image_size=32).resolved_drawn_size == 14
    assert MnistSettings(image_size=28, drawn_size=28).resolved_drawn_size == 28
    assert FolderSettings().resolved_drawn_size == 64
    assert (
        FolderSettings(n_poses=3).resolved_drawn_size
        == FolderSettings(variant="moving").resolved_drawn_size
        == FolderSettings(angle=4).resolved_drawn_size
        == 28
    )


@pytest.mark.parametrize(("image_size", "drawn_size"), [(64, 28), (32, 15), (33, 14), (16, 16)])
def test_pixel_positions_are_inside_the_image(image_size, drawn_size):
    positions = pixel_positions(image_size, drawn_size)
    corners = np.array([(0.25 + 0.5 * p) * image_size - drawn_size / 2 for p in positions])
    np.testing.assert_allclose(corners, np.round(corners), atol=1e-9)
    assert corners.min() >= 0
    assert corners.max() <= image_size - drawn_size
    assert len(positions) == len(set(positions)) >= 1


INVALID = {
    "unknown variant 'movin'; did you mean 'moving'": {"variant": "movin"},
    "unknown mnist setting 'varaint'": {"varaint": "moving"},
    "drawn_size is 80, more than image_size 64": {"drawn_size": 80},
    "held_out requires n_poses": {"held_out": 3},
    "n_poses is 7, but the factors allow only 4": {"n_poses": 7, "variant": "static", "angle": 4},
    "split is": {"split": (0.5, 0.1, 0.1)},
    "image_size is -3": {"image_size": -3},
    "classes_per_task is 11": {"classes_per_task": 11},
    "give at least one": {"scale": []},
    "an empty range; low must be below high": {"scale": {"low": 1.0, "high": 0.5}},
    "contains everything; give one": {
        "n_poses": 4,
        "variant": "static",
        "angle": 4,
        "held_out": {"angle": [0, 7]},
    },
}


@pytest.mark.parametrize(("message", "given"), INVALID.items())
def test_invalid_settings_are_rejected(message, given):
    with pytest.raises(BadInput, match=message):
        MnistSettings(**given)


def test_one_image_per_class_requires_poses(data):
    with pytest.raises(BadInput, match="set n_poses=100"):
        folder(data=data / "icons")


@pytest.mark.usefixtures("no_data")
def test_missing_folder_setting():
    with pytest.raises(BadInput, match="set EVERLEARN_DATA or data="):
        mnist()
    with pytest.raises(BadInput, match="the folder of images is not given"):
        folder()


def test_settings_do_not_load_compiled_code_or_decoders():
    code = (
        "import sys, everlearn.streams as s; s.SpriteSettings(); s.settings_class('omniglot')(n_poses=3); "
        "print(sorted({'numba', 'PIL', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_real_datasets(real_data):
    assert len(mnist(data=real_data)) == 5
    task = mnist(data=real_data, variant="moving", split=(50, 5, 10)).task(0)
    assert (len(task.train), len(task.test)) == (100, 20)
    assert len(omniglot(data=real_data, n_poses=10)) == 25
    assert OmniglotSettings(data=real_data).build().task(24).labels == (240, 241)
