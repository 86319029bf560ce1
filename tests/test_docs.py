"""The check of pages (`make check` runs it), and an API reference without gaps."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

import everlearn

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import check_docs  # noqa: E402
import site_pages  # noqa: E402

BAD = {
    "[a](nowhere.md)": "link to nowhere.md, which does not exist",
    "[a](#nowhere)\n\n# Here": "link to #nowhere, which does not exist",
    "```python\nx = = 1\n```": "invalid Python: 'x = = 1\\n'",
    "```\neverlearn run --lerner er\n```": "`everlearn run --lerner er`: unknown option --lerner",
    "`everlearn swim`": "`everlearn swim`: unknown command swim",
    "`make tea`": "`make tea`: the Makefile has no target tea",
}


@pytest.mark.parametrize("text", BAD)
def test_problems_are_found(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert list(check_docs.problems(page)) == [BAD[text]]


def test_valid_page_passes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `title` & more\n[a](#a-title--more) `make demo TORCH=cuda`\n\n"
        "```\neverlearn run --learner er --set learner.memory_size=5  # fine\neverlearn --version\n```\n"
    )
    assert not list(check_docs.problems(page))


@pytest.mark.parametrize("package", site_pages.packages())
def test_api_reference_has_every_public_name(package: str) -> None:
    module = importlib.import_module(package)
    if hasattr(module, "__path__"):
        listed = {path.rpartition(".")[2] for path in site_pages.packages()} | {"__version__"}
        assert set(module.__all__) <= {*site_pages.public_names(package), *listed}


def test_link_of_a_page_becomes_a_link_of_the_site() -> None:
    assert site_pages.site_link("concepts.md", "a", "../ARCHITECTURE.md", "#x") == "[a](architecture.md#x)"
    assert site_pages.site_link("architecture.md", "a", "docs/glossary.md", "") == "[a](glossary.md)"
    assert site_pages.site_link("decisions/0011.md", "a", "../platforms.md", "") == "[a](../platforms.md)"
    assert (
        site_pages.site_link("notebooks.md", "a", "../notebooks/vase.ipynb", "")
        == "a (`notebooks/vase.ipynb`)"
    )


def test_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == everlearn.__version__
    assert f"\nversion: {everlearn.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_no_registry_host_is_named() -> None:
    texts = [(ROOT / name).read_text("utf-8") for name in ("requirements.lock", "pyproject.toml", "Makefile")]
    assert not any(" @ " in text or "://" in text.replace("https://everlearn.example", "") for text in texts)
