"""Leave out losses of single batches in committed records: `python -m benchmarks.slim_results [FOLDER...]`.

Results, pages and digests stay the same; the files become a third as large. Run it before committing records.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from everlearn.runs import Record

ROOT = Path(__file__).parent.parent


def full_records(folder: Path) -> Iterator[Record]:
    """The finished records below a folder that are not slim yet."""
    for path in sorted(folder.rglob("spec.json")):
        record = Record(path.parent)
        if record.is_finished and not (path.parent / "slim.json").is_file():
            yield record


if __name__ == "__main__":
    for folder in sys.argv[1:] or [str(ROOT / "results")]:
        for record in full_records(Path(folder)):
            record.slim()
            print(f"{record.folder} is slim")
