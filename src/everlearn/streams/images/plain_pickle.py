"""Pickle files of plain values and byte arrays, read without the module pickle: nothing in a file can run.

The operations of a file are interpreted one by one. Only those that build plain values and numpy arrays of
bytes are implemented; any other is refused. No object of the file is called or imported.
"""

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

MARK = object()
EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "MARK": lambda: MARK,
}
VALUES = ("BININT", "BININT1", "BININT2", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES")
TEXTS = ("BINSTRING", "SHORT_BINSTRING")
"""Strings of Python 2, which are bytes."""
ARRAY_PARTS = {
    ("numpy.core.multiarray", "_reconstruct"): "array",
    ("numpy._core.multiarray", "_reconstruct"): "array",
    ("numpy", "ndarray"): "class",
    ("numpy", "dtype"): "dtype",
}


@dataclass(frozen=True)
class Part:
    """A function or class of numpy that a file names, or, if `is_built`, the object that it builds."""

    kind: str
    is_built: bool = False


class PlainPickle:
    """An interpreter of pickle operations: the stack of values, and the memo of values for later use."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def apply(self, name: str, argument: Any) -> None:
        """Apply one operation."""
        if name in EMPTY:
            self.stack.append(EMPTY[name]())
        elif name in VALUES:
            self.stack.append(argument)
        elif name in TEXTS:
            self.stack.append(argument.encode("latin-1"))
        elif name in ("BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if name == "MEMOIZE" else argument] = self.stack[-1]
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            self.stack.append(_part(*(argument.split(" ") if name == "GLOBAL" else self._pop(2))))
        elif name not in ("PROTO", "FRAME"):
            self._combine(name)

    def _combine(self, name: str) -> None:
        if name in ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"):
            self.stack.append(tuple(self._pop(int(name[5:]) if name[5:] else None)))
        elif name in ("APPEND", "APPENDS"):
            items = self._pop(1 if name == "APPEND" else None)
            self.stack[-1].extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self._pop(2 if name == "SETITEM" else None)
            self.stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name == "REDUCE":
            part, arguments = self._pop(2)
            self.stack.append(_make(part, arguments))
        elif name == "BUILD":
            part, state = self._pop(2)
            self.stack.append(_fill(part, state))
        else:
            raise ValueError(f"it contains the operation {name}, which plain values do not need")

    def _pop(self, n: int | None) -> list[Any]:
        """The last n values, or those after the last mark."""
        start = len(self.stack) - n if n is not None else _last_mark(self.stack)
        if start < 0:
            raise ValueError("it is incomplete")
        items = self.stack[start:]
        del self.stack[start if n is not None else start - 1 :]
        return items


def read_plain_pickle(content: bytes) -> Any:
    r"""The value in a pickle file; raises ValueError or another error if it is damaged or not plain.

    Example:
        >>> read_plain_pickle(b"\x80\x02}(U\x06labels](K\x03K\x04eu.")
        {b'labels': [3, 4]}
    """
    reader = PlainPickle()
    for operation, argument, _ in pickletools.genops(content):
        if operation.name == "STOP":
            return reader.stack.pop()
        reader.apply(operation.name, argument)
    raise ValueError("it is incomplete")


def _last_mark(stack: list[Any]) -> int:
    return next(i + 1 for i in range(len(stack) - 1, -1, -1) if stack[i] is MARK)


def _part(module: str, name: str) -> Part:
    if (module, name) not in ARRAY_PARTS:
        raise ValueError(f"it contains {module}.{name}, which is not an array")
    return Part(ARRAY_PARTS[module, name])


def _make(part: Any, arguments: Any) -> Part:
    if part == Part("dtype") and arguments[0] not in (b"u1", "u1"):
        raise ValueError(f"it contains an array of {arguments[0]!r}, not of bytes")
    if part not in (Part("dtype"), Part("array")):
        raise ValueError("it contains a call that is not part of an array")
    return Part(part.kind, is_built=True)


def _fill(part: Any, state: Any) -> Any:
    """An array of bytes from its stored shape and content; a dtype needs no state."""
    if part == Part("dtype", is_built=True):
        return part
    if part != Part("array", is_built=True):
        raise ValueError("it contains an object that is not an array")
    _, shape, _, is_fortran, content = state
    return np.frombuffer(content, np.uint8).reshape(shape, order="F" if is_fortran else "C")
