import io

import numpy as np
import pytest
from rich.console import Console

from everlearn.cli.streams import Mosaic


def drawn(images: np.ndarray, width: int = 80, terminal: bool = True) -> str:
    file = io.StringIO()
    system = "truecolor" if terminal else None
    Console(file=file, width=width, force_terminal=terminal, color_system=system).print(Mosaic(images))
    return file.getvalue()


@pytest.mark.parametrize("size", [4, 16, 20, 64])
def test_each_letter_shows_two_pixels(size: int) -> None:
    image = np.zeros((1, size, size), np.uint8)
    image[:, : size // 2] = 200
    lines = drawn(image).splitlines()
    assert len(lines) == 8
    assert lines[0].count("38;2;200;200;200;48;2;200;200;200") == 1
    assert lines[-1].count("38;2;0;0;0;48;2;0;0;0") == 1
    assert lines[0].count("▀") == 16


def test_only_what_fits_is_shown() -> None:
    images = np.zeros((10, 16, 16), np.uint8)
    assert drawn(images, width=80).splitlines()[0].count("▀") == 4 * 16
    assert drawn(images, width=34).splitlines()[0].count("▀") == 2 * 16


def test_a_pipe_gets_no_image() -> None:
    assert drawn(np.zeros((1, 16, 16), np.uint8), terminal=False).strip() == ""
