"""Export of streams to files, and loading of exports as streams.

Formats: npz, PNG folders, Parquet (Hugging Face) and WebDataset shards. A task is complete or absent.
"""

from everlearn.streams.exports.codec import Codec
from everlearn.streams.exports.formats import FORMATS
from everlearn.streams.exports.manifest import Manifest
from everlearn.streams.exports.read import ExportedStream, load
from everlearn.streams.exports.write import Progress, Workers, export, export_tasks

__all__ = [
    "FORMATS",
    "Codec",
    "ExportedStream",
    "Manifest",
    "Progress",
    "Workers",
    "export",
    "export_tasks",
    "load",
]
