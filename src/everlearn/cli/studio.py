"""`everlearn studio`: a local web page for records and models."""

import contextlib
import io
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from everlearn import files
from everlearn.cli.arguments import Flag, Whole, check_path
from everlearn.cli.output import CommandResult, ConsoleArg
from everlearn.cli.run import RECORDS
from everlearn.errors import BadInput

if TYPE_CHECKING:
    from everlearn.studio import Endpoint

Folder = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
Host = Annotated[str | None, Parameter(show_default=False, metavar="ADDRESS")]


def studio(
    *,
    records: Folder = None,
    port: Whole = 0,
    host: Host = None,
    no_browser: Flag = False,
    console: ConsoleArg,
) -> None:
    """Serve a web page for records and models until Ctrl-C; runs continue.

    Args:
        records: Folder of records; default: records/.
        port: Port to listen on; 0: a free one.
        host: Also serve the page "Try it" over HTTPS to phones in the network of this address.
        no_browser: Print the address only.
    """
    try:
        from everlearn.studio import listen, listen_for_phone, serve

        folder = _folder(records)
        phone = None if host is None else listen_for_phone(host, port)
        endpoint = listen(port)
    except ModuleNotFoundError as error:
        raise BadInput(
            f"the studio needs {error.name}, which is not installed; try: pip install 'everlearn[studio]'"
        ) from None
    console.show(_addresses(folder, endpoint, phone))
    sys.stdout.flush()  # a parent process may wait for the line
    if not no_browser:
        webbrowser.open(endpoint.url)
    with contextlib.suppress(KeyboardInterrupt):
        serve(folder, endpoint, phone)


def _addresses(folder: Path, endpoint: "Endpoint", phone: "Endpoint | None") -> CommandResult:
    from rich.text import Text

    data: dict[str, Any] = {"url": endpoint.url, "records": str(folder)}
    shown = Text(f"studio: {endpoint.url}", no_wrap=True, overflow="ignore")
    if phone is not None and phone.certificate is not None:
        data["phone"] = {"url": phone.url, "fingerprint": phone.certificate.fingerprint}
        shown.append(f"\nphone: {phone.url}\ncertificate, SHA-256: {phone.certificate.fingerprint}")
        if sys.stdout.isatty():
            shown.append("\n").append(_qr_code(phone.url), "bright_white on black")
    return CommandResult(data, lambda: shown)


def _qr_code(text: str) -> str:
    """A QR code of half blocks, which are its light modules."""
    import segno

    code = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(code, border=2, compact=True)
    return code.getvalue().rstrip("\n")


def _folder(given: Path | None) -> Path:
    """The given folder, which must exist, or the default, which is created."""
    if given is None:
        files.make_folder(RECORDS)
        return RECORDS
    if not check_path(given).is_dir():
        raise BadInput(f"there is no folder {str(given)!r}; create it, or name another with --records")
    return given
