import signal
from collections.abc import Iterator

import pytest

from everlearn.runs import signals
from everlearn.runs.signals import StepGivenUp, StopRequests


@pytest.fixture
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "PATIENCE", 0.01)


@pytest.fixture
def requests() -> Iterator[StopRequests]:
    """Open, and the handlers as they were before when it is closed."""
    before = [signal.getsignal(number) for number in (*StopRequests.SIGNALS, signal.SIGALRM)]
    with StopRequests() as opened:
        yield opened
    assert [signal.getsignal(number) for number in (*StopRequests.SIGNALS, signal.SIGALRM)] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def ask_and_wait() -> None:
    signal.raise_signal(signal.SIGTERM)
    while True:
        signal.pause()


def ask_others_and_wait(requests: StopRequests, alarms: list[int]) -> None:
    with requests.aside():
        signal.raise_signal(signal.SIGTERM)
        for number in range(3):
            signal.pause()
            alarms.append(number)
    while True:
        signal.pause()


def test_nothing_is_received_unless_asked(requests: StopRequests) -> None:
    assert requests.received is None


@pytest.mark.usefixtures("_no_patience")
def test_a_step_is_given_up_when_patience_ends(requests: StopRequests) -> None:
    with pytest.raises(StepGivenUp) as end:
        ask_and_wait()
    assert requests.received is end.value.received is signal.SIGTERM


def test_a_save_takes_its_time(requests: StopRequests) -> None:
    signal.raise_signal(signal.SIGINT)
    requests.be_patient()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.usefixtures("_no_patience")
def test_others_are_left_alone_and_what_comes_after_them_is_not(requests: StopRequests) -> None:
    alarms: list[int] = []
    with pytest.raises(StepGivenUp):
        ask_others_and_wait(requests, alarms)
    assert alarms == [0, 1, 2]


def test_the_second_request_is_answered_by_the_system(requests: StopRequests) -> None:
    signal.raise_signal(signal.SIGTERM)
    assert {signal.getsignal(number) for number in StopRequests.SIGNALS} == {signal.SIG_DFL}
    requests.be_patient()
