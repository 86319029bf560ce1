"""Export the first tasks of a stream, and load them."""

import sys
from pathlib import Path

from everlearn import streams

stream = streams.sprites(image_size=32, classes_per_task=3, factor_values=2, split=(10, 3, 3))
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "exported")

for format_ in ("npz", "png", "parquet", "webdataset"):
    streams.export(stream, folder / format_, to=format_, tasks=range(2))
    loaded = streams.load(folder / format_)
    same = loaded.fingerprint() == stream.fingerprint()
    print(f"{format_:<10} {loaded!r} {'equals' if same else 'differs from'} the original")
