"""Find calls that macOS or Windows lack: python tools/check_platforms.py SRC.

mypy knows which functions of the standard library exist on which system. Other packages are not followed,
which is fast, so only errors about missing names count.
"""

import re
import subprocess
import sys

SYSTEMS = ("darwin", "win32")
OPTIONS = (
    "--config-file= --python-version 3.11 --follow-imports skip --ignore-missing-imports --no-error-summary"
)
MISSING = re.compile(r'error: (Module has no attribute "\w+"|Name "\w+" is not defined)')


def missing(folder: str, system: str) -> list[str]:
    """The uses of names that a system lacks."""
    cache = f"--cache-dir=.mypy_cache/{system}"
    command = [sys.executable, "-m", "mypy", *OPTIONS.split(), cache, "--platform", system, folder]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603  # our own command
    if done.stderr:
        raise SystemExit(done.stderr)
    return [f"{system}: {line}" for line in done.stdout.splitlines() if MISSING.search(line)]


def main(folder: str) -> int:
    """Print every use of a name that a system lacks; 1 if there is any."""
    found = [line for system in SYSTEMS for line in missing(folder, system)]
    print("\n".join(found) or f"{folder} uses no name that {' or '.join(SYSTEMS)} lacks")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
