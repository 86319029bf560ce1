"""All pages checked by axe-core, if it is there: npm pack axe-core, and EVERLEARN_AXE=path/to/axe.min.js."""

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from .browser import open_page
from .live_server import Studio
from .test_accessibility import STATES, THEMES

AXE = os.environ.get("EVERLEARN_AXE", "")
"""It is not part of this package; developers load it."""


@pytest.mark.more
@pytest.mark.skipif(not AXE, reason="EVERLEARN_AXE names no file")
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_no_violations(browser: Browser, shared_studio: Studio, state: str) -> None:
    path, prepare = STATES[state]
    with open_page(browser, shared_studio, f"#/{path}") as page:
        prepare(page)
        page.evaluate(Path(AXE).read_text())
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            found = page.evaluate("axe.run()")["violations"]
            nodes = [(each["id"], node["html"][:120]) for each in found for node in each["nodes"]]
            assert nodes == [], json.dumps(nodes, indent=1)
