"""Losses, predictions, streams, protocols, exports and runs have the very numbers that they had before.

runs.json holds the values, make_runs.py computes them and adapter.py holds the library's names. All selected
cases are computed in one process whose arithmetic is the same on every processor with AVX2.
"""

import json
import re
from typing import Any

import pytest

from tests.golden import adapter, make_runs

VALUES: dict[str, Any] = json.loads(make_runs.VALUES.read_text("utf-8"))
CASES = [name for name in VALUES if "/" in name]
REAL = {f"streams/{name}" for name in adapter.REAL_STREAMS}
VARIANTS = [name for name in CASES if name.startswith("learners/") and "," in name]
"""Cases of learners with other than their default settings."""
NOW, THEN = make_runs.versions(), VALUES["versions"]


def params() -> list[Any]:
    no_data = pytest.mark.skipif(not adapter.has_real_data(), reason="EVERLEARN_DATA is not set")
    marks = dict.fromkeys(REAL, no_data) | dict.fromkeys(VARIANTS, pytest.mark.more)
    return [pytest.param(name, marks=marks.get(name, ())) for name in CASES]


@pytest.fixture(scope="module")
def computed(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The values of all selected cases."""
    items = [item for item in request.session.items if item.path == request.path]
    selected = [item.callspec.params["case"] for item in items if hasattr(item, "callspec")]
    possible = make_runs.cases()
    return make_runs.compute(name for name in selected if name in possible)


@pytest.mark.skipif(not make_runs.has_avx2(), reason="the values are those of processors with AVX2")
@pytest.mark.parametrize("case", params())
def test_values_have_not_changed(case: str, request: pytest.FixtureRequest) -> None:
    if NOW["torch"] != THEN["torch"] and not case.startswith(("streams/", "exports/")):
        pytest.skip(f"the values are those of torch {THEN['torch']}; this is {NOW['torch']}")
    new = request.getfixturevalue("computed")[case]
    assert "error" not in new, new["error"]
    old = VALUES[case]
    if case.startswith("exports/"):
        writer = adapter.WRITTEN_BY[case.removeprefix("exports/").partition(",")[0]]
        ignored = {"files"} if NOW[writer] != THEN[writer] else set()
    else:
        ignored = set()
    changed = [name for name in {**old, **new} if name not in ignored and old.get(name) != new.get(name)]
    details = "\n".join(f"{name}: {old.get(name)!s:.2000}\nnow {new.get(name)!s:.2000}" for name in changed)
    assert not changed, f"{case}: {', '.join(changed)} changed\n{details}"


def test_every_case_is_pinned() -> None:
    assert {*make_runs.cases(), *REAL} == set(CASES)


def test_every_learner_is_pinned() -> None:
    assert {case.learner for case in adapter.LEARNERS.values()} == set(adapter.learner_names())


def test_every_kind_of_stream_is_pinned() -> None:
    pinned = {settings["stream"] for settings in {**adapter.STREAMS, **adapter.REAL_STREAMS}.values()}
    assert pinned == set(adapter.stream_kinds())


def test_every_random_purpose_is_pinned() -> None:
    assert make_runs.purposes() == VALUES["purposes"]["all"]


def test_values_are_those_of_the_pinned_torch() -> None:
    pinned = re.search(r"^torch==(\S+)$", (make_runs.ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    assert pinned[1] == THEN["torch"]
