"""Downloads of published datasets: resumed after an interruption, verified, and unpacked safely."""

import hashlib
import http.client
import os
import shutil
import ssl
import stat
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from everlearn import files
from everlearn.errors import BadInput
from everlearn.streams.images.sources import DataSource, RemoteFile

MIRROR = "EVERLEARN_DATA_MIRROR"
"""Environment variable: a base URL that replaces the hosts of all files."""
MAX_ATTEMPTS = 5
"""Consecutive attempts without a new byte."""
RETRY_SECONDS = 1.0
TIMEOUT_SECONDS = 60.0
MAX_BYTES = 2**35
"""Limit for a file, and for the content of an archive."""
BROKEN = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)

Progress = Callable[[int, int | None, str], None]
"""Called with the bytes so far, the total if it is known, and the name of the file."""


class DownloadFailed(BadInput):
    """A file that cannot be downloaded."""


class Fetched(NamedTuple):
    """The folder of a dataset, and the files that were downloaded for it."""

    folder: Path
    files: list[RemoteFile]


def fetch(source: DataSource, root: Path, progress: Progress) -> Fetched:
    """Download the missing files of a dataset into a folder of datasets.

    Files appear under their names only when they are complete and have the published checksum.
    """
    folder, downloaded = root / source.folders[0], []
    files.make_folder(root)
    found = source.find(root)
    if found is not None and found != folder:
        return Fetched(found, [])
    with files.FolderLock(root, name=None):
        for file in source.files:
            target = (root if file.is_archive else folder) / file.name
            if (folder if file.is_archive else target).exists():
                continue
            files.make_folder(target.parent)
            try:
                download(file, target, progress)
            except DownloadFailed as error:
                raise BadInput(f"{error}; otherwise {source.advice(root)}") from None
            if file.is_archive:
                progress(0, None, f"unpacking {file.name}")
                unpack(target, folder)
                files.remove(target)
            downloaded.append(file)
    return Fetched(folder, downloaded)


def address(file: RemoteFile) -> str:
    """The URL of a file, on the mirror if one is set."""
    mirror = os.environ.get(MIRROR)
    if not mirror:
        return file.url
    if urlsplit(mirror).scheme not in ("http", "https"):
        raise BadInput(f"{MIRROR} is {mirror!r}; it must be a URL that begins with http:// or https://")
    return mirror.rstrip("/") + urlsplit(file.url).path


def download(file: RemoteFile, target: Path, progress: Progress) -> None:
    """Download a file, continuing a partial one with the suffix .part, and verify its checksum."""
    part, url = target.with_name(f"{target.name}.part"), address(file)
    was_resumed = part.exists()
    _complete(url, part, file.name, progress)
    if file.md5 is not None and _md5(part) != file.md5:
        files.remove(part)
        if not was_resumed:
            raise DownloadFailed(
                f"the checksum of {url} is not the published one {file.md5}; try again later"
            )
        return download(file, target, progress)  # the partial file was damaged or of another version
    with files.os_error_context(target):
        files.disk.rename(part, target)
    return files.sync_folder(target.parent)


def _complete(url: str, part: Path, name: str, progress: Progress) -> None:
    """Append to the partial file until it is complete; retry after a broken connection."""
    n_failed = 0
    while True:
        size = part.stat().st_size if part.exists() else 0
        try:
            if _append(url, part, size, name, progress):
                return
            reason: object = "the connection was closed"
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and size:
                return  # nothing is left to download
            if error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise DownloadFailed(f"{url} cannot be downloaded ({error})") from None
            reason = error
        except BROKEN as error:
            reason = getattr(error, "reason", None) or error
        grew = part.exists() and part.stat().st_size > size
        n_failed = 0 if grew else n_failed + 1
        if n_failed == MAX_ATTEMPTS:
            raise DownloadFailed(f"{url} cannot be downloaded ({reason}); check the network and try again")
        time.sleep(0 if grew else RETRY_SECONDS)


def _append(url: str, part: Path, size: int, name: str, progress: Progress) -> bool:
    """Download from a position to the end; returns False if the server stopped early."""
    headers = {"Range": f"bytes={size}-"} if size else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  # http and https only, see the table
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
        sent = response.headers.get("Content-Range", "")
        done = size if response.status == http.HTTPStatus.PARTIAL_CONTENT else 0
        if done and not sent.startswith(f"bytes {done}-"):
            raise http.client.HTTPException(f"the server sent {sent!r} instead of bytes from {done}")
        length = response.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        if (total or 0) > MAX_BYTES:
            raise BadInput(
                f"{url} has {total:,} bytes, more than {MAX_BYTES:,}; it is not the published file"
            )
        with files.os_error_context(part), part.open("r+b" if done else "wb") as out:
            out.seek(done)
            for chunk in _chunks(response):
                out.write(chunk)
                done += len(chunk)
                progress(done, total, name)
    return total is None or done == total


def _chunks(response: IO[bytes]) -> Iterator[bytes]:
    n = 0
    while chunk := response.read(files.CHUNK_BYTES):
        n += len(chunk)
        if n > MAX_BYTES:
            raise BadInput(f"the server sent more than {MAX_BYTES:,} bytes; it is not the published file")
        yield chunk


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)  # as published
    with path.open("rb") as file:
        while chunk := file.read(files.CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the folder of this name from an archive; it appears only when it is complete."""
    staging = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(staging, ignore_errors=True)
    files.make_folder(staging)
    try:
        with files.os_error_context(folder):
            _extract_zip(archive, staging) if zipfile.is_zipfile(archive) else _extract_tar(archive, staging)
        if not (staging / folder.name).is_dir():
            raise BadInput(
                f"{str(archive)!r} contains no folder {folder.name!r}; it is not the published file"
            )
        with files.os_error_context(folder):
            files.disk.rename(staging / folder.name, folder)
        files.sync_folder(folder.parent)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as error:
        raise BadInput(f"{str(archive)!r} cannot be unpacked ({error}); remove it and try again") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _extract_zip(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        _check_size(path, sum(member.file_size for member in archive.infolist()))
        for member in archive.infolist():
            name = PurePosixPath(member.filename.replace("\\", "/"))
            is_link = stat.S_ISLNK(member.external_attr >> 16)
            if is_link or name.is_absolute() or any(part == ".." or ":" in part for part in name.parts):
                raise BadInput(f"{str(path)!r} contains the unsafe path {member.filename!r}; do not use it")
        archive.extractall(folder)  # noqa: S202  # all paths are checked


def _extract_tar(path: Path, folder: Path) -> None:
    if not hasattr(tarfile, "data_filter"):
        raise BadInput("this Python unpacks tar files unsafely; update to its newest patch release")
    with tarfile.open(path) as archive:
        _check_size(path, sum(member.size for member in archive.getmembers()))
        try:
            archive.extractall(folder, filter="data")  # the filter refuses unsafe paths
        except tarfile.FilterError as error:
            raise BadInput(f"{str(path)!r} contains an unsafe path ({error}); do not use it") from None


def _check_size(path: Path, n_bytes: int) -> None:
    if n_bytes > MAX_BYTES:
        raise BadInput(f"{str(path)!r} unpacks to {n_bytes:,} bytes, more than {MAX_BYTES:,}; do not use it")
