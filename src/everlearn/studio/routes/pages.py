"""Static pages: the files of `everlearn/studio/pages` and the style sheet of colours."""

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePath

from fastapi import APIRouter, Response

from everlearn.plotting.style import css_variables
from everlearn.studio.security import NotFound

CONTENT_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}

router = APIRouter()


def is_page(path: str) -> bool:
    """Whether a path is a static page, which needs no token."""
    return path in ("/", "/favicon.ico") or path.startswith("/static/")


@router.get("/")
def index() -> Response:
    """The HTML page, which loads the others as modules."""
    return static_file("index.html")


@router.get("/favicon.ico")
def icon() -> Response:
    """The icon of the browser tab."""
    return static_file("icon.svg")


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """A script or a style sheet."""
    if name == "colours.css":
        return Response(css_variables(), media_type="text/css")
    if name not in _files():
        raise NotFound(f"there is no page {name!r:.80}")
    content_type = CONTENT_TYPES.get(PurePath(name).suffix, "text/plain")
    return Response(_files()[name].read_bytes(), media_type=content_type)


@cache
def _files() -> dict[str, Traversable]:
    """The files that may be requested; a fixed list, so that no name can lead to other files."""
    return {file.name: file for file in resources.files("everlearn.studio").joinpath("pages").iterdir()}
