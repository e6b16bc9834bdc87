"""Answers are those of the program, and of the worked example, byte for byte; faults are typed exceptions."""

from __future__ import annotations

import datetime
import json
import pickle
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import WORKED_EXAMPLE

import trueup
from trueup import Dataset, col

JANUARY = {"start": "2025-01-01", "end": "2025-01-31"}
EXPECTED = sorted(path for folder in ("expected", "cohorts", "attribution") for path in (WORKED_EXAMPLE / folder).glob("*.json"))


def rows_as_written(path: Path) -> str:
    """The rows of a file, each of which has a line, as the array that the API answers."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    start = lines.index('"rows": [') + 1
    return "[" + "".join(lines[start : lines.index("]", start)]) + "]"


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.stem)
def test_the_worked_example_has_its_expected_answers(worked_example: Dataset, path: Path) -> None:
    query = json.loads(path.read_text())["query"]
    table = worked_example.query(
        query["fields"],
        start=query["start"],
        end=query["end"],
        interval=query["interval"],
        cohort="cohort" in query,
        within=query.get("cohort"),
        attribution=query.get("attribution"),
        accounts=query.get("accounts"),
        where=[f"{field}={value}" for field, value in query.get("filters", [])],
        filter=query.get("filter"),
        allow_unknown=True,
        allow_long_total=True,
    )
    assert table.to_json() == rows_as_written(path)


def test_a_name_in_a_list_is_one_name_also_with_a_comma(worked_example: Dataset) -> None:
    table = worked_example.query(["campaign, channel", "leads"], allow_unknown=True, **JANUARY)
    assert list(json.loads(table.to_json())[0]) == ["campaign, channel", "leads"]
    with pytest.raises(trueup.UnknownFieldError, match="`campaign, channel`"):
        worked_example.query(["campaign, channel", "leads"], **JANUARY)


def test_amounts_of_different_currencies_are_not_added_up(tmp_path: Path) -> None:
    accounts = tmp_path / "accounts.csv"
    accounts.write_text("account,currency\nnorth,USD\nsouth,CAD\n")
    spend = tmp_path / "spend.csv"
    spend.write_text("account,date,adSpend\nnorth,2025-01-10,10\nsouth,2025-01-10,20\n")
    trueup.ingest(tmp_path / "dataset", spend=spend, accounts=accounts)
    dataset = trueup.open(tmp_path / "dataset")
    with pytest.raises(trueup.QueryError, match="never added up, and `spend` would add up those of the accounts: CAD, USD"):
        dataset.query("spend", **JANUARY)
    assert dataset.query("currency,spend", **JANUARY).to_json() == '[{"currency":"CAD","spend":20},{"currency":"USD","spend":10}]'
    with pytest.raises(trueup.QueryError, match="expected the attribution `recorded`, `first` or `last`"):
        dataset.query("leads", attribution="linear", **JANUARY)  # type: ignore[arg-type]


def test_there_are_expected_answers() -> None:
    assert len(EXPECTED) > 20


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"month": "2025-05"}, ["--month", "2025-05"]),
        ({"last": "60d", "today": datetime.date(2025, 5, 1)}, ["--last", "60d", "--today", "2025-05-01"]),
        ({"range": "last-month", "today": "2025-05-01"}, ["--range", "last-month", "--today", "2025-05-01"]),
        ({"quarter": "2025-Q2", "interval": "week"}, ["--quarter", "2025-Q2", "--interval", "week"]),
        ({"year": 2025, "interval": "month"}, ["--year", "2025", "--interval", "month"]),
        (
            {"start": datetime.date(2025, 1, 1), "end": "2025-02-28", "accounts": ["delgado-hvac", "cascade-electric"]},
            ["--start", "2025-01-01", "--end", "2025-02-28", "--account", "delgado-hvac", "--account", "cascade-electric"],
        ),
        (
            {"month": "2025-05", "where": ["total >= 500", "campaign ~* drain"]},
            ["--month", "2025-05", "--where", "total >= 500", "--where", "campaign ~* drain"],
        ),
        (
            {"month": "2025-05", "where": (col("total") >= 500) & col("campaign").matches("drain", flags="i")},
            ["--month", "2025-05", "--where", "total >= 500", "--where", "campaign ~* drain"],
        ),
        (
            {"month": "2025-05", "filter": ["or", {"attributionChannel": "Direct"}, {"total": ["gte", 500]}]},
            ["--month", "2025-05", "--filter", '["or", {"attributionChannel": "Direct"}, {"total": ["gte", 500]}]'],
        ),
        (
            {"month": "2025-05", "sort": ["leads:desc", "attributionChannel"], "limit": 3},
            ["--month", "2025-05", "--sort", "leads:desc,attributionChannel", "--limit", "3"],
        ),
        ({"month": "2025-05", "threads": 2}, ["--month", "2025-05", "--threads", "2"]),
    ],
)
def test_the_program_answers_the_same(
    program: str, demo_folder: Path, demo: Dataset, options: dict[str, Any], arguments: list[str]
) -> None:
    fields = "attributionChannel,leads,bookRate,closedRevenue,spend,avgTicket"
    command = [program, "query", str(demo_folder), "--fields", fields, "--format", "json", *arguments]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    table = demo.query(fields.split(","), **options)
    assert len(table) > 0
    assert table.to_json() == answer.rstrip("\n")
    assert table.to_json() == demo.query(fields, **options).to_json()


def test_totals_are_apart_from_the_rows(demo: Dataset) -> None:
    table = demo.query(["attributionChannel", "leads"], month="2025-05", totals=True)
    assert table.totals is not None
    assert table.totals.shape == (1, 2)
    total = table.totals["leads"][0]
    assert isinstance(total, int)
    assert total == demo.query(["leads"], month="2025-05")["leads"][0]
    with_totals = table.with_totals_row()
    assert with_totals.columns == ["rowType", "attributionChannel", "leads"]
    assert with_totals.to_dicts()[-1] == {"rowType": "total", "attributionChannel": "", "leads": total}
    assert len(with_totals) == len(table) + 1
    assert demo.query(["leads"], month="2025-05").totals is None


def test_a_prepared_query_answers_the_same(demo: Dataset) -> None:
    options: dict[str, Any] = {"month": "2025-05", "where": "total >= 500"}
    query = demo.prepare("campaign,leads", **options)
    assert (query.start, query.end) == (datetime.date(2025, 5, 1), datetime.date(2025, 5, 31))
    assert query.names == ["campaign", "leads", "total"]
    assert query == demo.prepare(["campaign", "leads"], **options)
    assert query != demo.prepare(["campaign", "leads"], month="2025-05")
    assert demo.query(query).to_json() == demo.query("campaign,leads", **options).to_json()
    with pytest.raises(TypeError, match="unexpected keyword argument 'month'"):
        demo.query(query, month="2025-05")


def test_a_dataset_is_described(demo: Dataset, demo_folder: Path) -> None:
    assert demo.path == demo_folder
    # Its insights are drafted from the first version.
    assert demo.version == 2
    assert demo.accounts == sorted(demo.accounts) and "delgado-hvac" in demo.accounts
    assert demo.date_range == (datetime.date(2024, 7, 1), datetime.date(2026, 6, 30))
    assert demo.event_rows > 15_000 and demo.spend_rows > 100
    assert repr(demo).startswith("<Dataset ") and "version 2" in repr(demo)
    assert "row groups kept" in demo.explain("leads", month="2025-05")
    assert "aggregation" in demo.explain("leads", month="2025-05", analyze=True)
    reopened = pickle.loads(pickle.dumps(demo))
    assert (reopened.path, reopened.version) == (demo.path, 2)
    with pytest.raises(trueup.DatasetError, match="holds no dataset of version 7"):
        trueup.open(demo_folder, as_of=7)


def test_a_dataset_is_reopened(tmp_path: Path) -> None:
    def ingest(opportunity: str) -> None:
        rows = f"account,opportunityId,type,date\nacme,{opportunity},lead-originated,2025-01-03\n"
        (tmp_path / "events.csv").write_text(rows)
        trueup.ingest(tmp_path / "dataset", tmp_path / "events.csv")

    def leads(dataset: Dataset) -> object:
        return dataset.query("leads", month="2025-01").to_dicts()[0]["leads"]

    ingest("1")
    first = trueup.open(tmp_path / "dataset")
    assert first.reopen() is first
    ingest("2")
    second = first.reopen()
    assert (first.version, second.version, second.path) == (1, 2, first.path)
    assert (leads(first), leads(second)) == (1, 2)
    assert second.reopen() is second


def test_a_version_is_opened_as_of_a_time(demo: Dataset, demo_folder: Path) -> None:
    later = datetime.datetime.now(datetime.timezone.utc)
    assert trueup.open(demo_folder, as_of=later).version == demo.version
    assert trueup.open(demo_folder, as_of=later.isoformat()).version == demo.version
    with pytest.raises(trueup.DatasetError, match="its first version, 1, was committed at 20"):
        trueup.open(demo_folder, as_of="2020-01-01T00:00:00Z")
    with pytest.raises(ValueError, match="add the time, such as"):
        trueup.open(demo_folder, as_of="2026-01-31")
    with pytest.raises(ValueError, match="a time with its offset"):
        trueup.open(demo_folder, as_of=datetime.datetime(2026, 1, 31))


def test_fields_are_described(demo: Dataset) -> None:
    rate = demo.fields("bookRate")
    assert (rate.kind, rate.unit, rate.formula) == ("metric", "ratio", "bookedCustomers / customers")
    assert (rate.adds_up, rate.better, rate.display_name) == ("never: a ratio", "higher", "Book Rate")
    assert "bookRate" in repr(rate)
    days = trueup.fields("medianDaysLeadToSold")
    assert (days.unit, days.formula, days.better) == ("days", "50th percentile of dayCountsLeadToSold", "lower")
    assert not days.only_in_cohorts and "medianDaysLeadToSold" in [field.name for field in demo.fields()]
    campaign = trueup.fields("campaign")
    assert (campaign.kind, campaign.unit, campaign.formula) == ("dimension", None, None)
    names = [field.name for field in demo.fields()]
    assert "leads" in names and "attributionChannel" in names and len(set(names)) == len(names)
    assert {field.name for field in trueup.fields()} > {"leads", "spend"}
    with pytest.raises(trueup.UnknownFieldError) as raised:
        demo.fields("bookrate")
    assert raised.value.fields == {"bookrate": ["bookRate"]}
    # `fields` has no such argument.
    assert "allow_unknown" not in str(raised.value)
    with pytest.raises(trueup.UnknownFieldError, match="^the dictionary does not know `bookrate` .*`bookRate`") as raised:
        trueup.fields("bookrate")
    assert raised.value.fields == {"bookrate": ["bookRate"]}


def test_a_datetime_or_a_number_is_refused_as_a_day(demo: Dataset) -> None:
    noon = datetime.datetime(2025, 1, 1, 12, tzinfo=datetime.timezone.utc)
    with pytest.raises(TypeError, match="`start`: expected a datetime.date, but found a datetime.datetime.*time zone"):
        demo.query("leads", start=noon, end="2025-01-31")
    with pytest.raises(TypeError, match="`end`: expected a datetime.date or a text"):
        demo.query("leads", start="2025-01-01", end=31)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, trueup.QueryError, "expected either `start` and `end`, or one of `month`"),
        ({"start": "2025-01-01"}, trueup.QueryError, "expected either `start` and `end`.*but found `start`"),
        ({"month": "2025-01", "last": "9d"}, trueup.QueryError, "expected either `start` and `end`"),
        ({"month": "2025-13"}, trueup.QueryError, "`month`: expected a month as YYYY-MM, but found `2025-13`"),
        ({"start": "2025-02-30", "end": "2025-03-01"}, trueup.QueryError, "`start`: expected a date"),
        ({"start": "2025-02-02", "end": "2025-02-01"}, trueup.QueryError, "before it starts"),
        ({"start": "2025-01-01", "end": "2025-12-31"}, trueup.QueryError, "or lift the limit with `allow_long_total=True`"),
        ({**JANUARY, "interval": "year"}, trueup.QueryError, "`interval`: expected an interval"),
        ({**JANUARY, "cohort": True}, trueup.QueryError, "`cohort`: needs `within`"),
        ({**JANUARY, "within": "90d"}, trueup.QueryError, "`within`: needs `cohort`"),
        ({**JANUARY, "cohort": True, "within": "90"}, trueup.QueryError, "`within`: expected a number of days such as"),
        ({**JANUARY, "sort": "clicks"}, trueup.QueryError, "expected to sort by a column of the answer"),
        ({**JANUARY, "accounts": "nobody"}, trueup.QueryError, "the dataset has no account `nobody`; it has `bay-"),
        ({**JANUARY, "where": "total => 5"}, trueup.FilterError, r"\(column 7\)"),
        ({**JANUARY, "where": col("leads") == "x"}, trueup.FilterError, "filter on `leads`: expected a number"),
        ({**JANUARY, "where": 5}, TypeError, "`where`: expected a condition such as"),
        ({**JANUARY, "filter": col("total") > 5}, TypeError, "`filter`: expected JSON"),
        ({**JANUARY, "limit": -1}, TypeError, "`limit`: expected a number of rows, but found `-1`"),
        ({**JANUARY, "totals": 1}, TypeError, "`totals`: expected True or False, but found `1`"),
        ({**JANUARY, "threads": 0}, ValueError, "`threads`: expected a number from 1 to 1024"),
        ({**JANUARY, "timeout": 0}, ValueError, "`timeout`: expected seconds above 0"),
        ({**JANUARY, "intervals": "day"}, TypeError, "unexpected keyword argument 'intervals'"),
    ],
)
def test_faults_are_typed(demo: Dataset, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        demo.query("leads", **options)


def test_faults_have_attributes(demo: Dataset) -> None:
    with pytest.raises(trueup.UnknownFieldError, match="`leeds`.*did you mean `leads`.*`allow_unknown=True`") as unknown:
        demo.query(["leeds", "spend"], **JANUARY)
    assert unknown.value.fields == {"leeds": ["leads"]}
    with pytest.raises(trueup.UnknownFieldError):
        demo.query("leads", where=col("campain") == "x", **JANUARY)
    with pytest.raises(trueup.FilterError) as typed:
        demo.query("leads", where="total => 5", **JANUARY)
    assert (typed.value.column, typed.value.at) == (7, None)
    with pytest.raises(trueup.FilterError) as built:
        demo.query("leads", where=col("leads").is_empty(), **JANUARY)
    assert (built.value.column, built.value.at) == (None, "leads")
    with pytest.raises(trueup.FilterError) as parsed:
        demo.query("leads", filter={"zip": ["gt", True]}, **JANUARY)
    assert parsed.value.at == "filter.zip[1]"
    for error in (unknown, typed, built, parsed):
        assert isinstance(error.value, (trueup.QueryError, ValueError))
        copy = pickle.loads(pickle.dumps(error.value))
        assert (type(copy), str(copy), copy.__dict__) == (type(error.value), str(error.value), error.value.__dict__)


def test_a_missing_metric_names_the_probable_one(demo: Dataset) -> None:
    with pytest.raises(trueup.UnknownFieldError, match="`leeds`"):
        demo.query("leeds", **JANUARY)
    with pytest.raises(trueup.QueryError, match="expected at least one metric among the fields, such as `leads`"):
        demo.query("campaign", **JANUARY)


def test_values_that_no_event_has_are_warned_about(demo: Dataset) -> None:
    where = "attributionChannel = 'paid search'"
    message = "no event and no spend of the dataset has the value `paid search`.*did you mean `Paid Search`"
    with pytest.warns(trueup.TrueupWarning, match=message) as caught:
        demo.query("leads", where=where, **JANUARY)
    assert caught[0].filename == __file__
    with pytest.raises(trueup.QueryError, match=message):
        demo.query("leads", where=where, strict=True, **JANUARY)
    with pytest.warns(trueup.TrueupWarning, match="no events in the range 2030-01-01 to 2030-01-02"):
        demo.query("leads", start="2030-01-01", end="2030-01-02")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        demo.query("leads", where="attributionChannel = 'Paid Search'", **JANUARY)


def test_a_block_cache_needs_a_folder_that_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    trueup.set_block_cache(folder, size=1 << 20)
    assert list(folder.iterdir()) == []
    trueup.set_block_cache(None)
    (tmp_path / "file").touch()
    with pytest.raises(trueup.DatasetError, match="the block cache cannot use the folder `.*/file`: "):
        trueup.set_block_cache(str(tmp_path / "file"))
