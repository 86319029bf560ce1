"""One process per record."""

from everlearn.locks import LOCK, FolderLock

__all__ = ["LOCK", "RecordLock"]


class RecordLock(FolderLock):
    """Held while a run is played into a folder."""

    held = "{folder} is being played by {holder}; wait for it or stop it"
