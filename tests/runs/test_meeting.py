import pytest

from everlearn.runs.distributed import Place

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "node-1", "MASTER_PORT": "29500"}
REST = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")


@pytest.fixture(autouse=True)
def _in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REST:
        monkeypatch.delenv(name, raising=False)
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)


def test_a_process_knows_the_place_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Place(rank=5, n=8, local_rank=1, n_local=4, host="node-1", port=29500, attempt=2)
    for name, value in given.environment().items():
        monkeypatch.setenv(name, value)
    assert Place.here() == given


def test_who_says_nothing_of_machines_means_one() -> None:
    assert Place.here() == Place(rank=5, n=8, local_rank=5, n_local=8, host="node-1", port=29500)


@pytest.mark.parametrize("name", TORCHRUN)
def test_who_misses_a_word_plays_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)
    assert Place.here() is None


def test_one_of_one_plays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert Place.here() is None
