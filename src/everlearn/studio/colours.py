"""The colours of reports, for pages: both are one product."""

from everlearn.reports.looks import LOOKS
from everlearn.reports.page import QUIET, RAISED


def colours() -> str:
    """A style sheet that names every colour in its light and its dark form.

    Example:
        >>> "--ink: light-dark(#1f2328, #e6e9ee);" in colours()
        True
    """
    day, night = LOOKS["paper"].roles, LOOKS["dark"].roles
    pairs = {role: (day[role], night[role]) for role in day} | {"quiet": QUIET, "raised": RAISED}
    lines = [f"  --{role}: light-dark({light}, {dark});\n" for role, (light, dark) in pairs.items()]
    return ":root {\n" + "".join(lines) + "}\n"
