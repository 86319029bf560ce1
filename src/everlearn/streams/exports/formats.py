"""The formats by name."""

from everlearn.errors import unknown
from everlearn.streams.exports.codec import Codec
from everlearn.streams.exports.npz import Npz
from everlearn.streams.exports.parquet import Parquet
from everlearn.streams.exports.png import Png
from everlearn.streams.exports.webdataset import WebDataset

_CODECS: dict[str, type[Codec]] = {"npz": Npz, "png": Png, "parquet": Parquet, "webdataset": WebDataset}

FORMATS = tuple(_CODECS)


def codec(name: str) -> Codec:
    """What writes and reads a format.

    Example:
        >>> codec("npz").suffix
        '.npz'
        >>> codec("parket")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: unknown format 'parket'; did you mean 'parquet'?
    """
    if name not in _CODECS:
        raise unknown("format", name, FORMATS)
    return _CODECS[name]()
