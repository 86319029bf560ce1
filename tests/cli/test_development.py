"""`everlearn new` and `everlearn check`, and components from files on the command line."""

import ast
import shutil
from pathlib import Path

import pytest

from everlearn.runs import Record

from .outcomes import SMALL, Run, assert_refused

pytestmark = pytest.mark.usefixtures("_in_tmp_path")
RUN = ("run", "--tasks", "1", *SMALL, "--learner", "odd_method.py:OddMethod", "--record")


def test_new_learner_is_short_passes_the_checks_and_runs(run: Run) -> None:
    assert run("new", "learner", "odd_method", "--json").data["learner"] == "odd_method.py:OddMethod"
    assert len(Path("odd_method.py").read_text().splitlines()) <= 45
    assert len(run("check", "learner", "odd_method.py:OddMethod", "--json").data["promises"]) == 7
    assert run(*RUN, "a", "--json").data["finished"]
    settings = run("learners", "odd_method.py:OddMethod", "--json").data["settings"]
    assert settings["replay_weight"]["default"] == 1.0


def test_new_stream_passes_the_checks_and_runs(run: Run) -> None:
    run("new", "stream", "odd_stream")
    ast.parse(Path("odd_stream.py").read_text())
    assert len(run("check", "stream", "odd_stream.py:odd_stream", "--json").data["promises"]) == 7
    words = ("run", "--learner", "nearest", "--stream", "odd_stream.py:odd_stream", "--record", "a", "--json")
    assert run(*words).data["finished"]


def test_invalid_names_are_refused(run: Run) -> None:
    for name in ("Odd", "2nd", "class", "a-b", "../a", ""):
        assert_refused(run("new", "learner", name))
    Path("taken.py").write_text("x = 1\n")
    assert_refused(run("new", "learner", "taken"))
    assert Path("taken.py").read_text() == "x = 1\n"


def test_broken_promise_is_one_sentence(run: Run) -> None:
    Path("leaky.py").write_text(
        "from everlearn.learners import ER\n\n\nclass Leaky(ER):\n    'Counts in predict.'\n\n"
        "    counters = ('n_predicted',)\n    n_predicted = 0\n\n"
        "    def predict(self, images, tasks=None):\n        self.n_predicted += len(images)\n"
        "        return super().predict(images, tasks)\n"
    )
    outcome = run("check", "learner", "leaky.py:Leaky")
    assert_refused(outcome)
    assert "Leaky.predict changes the state of the learner" in outcome.err


def test_changed_source_is_reported_when_a_run_is_resumed(run: Run, tmp_path: Path) -> None:
    run("new", "learner", "odd_method")
    run(*RUN, "a")
    run("new", "learner", "other")
    events = Path("a/events.jsonl")
    events.write_text("".join(events.read_text().splitlines(keepends=True)[:-1]))  # as if killed at the end
    Path("odd_method.py").write_text(Path("odd_method.py").read_text() + "\n# changed\n")
    resumed = run("resume", "a")
    assert resumed.code == 0, resumed.err
    assert "not exact any more: source was odd_method.py:OddMethod" in resumed.err
    assert not Record("a").is_exact


def test_moved_source_is_an_error_that_names_the_file(run: Run) -> None:
    run("new", "learner", "odd_method")
    run(*RUN, "a")
    shutil.move("odd_method.py", "away.py")
    outcome = run("resume", "a")
    assert_refused(outcome)
    assert "there is no file 'odd_method.py'" in outcome.err
    assert run("show", "a").code == 0, "results can be read without it"


def test_changed_data_are_refused(run: Run) -> None:
    from PIL import Image

    for label in range(2):
        Path(f"images/{label}").mkdir(parents=True)
        for number in range(6):
            Image.new("L", (16, 16), 20 * number + label).save(f"images/{label}/{number}.png")
    words = ("--data", "images", "--image-size", "16", "--set", "stream.classes_per_task=1")
    run("run", "--learner", "nearest", "--stream", "folder", *words, "--record", "a")
    events = Path("a/events.jsonl")
    events.write_text("".join(events.read_text().splitlines(keepends=True)[:-1]))
    Image.new("L", (16, 16), 255).save("images/0/0.png")
    outcome = run("resume", "a")
    assert_refused(outcome)
    assert "have changed since a was started; restore the data" in outcome.err
