"""Files, Arrow tables and data frames become the same dataset; a fault leaves it as it was."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pytest
from conftest import WORKED_EXAMPLE

import trueup
from trueup import Dataset

EVENT = {"account": "a", "opportunityId": "1", "type": "lead-originated", "date": "2025-01-03"}


def read(table: str) -> pyarrow.Table:
    """A table of the worked example. Every column is text, and an empty cell is null."""
    rows = list(csv.DictReader((WORKED_EXAMPLE / f"{table}.csv").open()))
    return pyarrow.table({name: pyarrow.array([row[name] or None for row in rows], pyarrow.string()) for name in rows[0]})


FORMS: dict[str, Callable[[pyarrow.Table], Any]] = {
    "pyarrow table": lambda table: table,
    "reader": lambda table: table.to_reader(max_chunksize=3),
    "record batches": lambda table: table.to_batches(max_chunksize=5),
    "pandas": lambda table: table.to_pandas(),
    "polars": polars.from_arrow,
    "large texts": lambda table: table.cast(pyarrow.schema([(name, pyarrow.large_string()) for name in table.column_names])),
    "dictionaries": lambda table: pyarrow.table({name: table[name].dictionary_encode() for name in table.column_names}),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_ingested_like_files(tmp_path: Path, worked_example: Dataset, form: str) -> None:
    tables = {name: FORMS[form](read(name)) for name in ("events", "spend", "accounts")}
    report = trueup.ingest(tmp_path / "dataset", **tables)
    assert (report.version, report.changed) == (1, True)
    assert report.events.taken == worked_example.event_rows and report.accounts.taken == 2
    dataset = trueup.open(tmp_path / "dataset")
    names = [field.name for field in trueup.fields() if field.kind == "metric" and not field.only_in_cohorts]
    query: dict[str, Any] = {"start": "2025-01-01", "end": "2025-03-31", "allow_long_total": True}
    for dimensions in (["account", "week"], ["campaign", "crew"], ["attributionChannel", "dateTime"]):
        answer = dataset.query([*dimensions, *names], **query)
        assert answer.to_json() == worked_example.query([*dimensions, *names], **query).to_json()
    assert len(answer) > 3


def test_the_same_rows_without_ids_change_nothing(tmp_path: Path) -> None:
    table = read("events")
    without_ids = table.drop_columns(["eventId"])
    first = trueup.ingest(tmp_path / "dataset", without_ids)
    again = trueup.ingest(tmp_path / "dataset", without_ids)
    assert (first.version, first.changed, again.version, again.changed) == (1, True, 1, False)
    assert "events taken" in repr(first)
    assert repr(again) == "<IngestReport: nothing changed, version 1>"
    with pytest.raises(trueup.IngestError, match="`--time-zone` was not given and is now `UTC`"):
        trueup.ingest(tmp_path / "dataset", without_ids, time_zone="UTC")
    with pytest.warns(trueup.TrueupWarning, match="equal to another event"):
        added = trueup.ingest(tmp_path / "dataset", without_ids, again=True)
    assert (added.version, added.events.taken) == (2, first.events.taken)


def test_paths_are_files_folders_and_patterns(tmp_path: Path, worked_example: Dataset) -> None:
    (tmp_path / "events").mkdir()
    rows = (WORKED_EXAMPLE / "events.csv").read_text().splitlines()
    for part, lines in enumerate([rows[1:10], rows[10:]]):
        (tmp_path / "events" / f"{part}.csv").write_text("\n".join([rows[0], *lines]) + "\n")
    parts = [tmp_path / "events" / "0.csv", str(tmp_path / "events" / "1.csv")]
    for number, events in enumerate([tmp_path / "events", str(tmp_path / "events" / "*.csv"), parts, tuple(parts)]):
        report = trueup.ingest(tmp_path / f"dataset{number}", events, accounts=WORKED_EXAMPLE / "accounts.csv")
        assert report.events.taken == worked_example.event_rows


def test_a_mapping_finds_tables_by_their_names(tmp_path: Path) -> None:
    jobs = pandas.DataFrame({"Company": ["acme", "acme"], "Job": ["1", "2"], "Created": ["2025-01-03", "2025-01-04"]})
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(
        """
[input.jobs]
file = "jobs"

