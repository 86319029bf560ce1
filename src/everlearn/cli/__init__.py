"""The command-line interface `everlearn`.

Takes the arguments of a command line; prints a result as text or as one JSON object, or one line with an
error and exit code 2. The module of a command is imported when the command is used.
"""

from everlearn.cli.app import main

__all__ = ["main"]
