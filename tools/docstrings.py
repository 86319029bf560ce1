"""An extension of griffe for parts of docstrings that mkdocstrings does not expect."""

import ast
import re
from typing import Any

import griffe


class OurDocstrings(griffe.Extension):
    """Shows the section "Example" as code, and the help text of a learner's setting as its docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)

    def on_attribute(self, *, attr: Any, **_: Any) -> None:
        """Called for every attribute."""
        value = str(attr.value)
        if attr.docstring is None and re.match(r"setting\(\s*['\"]", value):
            call: Any = ast.parse(value, mode="eval").body
            attr.docstring = griffe.Docstring(ast.literal_eval(call.args[0]), parent=attr)
