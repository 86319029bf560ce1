"""Words become calls: the `everlearn` command.

Takes the words of a command line; gives an answer on the screen or as one JSON object, or one sentence and
exit code 2. Each group of commands is a file of its own, loaded when it is first used.
"""

from everlearn.cli.app import main

__all__ = ["main"]
