"""Archives of records with their checkpoints in one file, to share them or to store them outside of git."""

import gzip
import io
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO, Any

from everlearn import files
from everlearn.errors import BadInput
from everlearn.runs.run_record import SPEC, Record, RecordLock, check_folder, has_record, list_records

ENDING = ".tar.gz"
MANIFEST = "everlearn-archive.json"
VERSION = 1
PARTIAL = ".unpacking"
"""Folder in which an archive is unpacked before its records are renamed."""
DAMAGE_ERRORS = (
    tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, KeyError, TypeError, RecursionError,
)  # fmt: skip
"""Errors of reading an archive or a manifest that has another structure."""

Progress = Callable[[int, int], None]
"""Called with the number of bytes done, and the number of all bytes."""


def pack(sources: Sequence[Path | str], archive: Path | str, progress: Progress | None = None) -> list[str]:
    """Write records, or all records of folders, to a new archive; returns the names of the records.

    Equal records give equal bytes. An archive is complete or absent.

    Example:
        >>> from tempfile import mkdtemp
        >>> from everlearn.runs import RunSpec
        >>> folder = Path(mkdtemp())
        >>> RunSpec.make(learner="er").create_record(folder / "records" / "er", None).release()
        >>> pack([folder / "records"], folder / "records.tar.gz")
        ['er']
    """
    path, records = _check_archive(Path(archive)), _find_records(sources)
    with ExitStack() as locks:
        for record in records:
            if (record.folder / files.LOCK).exists():  # a running run would change its record meanwhile
                locks.enter_context(RecordLock(record.folder))
        members = {f"{each.folder.name}/{name}": file for each in records for name, file in _files(each)}
        temporary = path.with_name(f".{path.name}.new")
        with files.os_error_context(path):
            try:
                _write(temporary, members, progress or _ignore)
                files.disk.rename(temporary, path)
                files.sync_folder(path.parent)
            finally:
                temporary.unlink(missing_ok=True)
    return [each.folder.name for each in records]


def unpack(
    archive: Path | str, folder: Path | str = "records", progress: Progress | None = None
) -> list[str]:
    """Restore the records of an archive in a folder; returns their names.

    Every file is compared with its checksum before any record is renamed into the folder. Existing records
    are never replaced: an archive with a record of the same name is refused.

    Example:
        >>> from tempfile import mkdtemp
        >>> from everlearn.runs import RunSpec
        >>> folder = Path(mkdtemp())
        >>> RunSpec.make(learner="er").create_record(folder / "er", None).release()
        >>> _ = pack([folder / "er"], folder / "er.tar.gz")
        >>> unpack(folder / "er.tar.gz", folder / "copies")
        ['er']
    """
    path, root = Path(archive), check_folder(folder)
    if not path.is_file():
        raise BadInput(f"there is no archive {str(path)!r}; name a file that `everlearn pack` has written")
    files.make_folder(root)
    with files.FolderLock(root, name=None):
        partial = root / PARTIAL
        shutil.rmtree(partial, ignore_errors=True)
        try:
            with files.os_error_context(partial):
                names = _extract(path, root, partial, progress or _ignore)
                for name in names:
                    files.disk.rename(partial / name, root / name)
                files.sync_folder(root)
        except BadInput:
            raise
        except DAMAGE_ERRORS as error:
            raise BadInput(f"{path} is damaged or not an archive of `everlearn pack`: {error}") from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return names


def _check_archive(path: Path) -> Path:
    if not path.name.endswith(ENDING):
        raise BadInput(f"cannot write {str(path)!r}; give a name that ends in {ENDING}")
    files.check_output(path, [".gz"])
    if path.exists():
        raise BadInput(f"{path} exists already; choose another name")
    return path


