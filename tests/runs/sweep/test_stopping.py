import signal

import pytest

from everlearn.runs.signals import SIGNALS, Wish


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_is_noted_and_the_second_is_as_if_nobody_listened(number: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with Wish() as wish:
        assert wish.received is None
        signal.raise_signal(number)
        assert wish.received is number
        assert [signal.getsignal(each) for each in SIGNALS] == before


def test_nobody_is_left_listening() -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with Wish():
        assert [signal.getsignal(each) for each in SIGNALS] != before
    assert [signal.getsignal(each) for each in SIGNALS] == before
