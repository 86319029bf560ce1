import io

import numpy as np
import pytest
from rich.console import Console

from everlearn.cli.terminal_images import TerminalImages


def printed(images: np.ndarray, width: int = 80, terminal: bool = True) -> str:
    file = io.StringIO()
    system = "truecolor" if terminal else None
    Console(file=file, width=width, force_terminal=terminal, color_system=system).print(
        TerminalImages(images)
    )
    return file.getvalue()


@pytest.mark.parametrize("size", [4, 16, 20, 64])
def test_each_character_shows_two_pixels(size: int) -> None:
    image = np.zeros((1, size, size), np.uint8)
    image[:, : size // 2] = 200
    lines = printed(image).splitlines()
    assert len(lines) == 8
    assert lines[0].count("38;2;200;200;200;48;2;200;200;200") == 1
    assert lines[-1].count("38;2;0;0;0;48;2;0;0;0") == 1
    assert lines[0].count("▀") == 16


def test_only_images_that_fit_are_shown() -> None:
    images = np.zeros((10, 16, 16), np.uint8)
    assert printed(images, width=80).splitlines()[0].count("▀") == 4 * 16
    assert printed(images, width=34).splitlines()[0].count("▀") == 2 * 16


def test_pipe_gets_no_images() -> None:
    assert printed(np.zeros((1, 16, 16), np.uint8), terminal=False).strip() == ""
