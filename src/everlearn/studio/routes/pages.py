"""The pages themselves: files of the package, and no others."""

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Response

from everlearn.studio.answers import NotThere
from everlearn.studio.colours import colours

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

router = APIRouter()


def is_page(path: str) -> bool:
    """Whether a path leads to a page, which holds nothing that a token must guard."""
    return path in ("/", "/favicon.ico") or path.startswith("/static/")


@cache
def _files() -> dict[str, Traversable]:
    """What may be asked for: a fixed list, so that no name can lead outside."""
    return {file.name: file for file in resources.files("everlearn.studio").joinpath("pages").iterdir()}


@router.get("/")
def home() -> Response:
    """The one page, which holds all others."""
    return page("index.html")


@router.get("/favicon.ico")
def icon() -> Response:
    """The picture that a browser shows beside the title."""
    return page("icon.svg")


@router.get("/static/{name}")
def page(name: str) -> Response:
    """A script or a style sheet."""
    if name == "colours.css":
        return Response(colours(), media_type="text/css")
    if name not in _files():
        raise NotThere(f"there is no page {name!r:.80}")
    ending = name[name.rindex(".") :]
    return Response(_files()[name].read_bytes(), media_type=TYPES.get(ending, "text/plain"))
