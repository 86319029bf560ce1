import hashlib
import io
import re
import stat
import tarfile
import zipfile

import pytest

from everlearn.errors import BadInput
from everlearn.streams.images import fetch as module
from everlearn.streams.images.fetch import address, download, fetch, unpack
from everlearn.streams.images.sources import SOURCES, DataSource, RemoteFile
from tests.file_server import serve

CONTENT = bytes(range(256)) * 5000
MD5 = hashlib.md5(CONTENT).hexdigest()
FILE = RemoteFile("http://data.example/some/set.bin", MD5)


def silent(done, total, name):
    pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "RETRY_SECONDS", 0)
    with serve({"/some/set.bin": CONTENT}) as running:
        monkeypatch.setenv("EVERLEARN_DATA_MIRROR", running.url + "/")
        yield running


def test_progress_and_complete_file(server, tmp_path):
    calls = []
    download(FILE, tmp_path / "set.bin", lambda *call: calls.append(call))
    assert [path.name for path in tmp_path.iterdir()] == ["set.bin"]
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert calls[-1] == (len(CONTENT), len(CONTENT), "set.bin")
    assert server.requests == [("/some/set.bin", None)]


def test_broken_connections_are_continued(server, tmp_path):
    server.faults += [100_000, 200_000, "busy", "wrong range"]
    download(FILE, tmp_path / "set.bin", silent)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert [asked for _, asked in server.requests] == [None, "bytes=100000-", *["bytes=300000-"] * 3]


