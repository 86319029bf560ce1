"""The metadata file of an on-disk memory; reading it imports neither numpy nor numba."""

import json
from pathlib import Path
from typing import Any

from everlearn import files
from everlearn.errors import BadInput

METADATA = "memory.json"
KIND, FORMAT = "on-disk memory", 1


def read_metadata(folder: Path) -> dict[str, Any]:
    """Read the metadata file."""
    try:
        metadata: dict[str, Any] = json.loads((folder / METADATA).read_bytes())
        found = metadata["kind"], metadata["format"]
        _ = metadata["codes"] + 1, len(metadata["image_shape"])  # they have the right types
    except FileNotFoundError:
        raise BadInput(f"there is no on-disk memory in {str(folder)!r}; give the folder of one") from None
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{folder / METADATA} is damaged; use a copy of the memory") from None
    if found != (KIND, FORMAT):
        raise BadInput(
            f"{str(folder)!r} holds {found[0]!r} of format {found[1]}; this everlearn reads format {FORMAT}"
        )
    return metadata


def write_metadata(folder: Path, metadata: dict[str, Any]) -> None:
    """Replace the metadata file, atomically."""
    files.write(folder / METADATA, json.dumps(metadata, indent=1).encode() + b"\n")
