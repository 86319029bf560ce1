"""Streams leave the house as files that other tools read, and come back.

Takes any stream, a folder and a format (npz, PNG folders, Parquet for Hugging Face, WebDataset shards).
Gives files that are complete or absent, resumable and checksummed, and `load`, which reads them as a stream.
"""

from everlearn.streams.exports.formats import FORMATS
from everlearn.streams.exports.manifest import Manifest
from everlearn.streams.exports.read import Exported, load
from everlearn.streams.exports.write import Others, Progress, export, make_share

__all__ = ["FORMATS", "Exported", "Manifest", "Others", "Progress", "export", "load", "make_share"]
