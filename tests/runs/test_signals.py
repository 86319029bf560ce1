import signal
from collections.abc import Iterator

import pytest

from everlearn.runs.signals import SIGNALS, StepTimeout, StopSignal

HANDLED = (*SIGNALS, signal.SIGALRM)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in HANDLED]


@pytest.fixture
def stop() -> Iterator[StopSignal]:
    """An open context with a long timeout; handlers and timer are restored at its end."""
    before = handlers()
    with StopSignal(step_timeout=1000.0) as opened:
        yield opened
    assert handlers() == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("number", SIGNALS)
def test_without_timeout_the_second_signal_has_its_previous_effect(number: signal.Signals) -> None:
    before = handlers()
    with StopSignal() as stop:
        assert stop.received is None
        assert handlers() != before
        signal.raise_signal(number)
        assert stop.received is number
        assert handlers() == before


def test_handlers_are_restored_without_a_signal() -> None:
    before = handlers()
    with StopSignal():
        pass
    assert handlers() == before


def test_with_timeout_the_second_signal_terminates_the_process(stop: StopSignal) -> None:
    signal.raise_signal(signal.SIGTERM)
    assert stop.received is signal.SIGTERM
    assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_DFL}


def test_timeout_can_be_cancelled(stop: StopSignal) -> None:
    signal.raise_signal(signal.SIGINT)
    assert signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
    stop.cancel_timeout()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def wait_for_ever() -> None:
    while True:
        signal.pause()


def test_step_is_interrupted_after_the_timeout() -> None:
    with StopSignal(step_timeout=0.01) as stop, pytest.raises(StepTimeout) as timeout:  # noqa: PT012
        signal.raise_signal(signal.SIGTERM)
        wait_for_ever()
    assert stop.received is timeout.value.received is signal.SIGTERM


def test_paused_context_is_not_interrupted() -> None:
    with StopSignal(step_timeout=0.01) as stop:
        with stop.paused():
            signal.raise_signal(signal.SIGTERM)
            for _ in range(3):
                signal.pause()
        with pytest.raises(StepTimeout):
            wait_for_ever()
