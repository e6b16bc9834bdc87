"""`Dataset.why`: the lines behind a number add up to it."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

import trueup

DAYS = {"start": "2025-01-01", "end": "2025-03-31"}


def test_the_lines_of_each_row_add_up(demo: trueup.Dataset) -> None:
    assert demo.date_range is not None
    month = demo.date_range[1].strftime("%Y-%m")
    fields = ["attributionChannel", "leads", "closedRevenue", "avgCostPerLead"]
    for row in demo.query(fields, month=month).to_dicts():
        why = demo.why(fields, month=month, row=row)
        assert why.metrics == {name: row[name] for name in fields[1:]}
        assert why.total_lines == len(why.lines)
        lines = why.lines.to_dicts()
        assert sum(line["count"] for line in lines if line["measure"] == "leads") == row["leads"]
        revenue = sum(line["amount"] for line in lines if line["measure"] == "closedRevenue")
        assert revenue == row["closedRevenue"]


def test_a_line_says_by_which_rule_it_counts(worked_example: trueup.Dataset) -> None:
    why = worked_example.why("closedRevenue", order="largest", limit=1, **DAYS)
    assert (why.start, why.end) == (datetime.date(2025, 1, 1), datetime.date(2025, 3, 31))
    assert why.formulas == {"closedRevenue": "closedRevenue"}
    assert why.measures == why.metrics == {"closedRevenue": Decimal(2420)}
    (line,) = why.lines.to_dicts()
    assert (line["account"], line["opportunityId"], line["amount"]) == ("south", "c11", Decimal(1100))
    assert line["rule"].startswith("state event: the last closed event; ")
    assert (why.total_lines, repr(why)) == (3, "<Why of closedRevenue, 3 lines>")


def test_a_comparison_explains_the_change(worked_example: trueup.Dataset) -> None:
    why = worked_example.why("closedRevenue", month="2025-02", compare="previous-period")
    assert why.previous == (datetime.date(2025, 1, 1), datetime.date(2025, 1, 31))
    assert (why.measures, why.changes) == ({"closedRevenue": Decimal(1020)}, {"closedRevenue": Decimal(120)})
    lines = [(line["class"], line["range"], line["amount"]) for line in why.lines.to_dicts()]
    assert lines == [
        ("current", "current", Decimal(420)),
        ("current", "current", Decimal(600)),
        ("previous", "previous", Decimal(-900)),
    ]
    assert worked_example.why("leads", **DAYS).changes == {}


def test_what_is_no_row_is_refused(worked_example: trueup.Dataset) -> None:
    expected = r"expected a value for each column by which a row of the answer is known \(`campaign`\)"
    with pytest.raises(trueup.QueryError, match=expected):
        worked_example.why("campaign,leads", **DAYS)
    with pytest.raises(trueup.QueryError, match="the answer has no row with campaign = `Wells`"):
        worked_example.why("campaign,leads", row={"campaign": "Wells"}, **DAYS)
    with pytest.raises(ValueError, match="expected oldest, newest or largest"):
        worked_example.why("leads", order="smallest", **DAYS)  # type: ignore[arg-type]
