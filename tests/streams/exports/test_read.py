"""Reading exports and invalid input: errors leave files unchanged."""

import io
import json
import re
import shutil
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everlearn.errors import BadInput
from everlearn.files import sha256
from everlearn.streams.exports import FORMATS, export, load
from everlearn.streams.exports.formats import codec
from everlearn.streams.exports.manifest import Manifest

from .tiny_stream import TinyStream, tree


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"to": "npy"}, "unknown format 'npy'; did you mean 'npz'"),
        ({"tasks": []}, "no tasks are given"),
        ({"tasks": [7]}, "no task 7 in tiny"),
        ({"tasks": [-1]}, "no task -1"),
        ({"stream": TinyStream(n_tasks=None)}, "is infinite; choose tasks"),
    ],
)
def test_invalid_arguments_create_no_folder(tmp_path, change, sentence):
    request = {"stream": TinyStream(), "path": tmp_path / "new", **change}
    with pytest.raises(BadInput, match=sentence):
        export(**request)
    assert not (tmp_path / "new").exists()


def test_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("content")
    with pytest.raises(BadInput, match="contains other files"):
        export(TinyStream(), tmp_path)
    assert tree(tmp_path) == {"thesis.tex": b"content"}


def test_path_of_a_file_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("content")
    with pytest.raises(BadInput, match="is a file; give a folder"):
        export(TinyStream(), file)
    with pytest.raises(BadInput, match=r"cannot write .*; choose a writable folder"):
        export(TinyStream(), file / "under")
    with pytest.raises(BadInput, match="is not a valid folder name"):
        export(TinyStream(), "a\0b")
    assert file.read_text() == "content"


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stream": TinyStream(seed=5)}, "seed was 0, is 5; choose another folder"),
        ({"to": "png"}, "to was npz, is png"),
        ({"tasks": range(3)}, "tasks was 0 to 3, is 0 to 2"),
        ({"stream": TinyStream(rgb=True)}, "rgb was False, is True"),
    ],
)
def test_different_export_in_the_same_folder_is_refused(tmp_path, finished, change, sentence):
    def stop(done, total, word):
        if done == 1 and not finished:
            raise KeyboardInterrupt

    try:
        export(TinyStream(), tmp_path, progress=stop)
    except KeyboardInterrupt:
        assert not finished
    before = tree(tmp_path)
    with pytest.raises(BadInput, match=sentence):
        export(**{"stream": TinyStream(), "path": tmp_path, **change})
    assert tree(tmp_path) == before


def test_loading_another_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is not an export"):
        load(tmp_path)
    with pytest.raises(BadInput, match="there is no folder"):
        load(tmp_path / "nowhere")


@pytest.fixture(scope="module", params=FORMATS.names())
def good(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    export(TinyStream(), folder, to=request.param, tasks=[0])
    return folder


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damaged_byte_is_detected(good, tmp_path, data):
    """A changed, truncated or missing file is always reported by name."""
    shutil.rmtree(tmp_path / "bad", ignore_errors=True)
    shutil.copytree(good, tmp_path / "bad")
    names = sorted(name for name in tree(good) if name != "README.md")
    victim = tmp_path / "bad" / data.draw(st.sampled_from(names))
    content = bytearray(victim.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "gone"]))
    if kind == "flip":
        content[position] ^= 1 << data.draw(st.integers(0, 7))
        victim.write_bytes(content)
    elif kind == "cut":
        victim.write_bytes(content[:position])
    else:
        victim.unlink()
    if victim.exists() and victim.suffix == ".json" and _as_json(victim) == _as_json(good / victim.name):
        return  # white space between words may change without a loss
    with pytest.raises(BadInput, match=re.escape(str(tmp_path / "bad"))):
        load(tmp_path / "bad").fingerprint()


def _as_json(path):
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def forged(good, folder, part, data):
    """A copy of an export in which a part's file is replaced and all checksums agree with it."""
    shutil.copytree(good, folder)
    manifest = load(folder).manifest
    (folder / "task-000000" / f"{part}{codec(manifest.to).suffix}").write_bytes(data)
    content = manifest.model_dump()
    content["contents"][0]["parts"][part]["sha256"] = sha256(data)
    (folder / "manifest.json").write_text(Manifest(**content).with_checksum().model_dump_json())
    return load(folder)


def zip_of(arrays):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)
    return buffer.getvalue()


def tar_of(kind, size=0):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as shard:
        member = tarfile.TarInfo("000000-000000.json")
        member.type, member.linkname, member.size = kind, "/etc/passwd", size
        shard.addfile(member)
    return buffer.getvalue()


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


HOSTILE = {
    "nothing": b"",
    "noise": bytes(range(256)) * 8,
    "pickled": zip_of({"images": np.array([Bomb()], object)}),
    "zip bomb": zip_of({"images": np.zeros(10**8, np.uint8)}),
    "other images": zip_of(
        {"images": np.zeros((6, 99, 99), np.uint8), "label": np.zeros(6), "task": np.zeros(6)}
    ),
    "symbolic link": tar_of(tarfile.SYMTYPE),
    "device": tar_of(tarfile.CHRTYPE),
    "cut tar": tar_of(tarfile.REGTYPE, 10**9),
    "empty table": b"file,label,task,sha256\n",
    "path traversal": b"file,label,task,sha256\n" + b"x,../../../../etc/passwd,0,0\n" * 6,
}


def test_hostile_files_are_refused(good, tmp_path):
    for name, data in HOSTILE.items():
        stream = forged(good, tmp_path / name, "train", data)
        with pytest.raises(BadInput, match="does not match the manifest"):
            stream.task(0).train  # noqa: B018


def test_large_png_is_refused_before_decoding(tmp_path):
    from everlearn.streams.exports.codec import from_png, to_png

    image = to_png(np.zeros((600, 600), np.uint8))
    with pytest.raises(ValueError, match="not a PNG image of 16 x 16"):
        from_png(image, (16, 16))
    with pytest.raises(ValueError, match="mode L"):
        from_png(image, (600, 600, 3))


def test_newer_format_is_refused(tmp_path):
    export(TinyStream(), tmp_path, tasks=[0])
    content = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**content, "format": 2, "news": True}))
    with pytest.raises(BadInput, match="format 2 and this everlearn reads 1"):
        load(tmp_path)


def test_damaged_manifest_is_refused(tmp_path):
    export(TinyStream(), tmp_path, tasks=[0])
    for content in ("", "[]", "{}", "null", "\x00", '{"format": 1, "tasks": 3}'):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(BadInput, match=r"manifest\.json is damaged"):
            load(tmp_path)
        with pytest.raises(BadInput, match=r"manifest\.json is damaged"):
            export(TinyStream(), tmp_path, tasks=[0])
