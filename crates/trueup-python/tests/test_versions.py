"""The versions of a dataset: listed, compared, and removed."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import pytest

import trueup

HEADER = "account,opportunityId,type,date,eventId,total,campaign\n"
FIRST = "acme,1,lead-originated,2025-01-03,e1,,Drains\nacme,1,closed,2025-01-09,e2,100,Drains\n"
RESTATED = "acme,1,closed,2025-01-09,e2,80.5,Drains\nacme,2,lead-originated,2025-01-04,e3,,Boilers\n"
NOW = datetime.timedelta(0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of two versions, of which the second one restates an amount and adds a lead."""
    for number, rows in enumerate([FIRST, RESTATED]):
        events = tmp_path / f"{number}.csv"
        events.write_text(HEADER + rows)
        trueup.ingest(tmp_path / "dataset", events)
    return tmp_path / "dataset"


def test_versions_are_listed(folder: Path) -> None:
    # A version that was opened lists later ones, too.
    first, second = trueup.open(folder, as_of=1).versions()
    assert (first.version, first.operation, first.events, first.spend) == (1, "ingest", 2, 0)
    assert (second.version, second.events) == (2, 3)
    assert first.created_by == second.created_by and first.created_by.startswith("trueup")
    assert first.committed < second.committed <= datetime.datetime.now(datetime.timezone.utc)
    assert first.committed.utcoffset() == NOW
    assert 0 < first.own_files <= first.files and 0 < first.own_bytes <= first.bytes
    assert trueup.open(folder, as_of=first.committed).version == 1
    assert repr(second) == "<Version 2: ingest, 3 events>"


def test_a_difference_shows_what_was_restated(folder: Path) -> None:
    dataset = trueup.open(folder)
    expected = [
        {"status": "added", "campaign": "Boilers", "leads": (1, 0, 1), "closedRevenue": ("0", "0", "0")},
        {"status": "changed", "campaign": "Drains", "leads": (1, 1, 0), "closedRevenue": ("80.5", "100", "-19.5")},
    ]
    for before in (1, dataset.versions()[0].committed, "1", trueup.open(folder, as_of=1)):
        changes = dataset.diff(before, "campaign,leads,closedRevenue", month="2025-01")
        assert changes.columns[:2] == ["status", "campaign"]
        for row, wanted in zip(changes.to_dicts(), expected, strict=True):
            assert (row["status"], row["campaign"]) == (wanted["status"], wanted["campaign"])
            for metric in ("leads", "closedRevenue"):
                found = (row[metric], row[f"{metric}.previous"], row[f"{metric}.change"])
                assert found == tuple(type(value)(text) for value, text in zip(found, wanted[metric], strict=True))
    (total,) = dataset.diff(1, "leads", month="2025-01", totals=True, where="campaign = Boilers").to_dicts()[1:]
    assert (total["rowType"], total["leads"], total["leads.previous"]) == ("total", 1, 0)
    assert len(dataset.diff(2, "campaign,leads", month="2025-01")) == 0
    # Backwards, what was added is removed.
    statuses = trueup.open(folder, as_of=1).diff(2, "campaign,leads", month="2025-01")["status"]
    assert statuses == ["removed"]


def test_a_difference_shows_a_dimension_of_a_column_that_only_the_later_version_has(
    folder: Path, tmp_path: Path, program: str
) -> None:
    events = tmp_path / "regions.csv"
    events.write_text("account,opportunityId,type,date,eventId,region\nacme,3,lead-originated,2025-01-05,e4,North\n")
    trueup.ingest(folder, events)
    definitions = tmp_path / "definitions.toml"
    definitions.write_text('[[dimension]]\nname = "area"\nfrom = "region"\ncases = [{ equals = ["North"], value = "Up" }]\n')
    subprocess.run([program, "define", str(folder), str(definitions)], check=True)
    changes = trueup.open(folder).diff(2, "area,leads", month="2025-01").to_dicts()
    assert changes == [{"status": "added", "area": "Up", "leads": 1, "leads.previous": 0, "leads.change": 1}]


