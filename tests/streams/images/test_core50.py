"""The layout of CORe50 with three objects and seven sessions of a few frames."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from everlearn.errors import BadInput
from everlearn.streams import build, core50

SESSIONS, OBJECTS = (1, 2, 3, 4, 7, 10, 11), (1, 2, 10)


def frames_of(session: int) -> int:
    return 2 + session % 3


def write_core50(root: Path) -> Path:
    """Red is the session, green the object, blue the frame."""
    for s in SESSIONS:
        for o in OBJECTS:
            folder = root / f"s{s}" / f"o{o}"
            folder.mkdir(parents=True)
            for frame in range(frames_of(s)):
                colour = np.full((20, 20, 3), (10 * s, 10 * o, 10 * frame), np.uint8)
                Image.fromarray(colour).save(folder / f"C_{s:02}_{o:02}_{frame:03}.png")
    return root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_core50(tmp_path / "core50_128x128")


def identities(batch) -> set[tuple[int, int, int]]:
    """Session, object and frame of each image."""
    return {tuple((np.rint(image[8, 8] / 10)).astype(int).tolist()) for image in batch.images}


def settings(tree: Path, **changes):
    return {"data": tree, "image_size": 16, "first_classes": 2, "classes_per_task": 1, **changes}


def test_sessions_3_7_and_10_are_test_sessions(tree):
    stream = core50(**settings(tree, scenario="nc"))
    tasks = list(stream)
    assert [len(task.labels) for task in tasks] == [2, 1]
    trained = set.union(*(identities(task.train) for task in tasks))
    tested = set.union(*(identities(task.test) for task in tasks))
    assert {s for s, _, _ in trained} == {1, 2, 4, 11}
    assert {s for s, _, _ in tested} == {3, 7, 10}
    all_frames = {(s, o, frame) for s in SESSIONS for o in OBJECTS for frame in range(frames_of(s))}
    assert trained | tested == all_frames


def test_nic_task_is_one_session_of_one_object(tree):
    stream = core50(**settings(tree, scenario="nic"))
    assert len(stream) == 1 + 3 * 4 - 2
    sessions = [identities(task.train) for task in stream]
    assert len({(s, o) for s, o, _ in sessions[0]}) == 2
    for session in sessions[1:]:
        ((s, _),) = {(s, o) for s, o, _ in session}
        assert len(session) == frames_of(s)
    assert (
        len(set.union(*sessions)) == sum(map(len, sessions)) == 3 * sum(frames_of(s) for s in (1, 2, 4, 11))
    )


def test_ni_task_is_one_session_of_every_object(tree):
    stream = core50(**settings(tree, scenario="ni", first_classes=None))
    assert len(stream) == 4
    for task in stream:
        assert {o for _, o, _ in identities(task.train)} == set(OBJECTS)
        assert len({s for s, _, _ in identities(task.train)}) == 1


def test_class_order_depends_on_the_seed(tree):
    def order(seed):
        stream = core50(**settings(tree, scenario="nc", seed=seed))
        return tuple(stream.source.class_name(c) for c in range(3))

    assert {frozenset(order(seed)) for seed in range(5)} == {frozenset({"object 1", "object 2", "object 10"})}
    assert len({order(seed) for seed in range(10)}) > 1
    stream = core50(**settings(tree, scenario="nc", seed=3))
    for task in stream:
        for label in task.labels:
            (number,) = {o for _, o, _ in identities(task.train[task.train.labels == label])}
            assert stream.source.class_name(label) == f"object {number}"


def test_frame_step_and_gray_images(tree):
    assert core50(**settings(tree, rgb=False)).task(0).train.images.shape[1:] == (16, 16)
    stream = core50(**settings(tree, scenario="nc", frame_step=2))
    assert {frame for task in stream for _, _, frame in identities(task.train)} == {0, 2}


def test_everlearn_data_and_spec(tree, monkeypatch):
    monkeypatch.setenv("EVERLEARN_DATA", str(tree.parent))
    stream = core50(**settings(tree) | {"data": None})
    again = build(stream.spec.to_mapping())
    assert again.id == "core50/nc-v1"
    assert again.fingerprint() == stream.fingerprint() == core50(**settings(tree)).fingerprint()


def test_incomplete_trees_are_rejected(tree, tmp_path):
    with pytest.raises(BadInput, match=r"core50 is not in .*; copy the folders s1"):
        core50(data=tmp_path / "core50_128x128" / "s2")
    for path in (tree / "s4" / "o10").iterdir():
        path.unlink()
    with pytest.raises(BadInput, match="no image in"):
        core50(**settings(tree))
    (tree / "s4" / "o10").rmdir()
    with pytest.raises(BadInput, match=r"session s4 .* lacks object o10"):
        core50(**settings(tree))


def test_training_and_test_sessions_are_required(tmp_path):
    for s in (1, 2):
        (tmp_path / f"s{s}" / "o1").mkdir(parents=True)
    with pytest.raises(BadInput, match="s3, s7 and s10"):
        core50(data=tmp_path)
