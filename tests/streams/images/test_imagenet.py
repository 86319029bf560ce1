import shutil

import pytest

from everlearn import streams
from everlearn.errors import BadInput
from tests.golden.datasets import make_arrays, write_imagenet_r, write_tiny_imagenet


def pixels(images):
    return sorted(image.tobytes() for image in images)


def test_tiny_imagenet_with_annotations_and_with_folders(tmp_path):
    stream = streams.split_tiny_imagenet(data=write_tiny_imagenet(tmp_path), classes_per_task=10)
    task = stream.task(0)
    assert (len(task.train), len(task.val), len(task.test)) == (60, 0, 20)
    assert pixels(task.train.images) == pixels(make_arrays("train", 64, 3)[0])
    images, labels = make_arrays("test", 64, 3)
    assert pixels(task.test.images[task.test.labels == 3]) == pixels(images[labels == 3])
    val = tmp_path / "tiny-imagenet-200/val"
    (val / "val_annotations.txt").unlink()
    for number, label in enumerate(labels):
        (val / f"n{label:08}").mkdir(exist_ok=True)
        (val / "images" / f"val_{number}.png").rename(val / f"n{label:08}" / f"{number:02}.png")
    (val / "images").rmdir()
    again = streams.split_tiny_imagenet(data=tmp_path / "tiny-imagenet-200", classes_per_task=10)
    assert pixels(again.task(0).test.images) == pixels(task.test.images)
    shutil.rmtree(val)
    with pytest.raises(BadInput, match="has no folder 'val'; unpack"):
        streams.split_tiny_imagenet(data=tmp_path)


def test_imagenet_r_without_and_with_the_published_list(tmp_path):
    def split(**settings):
        return streams.imagenet_r(data=write_once, image_size=24, classes_per_task=10, **settings).task(0)

    write_once = write_imagenet_r(tmp_path)
    task = split()
    assert (len(task.train), len(task.val), len(task.test)) == (40, 0, 20), "a fifth of six is rounded up"
    assert pixels(split(seed=1).test.images) != pixels(task.test.images)
    images, labels = make_arrays("train", 24, 3)
    lines = [
        f"- data/imagenet-r/n{1443537 + label:08}/art_{i}.png" for i, label in enumerate(labels) if i < 10
    ]
    published = tmp_path / "imagenet-r/imagenet-r_test.yaml"
    published.write_text("\n".join(["data:", *lines, "targets:", "- 0"]))
    task = split()
    assert pixels(task.test.images) == pixels(images[:10])
    assert pixels(task.train.images) == pixels(images[10:])
    assert pixels(split(seed=1).test.images) == pixels(task.test.images)
    published.write_text("- data/imagenet-r/n01443537/art_77.png")
    with pytest.raises(BadInput, match=r"lacks 'n01443537/art_77.png', which imagenet-r_test.yaml lists"):
        split()


def test_imagenet_r_in_folders_train_and_test(tmp_path):
    write_imagenet_r(tmp_path / "all")
    for number, part in enumerate(("train", "test")):
        for folder in (tmp_path / "all/imagenet-r").iterdir():
            for path in sorted(folder.iterdir())[number::2]:
                target = tmp_path / "imagenet-r" / part / folder.name
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    stream = streams.imagenet_r(data=tmp_path, image_size=24, classes_per_task=5)
    assert [len(each.test) for each in stream] == [15, 15]
