import signal

import pytest

from everlearn.runs import distributed
from everlearn.runs.distributed import PartnersDisagree, agreed
from everlearn.runs.events import Event, Learned, RunEnded, TaskStarted

LEARNED = Learned(0, 0, 0, 1, 8)


@pytest.fixture
def _partner(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was asked to stop and tells the same story; see test_company for real ones."""
    monkeypatch.setattr(distributed, "world_size", lambda: 2)
    monkeypatch.setattr(distributed, "all_gather_ints", lambda *own: [own, (signal.SIGTERM, own[1])])


@pytest.mark.parametrize("event", [TaskStarted(0, (1, 2)), RunEnded(1, "")])
def test_nobody_stops_where_nothing_can_be_saved(event: Event) -> None:
    assert agreed(event, signal.SIGINT) is None


def test_alone_it_is_what_was_received() -> None:
    assert agreed(LEARNED, signal.SIGINT) is signal.SIGINT
    assert agreed(LEARNED, None) is None


@pytest.mark.usefixtures("_partner")
def test_whoever_is_asked_asks_for_all() -> None:
    assert agreed(LEARNED, None) is signal.SIGTERM
    assert agreed(TaskStarted(0, (1, 2)), None) is None


@pytest.mark.usefixtures("_partner")
def test_processes_that_disagree_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "all_gather_ints", lambda *own: [own, (0, own[1] + 1)])
    with pytest.raises(PartnersDisagree, match=r"do not agree on what happened \(learned\)"):
        agreed(LEARNED, None)
