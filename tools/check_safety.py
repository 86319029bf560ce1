"""Report code that could execute the content of an untrusted file.

Used by `make check`: python tools/check_safety.py src
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
METHODS = {("yaml", "load"), ("yaml", "unsafe_load"), ("os", "system"), ("torch", "load")}
KEYWORDS = {("allow_pickle", True), ("weights_only", False), ("shell", True)}


def main(folders: list[str]) -> int:
    """Print every unsafe call or import; 1 if there is any."""
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    found = [
        f"{path}:{line}: {what}" for path in paths for line, what in unsafe_nodes(path.read_text("utf-8"))
    ]
    print("\n".join(found) or f"{len(paths)} files checked: no unsafe import or call")
    return int(bool(found))


def unsafe_nodes(source: str) -> Iterator[tuple[int, str]]:
    """Line and description of unsafe imports and calls in a source text.

    Example:
        >>> list(unsafe_nodes("import pickle"))
        [(1, 'import of pickle')]
    """
    tree = ast.parse(source)
    allowed = {"pickle"} if _restricts_pickle(tree) else set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [each.name for each in names if each.name not in allowed]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.Call():
                yield from ((node.lineno, f"call of {name}") for name in _unsafe_call(node))
                continue
            case _:
                continue
        bad = [name for name in modules if name.partition(".")[0] in MODULES]
        yield from ((node.lineno, f"import of {name}") for name in bad)


def _restricts_pickle(tree: ast.AST) -> bool:
    """Whether pickle is used only for unpicklers that choose which classes and functions exist.

    Example:
        >>> safe = "class Safe(pickle.Unpickler): find_class = refuse"
        >>> _restricts_pickle(ast.parse(safe)), _restricts_pickle(ast.parse("pickle.loads(data)"))
        (True, False)
    """
    bases = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(
            ast.unparse(base) == "pickle.Unpickler" for base in node.bases
        ):
            if "find_class" not in ast.unparse(node):
                return False
            bases += 1
    used = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    others = [name for name in used if name.startswith("pickle.") and name != "pickle.UnpicklingError"]
    return bases > 0 and others == ["pickle.Unpickler"] * bases


def _unsafe_call(call: ast.Call) -> Iterator[str]:
    if any(
        each.arg == "weights_only" and getattr(each.value, "value", None) is True for each in call.keywords
    ):
        return  # torch.load that builds tensors only
    match call.func:
        case ast.Name(id=name) if name in BUILTINS:
            yield name
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if (owner, name) in METHODS:
            yield f"{owner}.{name}"
    for each in call.keywords:
        if isinstance(each.value, ast.Constant) and (each.arg, each.value.value) in KEYWORDS:
            yield f"{each.arg}={each.value.value}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
