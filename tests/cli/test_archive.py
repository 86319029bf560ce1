from pathlib import Path

from .outcomes import Outcome, Run, assert_refused, tree


def refused(outcome: Outcome, message: str) -> None:
    assert_refused(outcome)
    assert message in outcome.err


def test_records_are_packed_and_restored(run: Run, records: Path) -> None:
    data = run("pack", "records", "--out", "all.tar.gz", "--json").data
    assert data["records"] == ["dcl", "nearest"]
    assert data["bytes"] == (records.parent / "all.tar.gz").stat().st_size
    assert "2 records restored in copies" in run("unpack", "all.tar.gz", "copies").out
    assert (
        run("show", "copies/dcl", "--json").data["digest"]
        == run("show", "records/dcl", "--json").data["digest"]
    )


def test_refused_archives_change_nothing(run: Run, records: Path) -> None:
    run("pack", "records/dcl", "-o", "dcl.tar.gz")
    before = tree(records)
    refused(run("unpack", "dcl.tar.gz"), "records/dcl exists already")
    refused(run("unpack", "no.tar.gz"), "there is no archive 'no.tar.gz'")
    refused(run("pack", "records/dcl", "-o", "dcl.tar.gz"), "dcl.tar.gz exists already")
    refused(run("pack", "nothing"), "there is no folder nothing")
    refused(run("pack"), "no record is given")
    assert tree(records) == before
