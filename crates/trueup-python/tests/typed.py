"""What users write, with the types that a type checker sees. mypy checks this file; it is not run."""

import datetime
from typing import Any

import pandas
import polars
import pyarrow
from typing_extensions import assert_type

import trueup
from trueup import col


def queries(dataset: trueup.Dataset, interrupt: trueup.Interrupt) -> None:
    table = dataset.query(
        ["campaign", "leads"],
        start=datetime.date(2025, 1, 1),
        end="2025-03-31",
        interval="month",
        accounts=["acme"],
        where=["total >= 500", (col("total") < 900.5) & ~col("campaign").matches("drain", flags="i")],
        filter={"zip": ["or", "00123", "00124"]},
        sort="leads:desc",
        limit=10,
        totals=True,
        timeout=1.5,
        interrupt=interrupt,
    )
    assert_type(table, trueup.Table)
    assert_type(table.to_pandas(), pandas.DataFrame)
    assert_type(table.to_polars(), polars.DataFrame)
    assert_type(table.to_pyarrow(), pyarrow.Table)
    assert_type(table.to_dicts(), list[dict[str, Any]])
    assert_type(table.totals, trueup.Table | None)
    assert_type(col("zip") == "00123", trueup.Filter)
    assert_type(col("zip").is_in(["00123", None, 5]) | (col("date") >= datetime.date(2025, 1, 1)), trueup.Filter)
    assert_type(dataset.fields(), list[trueup.Field])
    assert_type(dataset.fields("leads"), trueup.Field)
    assert_type(dataset.explain("leads", month="2025-01", analyze=True, threads=2), str)
    dataset.query("leads", month="2025-01", interval="year")  # type: ignore[arg-type]
    dataset.prepare("leads", mont="2025-01")  # type: ignore[call-arg]
    dataset.query("leads", mont="2025-01")  # type: ignore[call-arg]


def partials(dataset: trueup.Dataset) -> trueup.Table:
    query = dataset.prepare("leads", range="last-month", today="2025-05-01", where=col("total") > 5)
    partials = [dataset.run_split(query, split) for split in dataset.plan_splits(query, 8)]
    return trueup.Partial.merge_all(partials).finish(dataset, query)


def events(dataset: trueup.Dataset) -> None:
    query = dataset.prepare("campaign,adjustedType,total", month="2025-01")
    reader = dataset.read_events(query, dataset.plan_splits(query, 1)[0], timeout=5)
    assert_type(reader.schema, pyarrow.Schema)
    assert_type(next(reader), pyarrow.RecordBatch)


def versions(dataset: trueup.Dataset) -> None:
    assert_type(dataset.versions()[0].committed, datetime.datetime)
    assert_type(dataset.diff(1, "leads", month="2025-01", totals=True), trueup.Table)
    dataset.diff(1, "leads", month="2025-01", sort="leads")  # type: ignore[call-arg]
    report = trueup.expire("dataset", keep_last=1, older_than=datetime.timedelta(days=30))
    assert_type(report.removed.bytes, int)
    trueup.vacuum("dataset", grace="24h")  # type: ignore[arg-type]
    assert_type(trueup.forget("dataset", [("acme", "17")], purge=True).absent, list[tuple[str, str]])
    trueup.forget("dataset", "requests.csv", rejects=["rejects.ndjson"])
    trueup.forget("dataset", [17])  # type: ignore[list-item]


def ingests(arrow: pyarrow.Table, reader: pyarrow.RecordBatchReader, frame: polars.DataFrame) -> None:
    report = trueup.ingest("dataset", events=[arrow, reader], spend=frame, accounts="accounts.csv", max_rejects="1%")
    assert_type(report.events.taken, int)
    trueup.ingest("dataset", {"jobs": frame}, mapping="mapping.toml", rejects="rejects.ndjson")
    trueup.ingest("dataset", 5)  # type: ignore[arg-type]


def parts(arrow: pyarrow.Table) -> None:
    with trueup.begin_ingest("dataset", 4, spend="spend.csv", event_accounts=["acme"], timeout=5) as ingest:
        staged = [trueup.stage(ingest.plan, part, arrow, threads=1) for part in range(ingest.plan.parts)]
        assert_type(staged, list[trueup.Staged])
        assert_type(ingest.commit(staged), trueup.IngestReport)
    trueup.begin_ingest("dataset", "4")  # type: ignore[arg-type]


def errors() -> str:
    try:
        trueup.open("dataset")
    except trueup.IngestError as error:
        assert_type(error.line, int | None)
    except trueup.UnknownFieldError as error:
        assert_type(error.fields, dict[str, list[str]])
    except (trueup.Cancelled, trueup.Timeout, trueup.Error) as error:
        return str(error)
    return ""
