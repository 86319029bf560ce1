"""An extension of griffe: the section "Example" of our docstrings is its "Examples", shown as code."""

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the section before docstrings are parsed."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
