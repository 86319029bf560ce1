"""Asking as a user who may write nowhere: to root, who often runs tests, every folder is writable."""

import os
import subprocess
import sys

import pytest

only_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can become somebody else"
)


def said_to_nobody(before: str, act: str) -> str:
    """The complaint that an act ends in.

    Args:
        before: what root does first, such as imports from folders that nobody may read.
        act: one statement.
    """
    code = f"import os\n{before}\nos.setuid(65534)\ntry: {act}\nexcept ValueError as error: print(error)\n"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
