"""Round trips of all formats and contents."""

import hashlib
import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.streams import sprites
from everlearn.streams.exports import FORMATS, export, load
from everlearn.streams.exports.codec import PartKey
from everlearn.streams.exports.formats import Npz

from .tiny_stream import TinyStream, same_task, tree

FLAGS = ("rgb", "factors", "held_out", "provides_task_ids")
VARIANTS = [{name: name in on for name in FLAGS} for on in ((), FLAGS, *((name,) for name in FLAGS))]


@pytest.mark.parametrize("to", FORMATS.names())
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(k for k in v if v[k]) or "plain")
def test_round_trip(tmp_path, to, variant):
    stream = TinyStream(**variant)
    manifest = export(stream, tmp_path / "out", to=to, tasks=range(2))
    again = load(tmp_path / "out")
    assert all(same_task(a, b) for a, b in zip(stream.take(2), again, strict=True))
    assert (again.id, again.n_tasks, len(again)) == (stream.id, 2, 2)
    assert json.loads(again.spec.to_json()) == json.loads(stream.spec.to_json())
    assert manifest.fingerprint == stream.fingerprint(range(2)) == again.fingerprint() == stream.fingerprint()


@pytest.mark.parametrize("to", FORMATS.names())
def test_equal_exports_have_equal_bytes(tmp_path, to, monkeypatch):
    export(TinyStream(), tmp_path / "one", to=to)
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    export(TinyStream(), tmp_path / "two", to=to)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


@pytest.mark.parametrize("to", FORMATS.names())
def test_every_file_has_a_checksum(tmp_path, to):
    export(TinyStream(), tmp_path, to=to, tasks=[0, 2])
    words = b"".join(data for name, data in tree(tmp_path).items() if name.endswith((".json", ".csv")))
    for name, data in tree(tmp_path).items():
        assert name == "manifest.json" or hashlib.sha256(data).hexdigest().encode() in words


def test_tasks_keep_their_indices(tmp_path):
    stream = TinyStream(n_tasks=None)
    manifest = export(stream, tmp_path, tasks=(1_000_000, 3, 3))
    again = load(tmp_path)
    assert [task.index for task in again] == [3, 1_000_000] == [task.index for task in again.take(5)]
    assert [task.index for task in again.take(1)] == [3]
    assert same_task(again.task(1_000_000), stream.task(1_000_000))
    assert manifest.fingerprint == again.fingerprint() == stream.fingerprint([3, 1_000_000])
    with pytest.raises(BadInput, match=r"no task 0 in .*; it holds tasks 3, 1000000 of tiny"):
        again.task(0)
    with pytest.raises(BadInput, match="cannot take -1"):
        again.take(-1)


def test_export_of_an_export(tmp_path):
    for number, to in enumerate(FORMATS.names()):
        stream = load(tmp_path / str(number - 1)) if number else TinyStream(provides_task_ids=True)
        export(stream, tmp_path / str(number), to=to)
    assert load(tmp_path / "3").fingerprint(range(4)) == TinyStream(provides_task_ids=True).fingerprint(
        range(4)
    )


def test_splits_are_read_lazily(tmp_path):
    export(TinyStream(), tmp_path)
    for path in tmp_path.rglob("*.npz"):
        if path.name != "test.npz":
            path.unlink()
    assert load(tmp_path).task(2).test == TinyStream().task(2).test


def test_unknown_stream_cannot_be_built(tmp_path):
    export(TinyStream(), tmp_path, tasks=[0])
    with pytest.raises(BadInput, match="'tiny' is not known here"):
        load(tmp_path).spec.build()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probe")
    export(TinyStream(n_tasks=7), folder)
    return load(folder)


@settings(deadline=None, max_examples=25)
@given(n_tasks=st.integers(1, 7), size=st.integers(1, 40), seed=st.integers(0, 3))
def test_eval_sample_is_balanced(exported, n_tasks, size, seed):
    probe = exported.eval_sample(n_tasks, size, seed)
    assert probe == exported.eval_sample(n_tasks, size, seed)
    assert len(probe) == min(size, 4 * n_tasks)
    counts = np.bincount(probe.labels, minlength=2 * n_tasks)
    assert len(counts) == 2 * n_tasks
    assert counts.max() - counts.min() <= 1
    real = {image.tobytes() for task in exported.take(n_tasks) for image in task.test.images}
    assert {image.tobytes() for image in probe.images} <= real
    assert len({image.tobytes() for image in probe.images}) == len(probe)


@pytest.mark.parametrize(("n_tasks", "size"), [(0, 5), (3, 0), (-1, 5)])
def test_empty_eval_sample_is_refused(exported, n_tasks, size):
    with pytest.raises(BadInput, match="both must be 1 or more"):
        exported.eval_sample(n_tasks, size)


SMALL = {"image_size": 16, "classes_per_task": 2, "factor_values": 3}


SETTINGS = [{}, {"rgb": True, "held_out": 4}, {"scenario": "task-incremental"}, {"boundaries": "gradual"}]


@pytest.mark.parametrize(("to", "settings"), list(zip(FORMATS.names(), SETTINGS, strict=True)))
def test_round_trip_of_sprites(tmp_path, to, settings):
    stream = sprites(**SMALL, **settings)
    export(stream, tmp_path, to=to, tasks=range(2))
    again = load(tmp_path)
    assert (again.id, again.spec) == (stream.id, stream.spec)
    assert again.fingerprint() == stream.fingerprint() == again.spec.build().fingerprint()
    for a, b in zip(stream.take(2), again, strict=True):
        assert (a, a.train, a.exemplars) == (b, b.train, b.exemplars)
        assert (a.train.tasks is None) == (settings.get("scenario") != "task-incremental")


def test_interrupted_npz_raises_the_interrupt():
    """ZipFile replaces an interrupt in an open member by a ValueError."""
    batch, key = TinyStream().task(0).train, PartKey(0, "train")

    def n_lines(stop):
        count = 0

        def trace(frame, event, arg):
            nonlocal count
            if frame.f_code.co_name == "__del__":  # where Python ignores errors
                return None
            count += 1
            if count == stop:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            list(Npz().encode(batch, key, 5))
        finally:
            sys.settrace(None)
        return count

    n_lines(0)  # the first call imports modules
    for stop in range(1, n_lines(0), 7):
        with pytest.raises(KeyboardInterrupt):
            n_lines(stop)
