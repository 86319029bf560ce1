"""Running code as an unprivileged user: to root, who often runs tests, every folder is writable."""

import os
import subprocess
import sys

import pytest

only_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can change the user"
)


def unprivileged_output(setup: str, statement: str) -> str:
    """The output of a statement, or its error message.

    Args:
        setup: what root does first, such as imports from folders that others cannot read.
        statement: run without privileges.
    """
    code = (
        f"import os\n{setup}\nos.setuid(65534)\ntry: {statement}\nexcept ValueError as error: print(error)\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