def test_faulty_differences_are_refused(folder: Path) -> None:
    dataset = trueup.open(folder)
    for options in ({"sort": "leads"}, {"limit": 1}, {"compare": "previous-year"}):
        with pytest.raises(trueup.QueryError, match="cannot be used here, because all rows of both answers are compared"):
            dataset.diff(1, "leads", month="2025-01", **options)  # type: ignore[arg-type]
    with pytest.raises(trueup.DatasetError, match="holds no dataset of version 7"):
        dataset.diff(7, "leads", month="2025-01")
    with pytest.raises(trueup.UnknownFieldError):
        dataset.diff(1, "leds", month="2025-01")
    with pytest.raises(TypeError, match="`fields`: expected metrics and dimensions"):
        dataset.diff(1, dataset.prepare("leads", month="2025-01"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`before`: expected the number of a version, or a time"):
        dataset.diff(None, "leads", month="2025-01")  # type: ignore[arg-type]


def test_versions_expire(folder: Path) -> None:
    kept = trueup.expire(folder, keep_last=1, older_than=datetime.timedelta(days=30))
    assert (kept.expired, kept.kept, kept.removed.files) == ([], [1, 2], 0)
    planned = trueup.expire(folder, keep_last=1, grace=NOW, dry_run=True)
    assert (planned.expired, planned.kept) == ([1], [2]) and planned.removed.files > 0
    before = trueup.open(folder).versions()[0]
    assert (planned.removed.files, planned.removed.bytes) == (before.own_files, before.own_bytes)

    waiting = trueup.expire(folder, keep_last=1)
    assert waiting.expired == [1] and waiting.removed.files == 0 and waiting.waiting == planned.removed
    with pytest.raises(trueup.DatasetError, match="version 1"):
        trueup.open(folder, as_of=1)
    assert trueup.vacuum(folder).removed.files == 0
    removed = trueup.vacuum(folder, grace=NOW)
    assert removed.removed == planned.removed and removed.waiting.files == 0 and removed.kept == [2]
    assert repr(removed).startswith("<ExpireReport: 0 expired, 1 kept; ")
    assert trueup.open(folder).query("leads", month="2025-01")["leads"] == [2]


def test_faulty_expiry_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="needs `keep_last` or `older_than`"):
        trueup.expire(folder)
    with pytest.raises(ValueError, match="the newest version never expires"):
        trueup.expire(folder, keep_last=0)
    with pytest.raises(TypeError, match="`older_than`: expected a datetime.timedelta that is not negative"):
        trueup.expire(folder, older_than="30d")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`grace`: expected a datetime.timedelta that is not negative"):
        trueup.vacuum(folder, grace=datetime.timedelta(days=-1))
    for remove in (lambda path: trueup.expire(path, keep_last=1), trueup.vacuum):
        with pytest.raises(trueup.DatasetError, match="dataset"):
            remove(tmp_path / "nothing")
    interrupt = trueup.Interrupt()
    interrupt.cancel()
    with pytest.raises(trueup.Cancelled):
        trueup.expire(folder, keep_last=1, interrupt=interrupt)
    assert [version.version for version in trueup.open(folder).versions()] == [1, 2]


def test_an_earlier_version_is_restored(folder: Path) -> None:
    def revenue() -> list[dict[str, object]]:
        return trueup.open(folder).query("closedRevenue", month="2025-01").to_dicts()

    restated = revenue()
    report = trueup.restore(folder, 1)
    assert (report.version, report.forgotten, repr(report)) == (3, 0, "<RestoreReport: version 3>")
    assert revenue() != restated
    assert trueup.open(folder).versions()[-1].operation == "restore"
    assert trueup.restore(folder, 3).version == 3
    with pytest.raises(trueup.DatasetError, match="version 9 cannot be restored: there is no such version"):
        trueup.restore(folder, 9)


def test_a_source_is_replaced(tmp_path: Path) -> None:
    spend = "account,date,attributionChannel,adSpend\n"
    for number, (source, amount) in enumerate([("google", 10), ("meta", 20), ("google", 12)]):
        (tmp_path / "spend.csv").write_text(f"{spend}acme,2025-01-03,{source},{amount}\n")
        report = trueup.ingest(tmp_path / "ds", spend=tmp_path / "spend.csv", source=source)
        assert report.spend.replaced == (1 if number == 2 else 0)
    (replaced,) = report.protocol["tables"]["spend"]["replaced"]
    assert (replaced["source"], replaced["channel"], replaced["totals"]["rows"]) == ("google", "google", 1)
    report = trueup.ingest(tmp_path / "ds", spend=tmp_path / "spend.csv", source="ads", replace_source="meta")
    assert report.removed == (0, 1)
    answer = trueup.open(tmp_path / "ds").query("spend", month="2025-01")
    assert [row["spend"] for row in answer.to_dicts()] == [24]
