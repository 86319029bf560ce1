import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from everlearn.rendering.first_use import MESSAGE, compile_at_first_use, compile_renderer

TASK = "from everlearn.streams import sprites; sprites(image_size=16, factor_values=2).task(0).train"


def test_nothing_is_said_or_started_once_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_renderer(rgb=False)
    monkeypatch.setattr(sys, "executable", "no such program")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_at_first_use.__wrapped__(rgb=False)


@pytest.mark.slow
def test_first_use_compiles_in_two_processes_and_says_so_once(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run([sys.executable, "-c", TASK], env=environment, capture_output=True, text=True).stderr
        for _ in range(2)
    ]
    assert [MESSAGE in text for text in said] == [True, False]
    names = {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"rasterizer.draw_gray_into", "family._generate", "paths._flatten"} <= names
