"""`everlearn studio`: see it learn, edit what it knows."""

import contextlib
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import Whole, check_path
from everlearn.cli.output import Answer, Shown
from everlearn.cli.run import RECORDS
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from rich.text import Text

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
NoBrowser = Annotated[bool, Parameter(name="--no-browser", negative=())]


def studio(*, records: Folder = None, port: Whole = 0, no_browser: NoBrowser = False, screen: Shown) -> None:
    """Open a web page on your records and models; Ctrl-C ends it, runs go on.

    Args:
        records: The folder that holds the records; records/ if not said.
        port: The port to listen on; a free one if 0.
        no_browser: Only print the address.
        screen: Where the address is shown.
    """
    try:
        from everlearn.studio import listen, serve
    except ModuleNotFoundError as error:
        raise BadInput(
            f"the studio needs {error.name}; install it with pip install 'everlearn[studio]'"
        ) from None

    folder = _folder(records)
    endpoint = listen(port)
    facts = {"url": endpoint.url, "records": str(folder)}
    screen.show(Answer(facts, lambda: _line(endpoint.url)))
    sys.stdout.flush()  # whoever started this in a pipe waits for the line
    if not no_browser:
        webbrowser.open(endpoint.url)
    with contextlib.suppress(KeyboardInterrupt):  # this is how a studio is meant to end
        serve(folder, endpoint)


def _folder(given: Path | None) -> Path:
    """The folder that was named, which must be there, or the usual one, which is made if it is not."""
    if given is None:
        files.make_folder(RECORDS)
        return RECORDS
    if not check_path(given).is_dir():
        raise BadInput(f"there is no folder {str(given)!r}; create it, or select another with --records")
    return given


def _line(address: str) -> "Text":
    from rich.text import Text

    return Text(f"studio: {address}", no_wrap=True, overflow="ignore")
