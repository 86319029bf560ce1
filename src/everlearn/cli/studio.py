"""`everlearn studio`: a local web page for records and models."""

import contextlib
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import Flag, Whole, check_path
from everlearn.cli.output import ConsoleArg, Result
from everlearn.cli.run import RECORDS
from everlearn.errors import BadInput

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]


def studio(*, records: Folder = None, port: Whole = 0, no_browser: Flag = False, console: ConsoleArg) -> None:
    """Serve a web page for records and models until Ctrl-C; runs continue.

    Args:
        records: Folder of records; default: records/.
        port: Port to listen on; 0: a free one.
        no_browser: Print the address only.
    """
    try:
        from everlearn.studio import listen, serve
    except ModuleNotFoundError as error:
        raise BadInput(
            f"the studio needs {error.name}, which is not installed; try: pip install 'everlearn[studio]'"
        ) from None
    from rich.text import Text

    folder = _folder(records)
    endpoint = listen(port)
    line = Text(f"studio: {endpoint.url}", no_wrap=True, overflow="ignore")
    console.show(Result({"url": endpoint.url, "records": str(folder)}, lambda: line))
    sys.stdout.flush()  # a parent process may wait for the line
    if not no_browser:
        webbrowser.open(endpoint.url)
    with contextlib.suppress(KeyboardInterrupt):
        serve(folder, endpoint)


def _folder(given: Path | None) -> Path:
    """The given folder, which must exist, or the default, which is created."""
    if given is None:
        files.make_folder(RECORDS)
        return RECORDS
    if not check_path(given).is_dir():
        raise BadInput(f"there is no folder {str(given)!r}; create it, or name another with --records")
    return given
