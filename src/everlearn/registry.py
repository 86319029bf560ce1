"""Components by name: learners, streams, backbones, protocols, export formats and metrics.

A component of the package or of an installed package has a short name, such as "er". Any other component is
named by an import string, "my_package.module:MyMethod", or by a file, "my_method.py:MyMethod". If the file
defines one component of the kind, "my_method.py" is enough. Installed packages give short names with entry
points, for learners in the group "everlearn.learners".
"""

import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from everlearn.errors import BadInput, Notice, unknown
from everlearn.files import sha256


class ComponentSource(NamedTuple):
    """Where a component from outside the package comes from.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "double.py").resolve()
        >>> _ = file.write_text("def double(x): return 2 * x")
        >>> functions = Registry("function", "everlearn.functions", {}, "a function", callable)
        >>> source = functions.source(f"{file}:double")
        >>> source.file == str(file), source.sha256[:8]
        (True, '2250efdd')
    """

    file: str  # absolute path of its module
    root: str  # folder that must be on the import path
    sha256: str  # of the file


FILE_MODULE = "everlearn_file_"
"""Start of the names of modules that were imported from files."""

_recorded: dict[str, ComponentSource] = {}  # of opened records, by reference
_referenced: dict[str, Any] = {}  # components that `Registry.reference` was called with, by reference
_modules: dict[tuple[str, str], ModuleType] = {}  # modules imported from files, by path and checksum


@dataclass(frozen=True)
class Registry:
    """The components of one kind.

    Example:
        >>> builtin = {"sqrt": "math:sqrt"}
        >>> functions = Registry("function", "everlearn.functions", builtin, "a function", callable)
        >>> functions.get("sqrt")(9.0), functions.get("math:floor")(2.5)
        (3.0, 2)
        >>> functions.get("sqr")
        Traceback (most recent call last):
        ...
        everlearn.errors.BadInput: unknown function 'sqr'; did you mean 'sqrt'?
    """

    kind: str  # for messages
    group: str  # of entry points
    builtin: Mapping[str, str]  # import strings by short name
    expected: str  # what a component must be, for messages
    accepts: Callable[[Any], bool] = field(repr=False)

    @cached_property
    def installed(self) -> dict[str, EntryPoint]:
        """Entry points of installed packages by short name; they cannot replace built-in components."""
        return {name: point for name, point in self._entry_points.items() if name not in self.builtin}

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        found = {point.name: point for point in entry_points(group=self.group)}
        return {name: found[name] for name in sorted(found)}

    def names(self) -> list[str]:
        """All short names, without importing a component."""
        return [*self.builtin, *self.installed]

    def knows(self, reference: str) -> bool:
        """Whether a reference is a known short name, or an import string or a file."""
        return reference in self.builtin or is_reference(reference) or reference in self.installed

    def get(self, reference: str) -> Any:
        """The component; its module is imported now."""
        component = self._load(reference)
        if inspect.isabstract(component):
            missing = ", ".join(sorted(getattr(component, "__abstractmethods__", ())))
            raise BadInput(f"{reference} does not implement {missing}; add what is missing")
        if not self.accepts(component):
            raise BadInput(f"{reference} is {_describe(component)}; it must be {self.expected}")
        return component

    def source(self, reference: str) -> ComponentSource | None:
        """Where a component comes from; None if it is built in or has no file."""
        if reference in self.builtin:
            return None
        component = self.get(reference)
        file = _file_of(reference, component)
        return (
            None if file is None else ComponentSource(str(file), str(_root_of(component, file)), _hash(file))
        )

    def reference(self, component: Any) -> str:
        """The reference of a class or function: its short name, import string or file."""
        if not self.accepts(component):
            raise BadInput(f"{component!r:.80} is {_describe(component)}; it must be {self.expected}")
        name, module = getattr(component, "__qualname__", "<partial>"), component.__module__
        if "<locals>" in name:
            raise BadInput(
                f"{name} is defined inside a function; define it in a module, so that it can be found"
            )
        if "<" in name:
            raise BadInput(
                f"{component!r:.80} has no name by which it can be found; define a function or class"
            )
        for short, target in (*self.builtin.items(), *((n, p.value) for n, p in self.installed.items())):
            if target == f"{module}:{name}":
                return short
        where = _module_reference(module)
        # Components of files and notebook cells are looked up each time, because they may have changed.
        if where != "__main__" and not module.startswith(FILE_MODULE):
            _referenced[f"{where}:{name}"] = component
        return f"{where}:{name}"

    def _load(self, reference: str) -> Any:
        if reference in self.builtin:
            self._notify_if_hidden(reference)
            target = self.builtin[reference]
            return _attribute(importlib.import_module(target.partition(":")[0]), target)
        if reference in _referenced:
            return _referenced[reference]
        if is_reference(reference):
            return self._outside(reference)
        if reference not in self.installed:
            raise unknown(self.kind, reference, self.names())
        point = self.installed[reference]
        what = f"the {self.kind} {reference!r} of {_package(point)}"
        return _attribute(_import(point.module, what), point.value)

    def _notify_if_hidden(self, name: str) -> None:
        """Warn that a built-in component is used instead of that of an installed package."""
        point = self._entry_points.get(name)
        if point is not None and point.value != self.builtin[name]:
            what = f"the built-in {self.kind} {name!r} is used, not that of {_package(point)}"
            warnings.warn(f"{what}; select the latter as {point.value!r}", Notice, stacklevel=4)

    def _outside(self, reference: str) -> Any:
        where, _, name = reference.partition(":")
        if where == "__main__" and not hasattr(sys.modules[where], name):
            raise BadInput(
                f"{name} was defined in a notebook or a shell; define it there again and call "
                "everlearn.resume, or move it to a file"
            )
        module = _import_file(find_file(where)) if where.endswith(".py") else _import_string(where, reference)
        return _attribute(module, reference) if name else self._only_component(module, reference)

    def _only_component(self, module: ModuleType, reference: str) -> Any:
        """The component that a file defines."""
        own = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
        found = [each for each in own if not inspect.isabstract(each) and self.accepts(each)]
        if len(found) == 1:
            return found[0]
        names = " and ".join(each.__name__ for each in found)
        if found:
            raise BadInput(
                f"{reference} defines {names}; choose one, such as {reference}:{found[0].__name__}"
            )
        raise BadInput(f"{reference} defines no {self.kind}; it must define {self.expected}")


