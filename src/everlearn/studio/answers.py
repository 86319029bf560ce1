"""How the studio says no: one sentence, and the code that fits it."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from everlearn.errors import BadInput


class NotThere(BadInput):
    """There is nothing of that name."""


class Conflict(BadInput):
    """Somebody else was faster, or is at work there now."""


CODES = {NotThere: 404, Conflict: 409}
"""Complaints with a code of their own; all others are 400."""
NO_WORDS = {404: "there is no such page or route", 405: "this cannot be done to this address"}


def answer_complaints(app: FastAPI) -> None:
    """Let every complaint leave an app as JSON with one sentence under "error"."""

    @app.exception_handler(BadInput)
    def bad_input(request: Request, error: BadInput) -> JSONResponse:
        return _refusal(str(error), CODES.get(type(error), 400))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return _refusal(_sentence(error.errors()[0]), 400)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> JSONResponse:
        return _refusal(NO_WORDS.get(error.status_code, str(error.detail)), error.status_code)

    @app.exception_handler(OSError)
    def broken(request: Request, error: OSError) -> JSONResponse:
        return _refusal(f"the system refused: {error.strerror or error}", 500)


def _refusal(sentence: str, code: int) -> JSONResponse:
    return JSONResponse({"error": " ".join(sentence.split())}, code)


def _sentence(error: dict[str, Any]) -> str:
    name = ".".join(str(part) for part in error["loc"][1:]) or "the body"
    if error["type"] == "missing":
        return f"{name} is missing"
    said = error["msg"][:1].lower() + error["msg"][1:]
    return f"{name} is {error['input']!r:.60}; {said}"