def _find_records(sources: Sequence[Path | str]) -> list[Record]:
    """The given records, and those in given folders, without duplicates."""
    found: dict[str, Record] = {}
    for source in map(check_folder, sources):
        records = [Record(source)] if has_record(source) else list_records(source)
        if not records:
            raise BadInput(f"{source} has no records; name records, or folders of records")
        for record in records:
            name = record.folder.resolve().name
            if name in found and found[name].folder.resolve() != record.folder.resolve():
                raise BadInput(f"two records are called {name!r}; pack them into two archives")
            found[name] = Record(record.folder.resolve())
    if not found:
        raise BadInput("no record is given; name records, or folders of records")
    return [found[name] for name in sorted(found)]


def _files(record: Record) -> Iterator[tuple[str, Path]]:
    """The files of a record, without locks and files of unfinished writes."""
    for path in sorted(record.folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            yield path.relative_to(record.folder).as_posix(), path


def _write(path: Path, members: dict[str, Path], progress: Progress) -> None:
    entries = {name: _entry(file) for name, file in members.items()}
    total, done = sum(each["size"] for each in entries.values()), 0
    manifest = json.dumps({"version": VERSION, "files": entries}, indent=1).encode()
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, MANIFEST, len(manifest), io.BytesIO(manifest))
        for name, file in members.items():
            with file.open("rb") as content:
                _add(tar, name, entries[name]["size"], content)
            done += entries[name]["size"]
            progress(done, total)
    with path.open("rb") as written:
        files.disk.sync(written.fileno())


def _entry(file: Path) -> dict[str, Any]:
    with file.open("rb") as content:
        size, checksum = files.size_and_sha256(content)
    return {"size": size, "sha256": checksum}


def _add(tar: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    """Add a file without owner and times, so that equal records give equal archives."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    tar.addfile(entry, content)


def _extract(path: Path, root: Path, partial: Path, progress: Progress) -> list[str]:
    """Unpack into a new folder and compare with the checksums; returns the names of the records."""
    with tarfile.open(path, "r:gz") as tar:
        first = tar.next()
        content = tar.extractfile(first) if first is not None and first.name == MANIFEST else None
        if content is None:
            raise BadInput(f"{path} is not an archive of `everlearn pack`")
        manifest = json.load(content)
        if manifest["version"] != VERSION:
            raise BadInput(f"{path} is an archive of another version of everlearn; use that version")
        entries = dict(manifest["files"])
        names = _record_names(path, root, list(entries))
        total, done = sum(each["size"] for each in entries.values()), 0
        while (member := tar.next()) is not None:
            entry = entries.pop(member.name, None)
            stored = tar.extractfile(member) if member.isreg() else None
            if entry is None or stored is None or member.size != entry["size"]:
                raise BadInput(f"{path} is damaged: {member.name!r:.80} is not in its list of files")
            _store(partial / member.name, stored, entry, path)
            done += member.size
            progress(done, total)
    if entries:
        raise BadInput(f"{path} is incomplete: {next(iter(entries))!r:.80} is missing; copy it again")
    return names


def _record_names(path: Path, root: Path, members: list[str]) -> list[str]:
    """The names of the records; raises an error if a file would be written anywhere else."""
    for name in members:
        parts = PurePosixPath(name).parts
        is_inside = len(parts) > 1 and not any(part in ("..", "/") or "\\" in part for part in parts)
        if not is_inside or ":" in name or "\0" in name or any(part.startswith(".") for part in parts):
            raise BadInput(f"{path} is refused: it has a file {name!r:.80} outside of its records")
    names = sorted({PurePosixPath(name).parts[0] for name in members})
    for name in names:
        if f"{name}/{SPEC}" not in members:
            raise BadInput(f"{path} is damaged: {name!r:.80} has no {SPEC}")
        if (root / name).exists():
            raise BadInput(f"{root / name} exists already; unpack into another folder")
    return names


def _store(target: Path, content: IO[bytes], entry: dict[str, Any], archive: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        shutil.copyfileobj(content, file, files.CHUNK_BYTES)
        file.flush()
        os.fsync(file.fileno())
    if _entry(target) != entry:
        raise BadInput(f"{archive} is damaged: {target.name} differs from its checksum; copy it again")


def _ignore(done: int, total: int) -> None:
    """No progress is shown."""
