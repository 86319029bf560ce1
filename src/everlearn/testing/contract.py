"""What a check raises if a promise is broken."""

from everlearn.errors import BadInput


class BrokenContract(BadInput, AssertionError):
    """A component does not keep a promise of its interface."""


def promise(kept: object, sentence: str) -> None:
    """Raise `BrokenContract` with a sentence unless a promise is kept."""
    if not kept:
        raise BrokenContract(sentence)
