import pytest

from .outcomes import Run


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everlearn.cli.doctor.MEASURED_SECONDS", 0.01)
    monkeypatch.delenv("EVERLEARN_DATA", raising=False)


def test_doctor_measures_this_machine(run: Run) -> None:
    data = run("doctor", "--json").data
    assert data["devices"][0] == "cpu"
    assert data["packages"]["torch"]
    assert data["rendered_per_second"] > 0
    assert data["trained_per_second"] > 0
    assert data["free_disk_bytes"] > 0
    assert not any(data["data"].values())


def test_doctor_prints_a_table(run: Run) -> None:
    out = run("doctor").out
    assert "images per second" in out
    assert "export to parquet" in out
