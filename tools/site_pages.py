"""Pages of the documentation site that are not in docs/: API reference, command line, files of the root.

A hook of mkdocs. The names of a package are read from the imports in its `__init__.py`, so that packages that
import lazily are complete and nothing is imported.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "everlearn"
NOT_DOCUMENTED = ("__main__", "api", "cli", "lazy")
"""The names of `api` are those of everlearn; the command line has a page of its own; others are internal."""
NESTED = ("evaluation.protocols", "runs.sweep", "streams.adapters", "streams.exports")
"""Public packages within packages."""
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def packages() -> list[str]:
    """The public packages and modules of everlearn.

    Example:
        >>> packages()[:3]
        ['everlearn', 'everlearn.errors', 'everlearn.evaluation']
    """
    found = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    names = {*found, *NESTED} - {"__init__", *NOT_DOCUMENTED}
    return ["everlearn", *(f"everlearn.{name}" for name in sorted(names))]


def public_names(package: str) -> dict[str, str]:
    """The public names of a package, and where each is defined; none of a module, which is documented whole.

    Example:
        >>> public_names("everlearn.shapes")["ShapeFamily"]
        'everlearn.shapes.family.ShapeFamily'
    """
    path = PACKAGE.joinpath(*package.split(".")[1:], "__init__.py")
    if not path.is_file():
        return {}
    tree = ast.parse(path.read_text("utf-8"))
    names = {}
    for node in ast.walk(tree):
        inside = isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}.")
        if inside and node.module != "everlearn.lazy":
            names |= {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            names |= {target.id: f"{package}.{target.id}"} if target.id.isupper() else {}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = f"{package}.{node.name}"
    return {name: names[name] for name in sorted(names) if not name.startswith("_")}


def api_page(package: str) -> str:
    """The reference of a package, for mkdocstrings; names that have another page are links to it."""
    names = {name: path for name, path in public_names(package).items() if path not in packages()}
    elsewhere = {name: path.rpartition(".")[0] for name, path in names.items()}
    own = [
        path
        for name, path in names.items()
        if elsewhere[name] not in packages() or elsewhere[name] == package
    ]
    options = "show_root_heading: false\n" + (
        "      members: false\n" if names or package == "everlearn" else ""
    )
    head = f"# {package}\n\n::: {package}\n    options:\n      {options}\n"
    links = [
        f"- `{name}`: [{page}]({page}.md)\n" for name, page in elsewhere.items() if names[name] not in own
    ]
    links += [f"- [{each}]({each}.md)\n" for each in packages()[1:] if package == "everlearn"]
    return head + "".join(f"\n::: {path}\n" for path in own) + "\n" + "".join(links)


def command_page() -> str:
    """All commands and their options."""
    from everlearn.cli.app import app

    return str(app.generate_docs(output_format="markdown"))


def pages() -> dict[str, str]:
    """Paths in the site, and their Markdown."""
    root = {name.lower(): (ROOT / name).read_text("utf-8") for name in ROOT_PAGES if (ROOT / name).is_file()}
    api = {f"api/{package}.md": api_page(package) for package in packages()}
    return {**root, **api, "cli.md": command_page()}


def site_link(page: str, text: str, target: str, heading: str) -> str:
    """A link of a Markdown file as it must be on the site; a link to a file outside it becomes text."""
    if re.match(r"[a-z]+:", target) or page.startswith("api/"):
        return f"[{text}]({target}{heading})"
    is_root = page.upper().removesuffix(".MD") + ".md" in ROOT_PAGES
    source = ROOT / ("x" if is_root else f"docs/{page}")
    path = (source.parent / target).resolve()
    depth = "../" * page.count("/")
    if path.parent == ROOT and path.name in ROOT_PAGES:
        return f"[{text}]({depth}{path.name.lower()}{heading})"
    if path == ROOT / "README.md":
        return f"[{text}]({depth}index.md{heading})"
    if path.is_dir() and path.name == "decisions":
        return f"[{text}]({depth}decisions/{decisions()[0].name})"
    if not path.is_relative_to(ROOT / "docs"):
        return f"{text} (`{path.relative_to(ROOT)}`)" if path.is_relative_to(ROOT) else text
    return f"[{text}]({depth}{path.relative_to(ROOT / 'docs')}{heading})"


def decisions() -> list[Path]:
    """The decision records, oldest first."""
    return sorted((ROOT / "docs" / "decisions").glob("*.md"))


def on_config(config: Any) -> Any:
    """Put the pages of a folder into the navigation where it names the folder."""
    folders = {
        "api/": [{package: f"api/{package}.md"} for package in packages()],
        "decisions/": [f"decisions/{path.name}" for path in decisions()],
    }
    for section in config.nav:
        for title, entries in section.items():
            if isinstance(entries, list):
                section[title] = list(_expanded(entries, folders))
    return config


def _expanded(entries: list[Any], folders: dict[str, list[Any]]) -> Iterator[Any]:
    for entry in entries:
        if isinstance(entry, dict) and (value := next(iter(entry.values()))) in folders:
            yield {next(iter(entry)): folders[value]}
        else:
            yield entry


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links between files of the repository links between pages."""
    path = page.file.src_uri
    return LINK.sub(lambda found: site_link(path, found[1], found[2], found[3] or ""), markdown)
