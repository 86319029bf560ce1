"""One function brings every image into canonical form: of `teach`, `ask`, and streams of files and arrays."""

import numpy as np
import pytest
from PIL import Image

from everlearn import Recogniser, runs, streams
from everlearn.streams.images.canonical import INNER
from tests.recognition.things import photo, thing

N_TAUGHT = 4
SIZE = 128
GRAY, WHITE = (120, 120, 120), (255, 255, 255)


def save_jpeg(image, path):
    Image.fromarray(image).save(path, quality=95)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One photo of each thing, at other places and sizes, on plain backgrounds."""
    folder = tmp_path_factory.mktemp("photos")
    for number in range(N_TAUGHT):
        pose = {"scale": 0.4 + 0.1 * number, "x": number / N_TAUGHT, "y": 0.7}
        image = photo(number, **pose, background=GRAY if number % 2 else WHITE, size=240)
        save_jpeg(image, folder / f"thing {number}.jpg")
    return folder


@pytest.fixture(scope="module")
def taught(files, tmp_path_factory):
    """A memory of these files, and what it has stored of each."""
    with Recogniser.open(tmp_path_factory.mktemp("memory"), features="gradients") as memory:
        stored = [memory.teach(file, file.stem)[0] for file in sorted(files.iterdir())]
        yield memory, np.stack(stored)


def test_a_file_is_recognised_in_eight_poses_three_sizes_and_on_another_background(taught, tmp_path):
    memory, _ = taught
    for number in range(N_TAUGHT):
        turned = [photo(number, angle=45.0 * turn, scale=0.5, x=turn / 8) for turn in range(8)]
        sized = [photo(number, angle=20, size=size) for size in (70, 200, 800)]
        others = [photo(number, angle=160, background=(60, 90, 160))]
        asked = [
            save_jpeg(image, tmp_path / f"{number}-{i}.jpg")
            for i, image in enumerate([*turned, *sized, *others])
        ]
        assert [answer.best for answer in memory.ask(asked)] == [f"thing {number}"] * len(asked)


def on_white(exemplars):
    alpha = exemplars[..., 3:] / 255
    return (exemplars[..., :3] * alpha + 255 * (1 - alpha)).round()


def settings(**more):
    size = {"image_size": SIZE, "drawn_size": round(INNER * SIZE), "background": 255, "rgb": True}
    return {**size, "classes_per_task": N_TAUGHT, "split": (1, 0, 1), **more}


def assert_same(images, stored):
    """Equal up to resampling at the border of the object and within it."""
    difference = np.abs(images.astype(float) - on_white(stored))
    assert difference.mean() < 3
    assert np.quantile(difference, 0.95) < 30


def test_a_class_of_a_folder_has_the_canonical_image_that_teach_stores(files, taught):
    _, stored = taught
    task = streams.from_folder(files, n_poses=2, **settings()).task(0)
    assert_same(task.exemplars.images, stored)
    # Without cutting out, the whole photo is drawn.
    whole = streams.from_folder(files, n_poses=2, **settings(cut_out=False)).task(0)
    assert np.abs(whole.exemplars.images.astype(float) - on_white(stored)).mean() > 10


def test_a_class_of_arrays_has_the_canonical_image_that_teach_stores(files, taught):
    _, stored = taught
    images = np.stack([np.asarray(Image.open(file)) for file in sorted(files.iterdir())])
    posed = streams.from_arrays(images, np.arange(N_TAUGHT), n_poses=2, **settings()).task(0)
    assert_same(posed.exemplars.images, stored)
    # Every image once, as it is or cut out.
    twice, labels = np.concatenate([images, images]), np.tile(np.arange(N_TAUGHT), 2)
    cut = streams.from_arrays(twice, labels, cut_out=True, **settings()).task(0)
    assert_same(cut.exemplars.images, stored)


def test_images_without_transparency_are_drawn_whole_unless_cut_out_is_set(files):
    (files.parent / "classes" / "a").mkdir(parents=True, exist_ok=True)
    for number in range(2):
        thing(number).convert("RGB").save(files.parent / "classes" / "a" / f"{number}.png")
    plain = streams.from_folder(files.parent / "classes", classes_per_task=1)
    assert not plain.spec.cut_out
    assert plain.id == "folder/class-incremental-v1"


def spec(**stream):
    return runs.RunSpec.from_mapping({"stream": {"stream": "folder", "data": "photos", **stream}})


@pytest.mark.parametrize("given", [{"n_poses": 20}, {}])
def test_stored_specs_from_before_keep_their_meaning_and_their_hash(given):
    written = spec(**given, cut_out=False).to_mapping()
    assert "cut_out" not in written["stream"]
    again = runs.RunSpec.from_mapping(written)
    assert again.stream.cut_out is False
    assert again.hash == spec(**given, cut_out=False).hash


def test_new_specs_with_poses_are_cut_out_and_say_so():
    new = spec(n_poses=20)
    assert new.stream.cut_out is True
    assert new.to_mapping()["stream"]["cut_out"] is True
    assert runs.RunSpec.from_mapping(new.to_mapping()) == new
    assert new.stream.title == "cut-out-posed-class-incremental"
    assert new.hash != spec(n_poses=20, cut_out=False).hash
