"""The studio as a web application: its parts, its routes, its door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware

from everlearn.errors import BadInput
from everlearn.studio.answers import answer_complaints
from everlearn.studio.bodies import BoundedBodies
from everlearn.studio.guard import Guard
from everlearn.studio.rooms import Rooms
from everlearn.studio.routes import dreams, exports, memory, pages, records, runs, sprites, trying
from everlearn.studio.shelf import Shelf
from everlearn.studio.starting import Starter


def create_app(folder: Path, token: str) -> FastAPI:
    """The application over a folder of records, for whoever knows the token.

    Args:
        folder: holds the records; it must exist.
        token: what every request but those for the pages themselves must bring.
    """
    if not folder.is_dir():
        raise BadInput(f"there is no folder {str(folder)!r}; make it, or name another with --records")
    if not token.isascii() or not token.isprintable() or not token:
        raise BadInput("the token must be some plain letters and digits")
    app = FastAPI(
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a name with a slash too many is a wrong name
        lifespan=_life,
        middleware=[Middleware(Guard, token=token, is_open=pages.is_page), Middleware(BoundedBodies)],
    )
    shelf = Shelf(folder)
    app.state.rooms = Rooms(shelf, Starter(shelf.root))
    answer_complaints(app)
    for each in (pages, sprites, records, exports, runs, memory, trying, dreams):
        app.router.routes.extend(each.router.routes)  # plainly, so that `app.routes` lists every route
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.rooms.decoder.close()