def test_partial_file_of_a_killed_download_is_continued(server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(CONTENT[:1000])
    download(FILE, tmp_path / "set.bin", silent)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert server.requests == [("/some/set.bin", "bytes=1000-")]


@pytest.mark.parametrize(
    "part", [b"damaged" * 100, CONTENT + b"more", b"x" * len(CONTENT)], ids=["short", "long", "as long"]
)
def test_damaged_partial_file_is_downloaded_again(part, server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(part)
    download(FILE, tmp_path / "set.bin", silent)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_server_without_ranges(server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(CONTENT[:1000])
    server.faults += ["no range"]
    download(FILE, tmp_path / "set.bin", silent)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT


def test_wrong_checksum(server, tmp_path):
    server.files["/some/set.bin"] = b"something else"
    with pytest.raises(BadInput, match=f"the checksum of .* is not the published one {MD5}"):
        download(FILE, tmp_path / "set.bin", silent)
    assert list(tmp_path.iterdir()) == []


def test_file_without_a_published_checksum(server, tmp_path):
    download(RemoteFile(FILE.url), tmp_path / "set.bin", silent)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT


def test_server_that_never_answers_in_full(server, tmp_path):
    server.faults += [50_000, *[0] * module.MAX_ATTEMPTS]
    with pytest.raises(
        BadInput, match=r"cannot be downloaded \(the connection was closed\); check the network"
    ):
        download(FILE, tmp_path / "set.bin", silent)
    assert (tmp_path / "set.bin.part").read_bytes() == CONTENT[:50_000], "the next attempt continues"


def test_too_large_file(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(BadInput, match="has 1,280,000 bytes, more than 1,000"):
        download(FILE, tmp_path / "set.bin", silent)


def test_mirror_replaces_the_host(monkeypatch):
    monkeypatch.delenv("EVERLEARN_DATA_MIRROR", raising=False)
    assert address(FILE) == FILE.url
    monkeypatch.setenv("EVERLEARN_DATA_MIRROR", "http://mirror.example/base/")
    assert address(FILE) == "http://mirror.example/base/some/set.bin"
    monkeypatch.setenv("EVERLEARN_DATA_MIRROR", "file:///etc")
    with pytest.raises(BadInput, match="it must be a URL that begins with http"):
        address(FILE)


# ---------------------------------------------------------------------------------------- archives


def zip_of(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_of(members, **attributes):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in attributes.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def source(*files):
    return DataSource("set", ("split-set",), ("set", "other"), ("a.txt", "set.bin"), "its files", files)


@pytest.mark.parametrize(("make", "name"), [(zip_of, "set.zip"), (tar_of, "set.tar.gz")])
def test_archive_is_unpacked_and_removed(make, name, server, tmp_path):
    content = make({"set/a.txt": b"a", "set/b/c.txt": b"c", "readme.txt": b""})
    server.files[f"/{name}"] = content
    file = RemoteFile(f"http://data.example/{name}", hashlib.md5(content).hexdigest(), is_archive=True)
    (tmp_path / ".set.new").mkdir()
    (tmp_path / ".set.new/of a killed process").touch()
    assert fetch(source(file), tmp_path, silent) == (tmp_path / "set", [file])
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"set/a.txt", "set/b/c.txt"}
    assert fetch(source(file), tmp_path, silent) == (tmp_path / "set", [])
    assert len(server.requests) == 1


def test_files_that_are_there_are_not_downloaded(server, tmp_path):
    more = RemoteFile("http://data.example/more.bin")
    server.files["/more.bin"] = b"more"
    assert fetch(source(FILE), tmp_path, silent).files == [FILE]
    assert fetch(source(FILE, more), tmp_path, silent) == (tmp_path / "set", [more])
    (tmp_path / "elsewhere/other").mkdir(parents=True)
    (tmp_path / "elsewhere/other/set.bin").touch()
    assert fetch(source(FILE), tmp_path / "elsewhere", silent) == (tmp_path / "elsewhere/other", [])


def test_failure_says_what_to_put_where(server, tmp_path):
    missing = RemoteFile("http://data.example/gone.bin")
    with pytest.raises(BadInput, match=r"HTTP Error 404.*otherwise copy its files to '.*/set'") as error:
        fetch(source(missing), tmp_path, silent)
    assert "\n" not in str(error.value)


def link(name, target):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return {info: target}


UNSAFE = {
    "parent": zip_of({"set/../../evil.txt": b"x"}),
    "absolute": zip_of({"/evil.txt": b"x"}),
    "backslash": zip_of({"set\\..\\..\\evil.txt": b"x"}),
    "drive": zip_of({"C:/evil.txt": b"x"}),
    "link": zip_of(link("set/link", "/etc")),
    "tar parent": tar_of({"set/../../evil.txt": b"x"}),
    "tar link": tar_of({"set/link": b""}, type=tarfile.SYMTYPE, linkname="/etc"),
    "tar device": tar_of({"set/null": b""}, type=tarfile.CHRTYPE),
}


def test_entry_of_the_archive_root_is_accepted(tmp_path):
    (tmp_path / "set.zip").write_bytes(zip_of({"./": b"", "set/a.txt": b"x"}))
    unpack(tmp_path / "set.zip", tmp_path / "set")
    assert (tmp_path / "set" / "a.txt").read_bytes() == b"x"


@pytest.mark.parametrize("content", UNSAFE.values(), ids=list(UNSAFE))
def test_unsafe_archives_are_refused(content, tmp_path):
    archive = tmp_path / "data/set.archive"
    archive.parent.mkdir()
    archive.write_bytes(content)
    with pytest.raises(BadInput, match="unsafe path"):
        unpack(archive, tmp_path / "data/set")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zip_of({"other/a.txt": b""}), "contains no folder 'set'; it is not the published file"),
        (b"nonsense", "cannot be unpacked"),
        (tar_of({"set/a.txt": b"x" * 9999})[:-30], "cannot be unpacked"),
        (zip_of({"set/a.txt": b"x" * 5000}), "unpacks to 5,000 bytes, more than 2,000"),
        (tar_of({"set/a.txt": b"x" * 5000}), "unpacks to 5,000 bytes, more than 2,000"),
    ],
    ids=["other folder", "nonsense", "cut", "large zip", "large tar"],
)
def test_other_archives_are_refused(content, message, tmp_path, monkeypatch):
    if "2,000" in message:
        monkeypatch.setattr(module, "MAX_BYTES", 2000)
    (tmp_path / "set.archive").write_bytes(content)
    with pytest.raises(BadInput, match=message):
        unpack(tmp_path / "set.archive", tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["set.archive"]


# ------------------------------------------------------------------------------------------- table


def test_table_is_complete():
    from everlearn import streams

    for name, entry in SOURCES.items():
        assert entry.name == name
        assert set(entry.streams) <= set(streams.names())
        for file in entry.files:
            assert re.fullmatch(r"https?://[^/]+/\S+", file.url)
            assert re.fullmatch("[0-9a-f]{32}", file.md5 or "")
    readers = {stream for entry in SOURCES.values() for stream in entry.streams}
    own = {"sprites", "sprites-50", "environments", "folder", "arrays", "csv", "huggingface"}
    own |= {"objects-50"}  # of two datasets without a published file
    assert readers == set(streams.names()) - own
