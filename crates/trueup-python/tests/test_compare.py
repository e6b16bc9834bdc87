"""`compare=`: the values of an earlier range, and what changed."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, WORKED_EXAMPLE

import trueup
from trueup import Partial


@pytest.mark.parametrize("name", ["return", "return-by-account"])
def test_comparisons_of_the_worked_example_have_their_expected_answers(worked_example: trueup.Dataset, name: str) -> None:
    expected = json.loads((WORKED_EXAMPLE / "comparisons" / f"{name}.json").read_text())
    asked: dict[str, Any] = expected["query"]
    table = worked_example.query(**asked)
    assert json.loads(table.to_json()) == expected["rows"]


def test_changes_are_those_of_two_queries_in_the_type_of_the_metric(worked_example: trueup.Dataset) -> None:
    fields = ["leads", "closedRevenue", "roasClosed"]
    (row,) = worked_example.query(fields, month="2025-02", compare="previous-period").to_dicts()
    (before,) = worked_example.query(fields, month="2025-01").to_dicts()
    (now,) = worked_example.query(fields, month="2025-02").to_dicts()
    for name in fields:
        assert (row[name], row[f"{name}.previous"]) == (now[name], before[name])
    assert row["leads.change"] == now["leads"] - before["leads"] and isinstance(row["leads.change"], int)
    assert row["closedRevenue.change"] == now["closedRevenue"] - before["closedRevenue"]
    assert isinstance(row["closedRevenue.change"], Decimal)
    # The totals are one group, so that the rate effect is the whole change.
    assert row["roasClosed.rateEffect"] == row["roasClosed.change"] and row["roasClosed.mixEffect"] == 0


def test_what_does_not_exist_is_none(worked_example: trueup.Dataset) -> None:
    message = "no events in the range 1999-01-01 to 1999-01-31 to compare with"
    with pytest.warns(trueup.TrueupWarning, match=message):
        table = worked_example.query("leads,bookRate", start="2025-02-01", end="2025-02-28", compare="1999-01-01..1999-01-31")
    (row,) = table.to_dicts()
    assert row["leads.previous"] == 0 and row["leads.ratio"] is None
    assert row["bookRate.rateEffect"] is row["bookRate.mixEffect"] is None
    assert table.to_pyarrow().column("leads.ratio").null_count == 1


def test_columns_sort_and_effects_add_up(demo: trueup.Dataset) -> None:
    assert demo.date_range is not None
    month = demo.date_range[1].strftime("%Y-%m")
    options: dict[str, Any] = {"month": month, "compare": "previous-period", "totals": True}
    table = demo.query("attributionChannel,bookRate", sort="bookRate.mixEffect:desc", **options)
    rows = table.to_dicts()
    effects = [row["bookRate.mixEffect"] for row in rows]
    assert len(rows) > 1 and effects == sorted(effects, reverse=True)
    assert table.totals is not None
    (totals,) = table.totals.to_dicts()
    sum_of_effects = sum(row["bookRate.rateEffect"] + row["bookRate.mixEffect"] for row in rows)
    assert sum_of_effects == pytest.approx(totals["bookRate.change"], abs=1e-12)


def test_splits_give_the_answer(demo: trueup.Dataset) -> None:
    query = demo.prepare("attributionChannel,leads,roasClosed", month="2026-05", compare="previous-year", totals=True)
    partials = [demo.run_split(query, split) for split in demo.plan_splits(query, 3)]
    table = Partial.merge_all(partials).finish(demo, query)
    answer = demo.query(query)
    assert table.to_json() == answer.to_json()
    assert table.totals is not None and answer.totals is not None
    assert table.totals.to_json() == answer.totals.to_json()


def test_what_is_no_comparison_is_refused(worked_example: trueup.Dataset) -> None:
    with pytest.raises(trueup.QueryError, match="expected `previous-period`, `previous-year`, or two days"):
        worked_example.query("leads", month="2025-02", compare="last")
    with pytest.raises(trueup.QueryError, match="a comparison has one row per group, and none per week"):
        worked_example.query("leads", month="2025-02", compare="previous-period", interval="week")


TWELVE = REPOSITORY / "testdata" / "benchmarks"
"""Twelve accounts of ten customers each. In all, 60 of 120 are booked, and a lead costs 15."""


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> trueup.Dataset:
    folder = tmp_path_factory.mktemp("benchmarks") / "dataset"
    trueup.ingest(folder, TWELVE / "events.csv", spend=TWELVE / "spend.csv", accounts=TWELVE / "accounts.csv")
    return trueup.open(folder)


@pytest.mark.parametrize("name", ["by-account", "withheld"])
def test_comparisons_with_benchmarks_have_their_expected_answers(twelve: trueup.Dataset, name: str) -> None:
    expected = json.loads(Path(TWELVE, f"{name}.json").read_text())
    asked: dict[str, Any] = expected["query"]
    assert json.loads(twelve.query(**asked).to_json()) == expected["rows"]


def test_totals_are_compared_with_benchmarks_too(twelve: trueup.Dataset) -> None:
    options: dict[str, Any] = {"month": "2025-01", "compare": "benchmarks", "accounts": ["a03", "a07"], "totals": True}
    table = twelve.query("account,bookRate", sort="bookRate.ratio", limit=1, **options)
    assert table.to_pyarrow().column("bookRate.difference").to_pylist() == [-0.2]
    assert table.totals is not None
    (totals,) = table.totals.to_dicts()
    assert totals["bookRate"] == totals["bookRate.benchmark"] == 0.5 and totals["bookRate.difference"] == 0


def test_what_has_no_benchmarks_is_refused(twelve: trueup.Dataset) -> None:
    month: dict[str, Any] = {"month": "2025-01", "compare": "benchmarks"}
    with pytest.raises(trueup.QueryError, match="benchmarks compare some accounts with others; name the accounts"):
        twelve.query("bookRate", **month)
    month["accounts"] = "a03"
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("leads", {}, "none of the metrics has benchmarks"),
        ("campaign,bookRate", {}, "there are no benchmarks by `campaign`"),
        ("bookRate", {"where": "campaign = x"}, "benchmarks cannot have the filter on `campaign`"),
        ("bookRate", {"interval": "week"}, "leave the interval out"),
        ("bookRate", {"cohort": True, "within": "90d"}, "leave the cohort out"),
        ("bookRate", {"sort": "bookRate.change"}, "`bookRate.benchmark`"),
        ("bookRate", {"today": "2025-01-20"}, "found 2025-01-01 to 2025-01-31"),
    ]
    for fields, options, message in refused:
        with pytest.raises(trueup.QueryError, match=message):
            twelve.query(fields, **month, **options)
    for method in (twelve.prepare, twelve.explain, twelve.why):
        with pytest.raises(trueup.QueryError, match='only `Dataset.query` has `compare="benchmarks"`'):
            method("bookRate", **month)