def is_reference(name: str) -> bool:
    """Whether a name is an import string or a file, not a short name.

    Example:
        >>> [is_reference(name) for name in ("er", "my_package.module:MyMethod", "my_method.py")]
        [False, True, True]
    """
    return ":" in name or name.endswith(".py")


def add_sources(sources: Mapping[str, Any]) -> None:
    """Register where components of a record were found when it was created, by reference.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "moved_method.py").resolve()
        >>> file.touch()
        >>> add_sources({"moved_method.py": {"file": str(file), "root": str(file.parent), "sha256": ""}})
        >>> find_file("moved_method.py") == file
        True
    """
    for reference, source in sources.items():
        _recorded[reference] = ComponentSource(**source)


def recorded_sources() -> dict[str, dict[str, str]]:
    """The sources that `add_sources` registered, to pass them to other processes.

    Example:
        >>> add_sources({"other_method.py": {"file": "/work/other_method.py", "root": "/work", "sha256": ""}})
        >>> recorded_sources()["other_method.py"]["root"]
        '/work'
    """
    return {reference: source._asdict() for reference, source in _recorded.items()}


def find_file(name: str) -> Path:
    """The file of a reference: relative to the current folder, or at its path in a record.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "my_method.py").resolve()
        >>> file.touch()
        >>> find_file(str(file)) == file
        True
    """
    same = [Path(each.file) for reference, each in _recorded.items() if reference.partition(":")[0] == name]
    for path in (Path(name).expanduser(), *same):
        if path.is_file():
            return path.resolve()
    where = "" if Path(name).is_absolute() else f" in {Path.cwd()}"
    before = f" (it was {same[0]})" if same else ""
    raise BadInput(f"there is no file {name!r}{where}{before}; check the path, or restore the file")


def _import_file(path: Path) -> ModuleType:
    """The module in a file, imported again if the file has changed."""
    key = str(path), _hash(path)
    if key not in _modules:
        name = f"{FILE_MODULE}{key[1][:12]}.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise BadInput(f"{path} cannot be imported; give a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look modules up there
        _add_to_path(path.parent)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise _import_error(str(path), error) from error
        _modules[key] = module
    return _modules[key]


def _import_string(module: str, reference: str) -> ModuleType:
    """An importable module; the current folder is searched last, then the folder that a record names."""
    _add_to_path(Path.cwd())
    if reference in _recorded:
        _add_to_path(Path(_recorded[reference].root))
    return _import(module, repr(reference))


def _import(module: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise _import_error(what, error) from error


def _import_error(what: str, error: Exception) -> BadInput:
    line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
    advice = "check the name and the folder" if isinstance(error, ModuleNotFoundError) else "correct it"
    return BadInput(f"{what} cannot be imported ({type(error).__name__}{line}: {error}); {advice}")


def _add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last: it must not hide installed packages


def _attribute(module: ModuleType, reference: str) -> Any:
    component: Any = module
    for name in reference.partition(":")[2].split("."):
        if not hasattr(component, name):
            public = [each for each in vars(component) if not each.startswith("_")]
            raise unknown(f"name in {reference.partition(':')[0]}:", name, public)
        component = getattr(component, name)
    return component


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "a package"


def _module_reference(module: str) -> str:
    """The part of a reference before the colon: a module, or the file of a script or of a component."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    is_file = module == "__main__" or module.startswith(FILE_MODULE)
    if not is_file or file is None:
        return module  # __main__ without a file is a notebook
    path = Path(file).resolve()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _file_of(reference: str, component: Any) -> Path | None:
    where = reference.partition(":")[0]
    if where.endswith(".py"):
        return find_file(where)
    try:
        return Path(inspect.getfile(component)).resolve()
    except (TypeError, OSError):  # defined in a notebook or in compiled code
        return None


def _root_of(component: Any, file: Path) -> Path:
    """The folder from which the module of a component is imported."""
    depth = component.__module__.count(".") if not component.__module__.startswith(FILE_MODULE) else 0
    package = file.parent if file.name == "__init__.py" else file
    return package.parents[depth]


def _hash(file: Path) -> str:
    return sha256(file.read_bytes())


def _describe(component: Any) -> str:
    if inspect.isclass(component):
        return f"the class {component.__name__}"
    return "a function" if inspect.isroutine(component) else f"a value of type {type(component).__name__}"
