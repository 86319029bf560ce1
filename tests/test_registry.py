"""Components by import string and by file; every mistake is one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from everlearn import learners, streams
from everlearn.errors import BadInput, Notice
from everlearn.learners import ER
from everlearn.registry import Registry, add_sources, is_reference

LEARNER = "from everlearn.learners import ER\n\n\nclass Mine(ER):\n    'My method.'\n"
PROBLEMS = {
    "two.py": (LEARNER + LEARNER.replace("Mine", "Other"), "defines Mine and Other; choose one, such as"),
    "none.py": ("x = 1\n", "defines no learner; it must define a subclass of everlearn.learners.Learner"),
    "syntax.py": ("def f(:\n", r"cannot be imported \(SyntaxError in line 1"),
    "raises.py": ("1 / 0\n", r"cannot be imported \(ZeroDivisionError: division by zero\); correct it"),
    "imports.py": ("import not_there\n", "ModuleNotFoundError: No module named 'not_there'"),
    "function.py:f": (
        "def f(): pass\n",
        "is a function; it must be a subclass of everlearn.learners.Learner",
    ),
    "value.py:x": ("x = 1\n", "is a value of type int; it must be a subclass"),
    "other.py:Other": ("class Other: pass\n", "is the class Other; it must be a subclass"),
    "name.py:Mone": (LEARNER, "unknown name in name.py: 'Mone'; did you mean 'Mine'?"),
    "abstract.py:Half": (
        "from everlearn.learners import Learner\nclass Half(Learner):\n    def predict(self, images): ...\n",
        "does not implement learn; add what is missing",
    ),
}


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize("reference", PROBLEMS)
def test_problem_is_one_sentence(reference: str) -> None:
    content, message = PROBLEMS[reference]
    Path(reference.partition(":")[0]).write_text(content)
    with pytest.raises(BadInput, match=message) as raised:
        learners.learner_class(reference)
    assert "\n" not in str(raised.value)


def test_missing_file_and_missing_module() -> None:
    with pytest.raises(BadInput, match=r"there is no file 'missing.py' in .*; check the path"):
        learners.learner_class("missing.py:Mine")
    with pytest.raises(BadInput, match="'missing_package:Mine' cannot be imported"):
        learners.learner_class("missing_package:Mine")


def test_file_with_one_component_needs_no_name() -> None:
    Path("one.py").write_text(LEARNER)
    assert learners.learner_class("one.py").__name__ == "Mine"
    assert learners.learner_class("one.py:Mine") is learners.learner_class("one.py")


def test_changed_file_is_imported_again() -> None:
    Path("one.py").write_text(LEARNER)
    before = learners.learner_class("one.py")
    Path("one.py").write_text(LEARNER.replace("My method", "My other method"))
    assert "other" in (learners.learner_class("one.py").__doc__ or "")
    assert learners.REGISTRY.source("one.py:Mine") != before


def test_module_of_the_current_folder_is_importable() -> None:
    Path("own_package").mkdir()
    Path("own_package/methods.py").write_text(LEARNER)
    assert learners.learner_class("own_package.methods:Mine").__name__ == "Mine"
    source = learners.REGISTRY.source("own_package.methods:Mine")
    assert source is not None
    assert Path(source.root) == Path.cwd()


def test_recorded_file_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("recorded.py").write_text(LEARNER)
    source = learners.REGISTRY.source("recorded.py:Mine")
    assert source is not None
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="there is no file"):
        learners.learner_class("recorded.py:Mine")
    add_sources({"recorded.py:Mine": source._asdict()})
    assert learners.learner_class("recorded.py:Mine").__name__ == "Mine"
    Path(source.file).unlink()
    with pytest.raises(BadInput, match=r"\(it was .*recorded.py\); check the path, or restore the file"):
        learners.learner_class("recorded.py:Mine")


def test_reference_of_a_class() -> None:
    assert learners.REGISTRY.reference(ER) == "er"
    Path("own.py").write_text(LEARNER)
    assert learners.REGISTRY.reference(learners.learner_class("own.py")) == "own.py:Mine"
    with pytest.raises(BadInput, match="is a value of type int; it must be a subclass"):
        learners.REGISTRY.reference(3)

    class Local(ER):
        """Defined in a function."""

    with pytest.raises(BadInput, match="is defined inside a function"):
        learners.REGISTRY.reference(Local)


SCRIPT = """
from everlearn import learners
from everlearn.learners import ER


class Mine(ER):
    "A class of a script, which has no guard around its main part."


print(learners.REGISTRY.reference(Mine), learners.learner_class("script.py:Mine") is Mine)
"""


def test_class_of_a_script_is_named_by_its_file() -> None:
    Path("script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "script.py:Mine True\n"


def test_class_of_a_notebook_is_found_in_a_notebook_only() -> None:
    """Python code without a file, as in a notebook."""
    define = LEARNER + "from everlearn import learners\n"
    known = "print(learners.REGISTRY.reference(Mine), learners.learner_class('__main__:Mine') is Mine)\n"
    again = define + "print(learners.learner_class('__main__:Mine') is Mine)"  # the cell was executed again
    code = define + known + again
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "__main__:Mine True\nTrue\n"
    with pytest.raises(BadInput, match="Mine was defined in a notebook or a shell; define it there again"):
        learners.learner_class("__main__:Mine")


STREAM = '''
from everlearn.streams import Stream, sprites


def small(image_size: int = 16, seed: int = 0) -> Stream:
    """Small sprites."""
    return sprites(image_size=image_size, factor_values=2, seed=seed)


def wrong() -> Stream:
    return 3


def variable(*args: int) -> Stream:
    return small()
'''


def test_function_as_a_stream() -> None:
    Path("mine.py").write_text(STREAM)
    stream = streams.build({"stream": "mine.py:small", "image_size": 20})
    assert stream.image_shape == (20, 20)
    assert stream.spec.to_mapping() == {"stream": "mine.py:small", "image_size": 20, "seed": 0}
    assert streams.from_json(stream.spec.to_json()).build().fingerprint() == stream.fingerprint()
    with pytest.raises(BadInput, match="unknown small setting 'image_siz'; did you mean 'image_size'"):
        streams.build({"stream": "mine.py:small", "image_siz": 20})
    with pytest.raises(BadInput, match=r"returned int; return an everlearn\.streams\.Stream"):
        streams.build({"stream": "mine.py:wrong"})
    with pytest.raises(BadInput, match="settings are named arguments with defaults"):
        streams.build({"stream": "mine.py:variable"})


def test_entry_points_do_not_replace_built_in_components() -> None:
    registry = Registry("command", "console_scripts", {"pip": "math:sqrt"}, "a function", callable)
    assert registry.names()[0] == "pip"
    assert "pip" not in registry.installed
    assert "everlearn" in registry.installed
    assert registry.knows("everlearn")
    assert not is_reference("everlearn")
    with pytest.warns(
        Notice, match=r"built-in command 'pip' is used, not that of pip; select the latter as 'pip\."
    ):
        assert registry.get("pip")(9.0) == 3.0