[[events]]
from = "jobs"
columns = { account = "Company", opportunityId = "Job", date = "Created", type = { value = "lead-originated" } }
"""
    )
    report = trueup.ingest(tmp_path / "dataset", {"jobs": jobs}, mapping=mapping)
    assert report.events.taken == 2


def test_a_faulty_row_is_named(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text("account,opportunityId,type,date\na,1,lead-originated,2025-01-03\na,2,bought,2025-01-04\n")
    with pytest.raises(trueup.IngestError, match="line 3, column `type`") as raised:
        trueup.ingest(tmp_path / "dataset", events)
    error = raised.value
    assert (error.file, error.line, error.column, error.value) == (str(events), 3, "type", "bought")
    assert error.location == "line 3" and error.rule is not None and error.rule.startswith("expected")
    assert (error.rejected_rows, error.may_be_published) == (1, False)
    assert isinstance(error, trueup.Error)
    with pytest.raises(trueup.DatasetError):
        trueup.open(tmp_path / "dataset")


def test_a_faulty_row_of_a_table_is_named(tmp_path: Path) -> None:
    rows = pyarrow.Table.from_pylist([EVENT, {**EVENT, "date": "soon"}])
    with pytest.raises(trueup.IngestError, match="column `date`: expected a date") as raised:
        trueup.ingest(tmp_path / "dataset", rows)
    error = raised.value
    assert (error.file, error.line, error.column, error.value) == ("events", None, "date", "soon")
    assert error.location is not None and "row 1" in error.location


def test_rejects_go_to_a_file(tmp_path: Path) -> None:
    frame = polars.DataFrame([EVENT, {**EVENT, "type": "bought"}, {**EVENT, "opportunityId": "2", "date": ""}])
    rejects = tmp_path / "rejects.ndjson"
    with pytest.raises(trueup.IngestError, match="2 rows of 3 break a rule, but at most 1 may"):
        trueup.ingest(tmp_path / "dataset", frame, rejects=rejects, max_rejects=1)
    report = trueup.ingest(tmp_path / "dataset", frame, rejects=rejects, replace_rejects=True, max_rejects="80%")
    assert (report.events.taken, report.events.rejected) == (1, 2)
    assert [(rows.column, rows.rows) for rows in report.rejected] == [("type", 1), ("date", 1)]
    assert report.rejected[0].first[0][2] == "bought" and "type" in repr(report.rejected[0])
    assert len(rejects.read_text().splitlines()) == 2
    assert "1 events taken, 2 rejected" in repr(report)


def test_times_have_a_zone(tmp_path: Path) -> None:
    clock = [{"account": "a", "opportunityId": "1", "type": "lead-originated", "dateTime": "2025-01-03T23:30:00"}]
    with pytest.raises(trueup.IngestError, match="dateTime"):
        trueup.ingest(tmp_path / "dataset", pyarrow.Table.from_pylist(clock))
    accounts = pyarrow.table({"account": ["a"], "timeZone": ["America/New_York"]})
    trueup.ingest(tmp_path / "dataset", pyarrow.Table.from_pylist(clock), accounts=accounts, time_zone="UTC")
    answer = trueup.open(tmp_path / "dataset").query("date,leads", month="2025-01")
    assert answer.to_dicts() == [{"date": "2025-01-03", "leads": 1}]
    with pytest.raises(ValueError, match="`time_zone`: expected `account`, `UTC`, or an IANA time zone"):
        trueup.ingest(tmp_path / "other", pyarrow.Table.from_pylist(clock), time_zone="Moon")


def test_warnings_are_issued_and_kept(tmp_path: Path) -> None:
    events = pyarrow.Table.from_pylist([{**EVENT, "leads": "5"}])
    with pytest.warns(trueup.TrueupWarning, match="column `leads` is ignored: it has the name of a metric"):
        report = trueup.ingest(tmp_path / "dataset", events)
    assert len(report.warnings) == 1


@pytest.mark.parametrize("value", [5, object(), io.StringIO("a,b"), {"a": 5}, [None], b"events.csv"])
def test_other_inputs_are_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError, match="`events`: expected a path, an Arrow table"):
        trueup.ingest(tmp_path / "dataset", value)
    assert not (tmp_path / "dataset").exists()


def test_faults_of_the_call_are_typed(tmp_path: Path) -> None:
    with pytest.raises(trueup.IngestError, match="there is nothing to ingest"):
        trueup.ingest(tmp_path / "dataset")
    with pytest.raises(TypeError, match="ingest\\(\\) got an unexpected keyword argument 'mappings'"):
        trueup.ingest(tmp_path / "dataset", "x.csv", mappings="m.toml")
    with pytest.raises(ValueError, match="`max_rejects`: expected a number of rows"):
        trueup.ingest(tmp_path / "dataset", "x.csv", rejects="r.ndjson", max_rejects="many")
    with pytest.raises(trueup.IngestError, match="cannot open the input"):
        trueup.ingest(tmp_path / "dataset", tmp_path / "nothing.csv")


def test_a_reader_that_fails_ends_the_ingest(tmp_path: Path) -> None:
    def batches() -> Any:
        yield pyarrow.RecordBatch.from_pylist([EVENT])
        raise RuntimeError("the source is gone")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.RecordBatch.from_pylist([EVENT]).schema, batches())
    with pytest.raises(trueup.IngestError, match="the source is gone"):
        trueup.ingest(tmp_path / "dataset", reader)
    with pytest.raises(trueup.DatasetError):
        trueup.open(tmp_path / "dataset")


def test_an_ingest_waits_for_another_one(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    trueup.ingest(folder, pyarrow.Table.from_pylist([EVENT]))
    more = pyarrow.Table.from_pylist([{**EVENT, "opportunityId": "2"}])
    with ThreadPoolExecutor(1) as threads:
        with trueup.begin_ingest(folder, 1):
            with pytest.raises(trueup.IngestError, match="try again when it is done"):
                trueup.ingest(folder, more)
            with pytest.raises(trueup.IngestError, match="not done after a wait of 100ms"):
                trueup.ingest(folder, more, wait=0.1)
            with pytest.raises(trueup.DatasetError, match="not done after a wait of 200ms"):
                trueup.vacuum(folder, wait=0.2)
            with pytest.raises(trueup.IngestError, match="not done after a wait of 1.5s"):
                trueup.begin_ingest(folder, 1, wait=timedelta(seconds=1.5))
            waiting = threads.submit(trueup.ingest, folder, more, wait=timedelta(minutes=5))
            with pytest.raises(FutureTimeoutError):
                waiting.result(0.5)
        # The other one was given up.
        assert waiting.result().version == 2
    with pytest.raises(TypeError, match="`wait`: expected a number of seconds or a datetime.timedelta, but found `'soon'`"):
        trueup.ingest(folder, more, wait="soon")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`wait`: expected seconds, but found -1"):
        trueup.ingest(folder, more, wait=-1)
