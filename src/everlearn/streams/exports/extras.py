"""Libraries that not everybody needs."""

import importlib
from types import ModuleType

from everlearn.errors import BadInput


def need(module: str, install: str) -> ModuleType:
    """A library, imported only now, or a sentence that says how to get it.

    Example:
        >>> need("json", "").__name__
        'json'
        >>> need("pyharrow", "pip install 'everlearn[export]'")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: this needs pyharrow, which is not installed; try: pip install ...
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise BadInput(f"this needs {module}, which is not installed; try: {install}") from None
