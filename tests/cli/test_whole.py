import pytest
from cyclopts import App, CoercionError

from everlearn.cli.arguments import Whole

app = App()


@app.default
def echo(*, number: Whole = 7, optional: Whole | None = None) -> tuple[int, int | None]:
    return number, optional


def parsed(*words: str) -> object:
    return app(words, exit_on_error=False, print_error=False, result_action="return_value")


def test_whole_numbers_are_taken_as_they_are() -> None:
    assert parsed() == (7, None)
    assert parsed("--number", "12", "--optional", "-3") == (12, -3)
    assert parsed("--number", str(2**80)) == (2**80, None)


@pytest.mark.parametrize("word", ["1.5", "30.0", "1e3", "", "many", "nan", "0x10"])
@pytest.mark.parametrize("option", ["--number", "--optional"])
def test_nothing_is_rounded(option: str, word: str) -> None:
    with pytest.raises(CoercionError):
        parsed(option, word)
