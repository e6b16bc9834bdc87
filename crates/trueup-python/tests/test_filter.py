"""Conditions from Python values mean what the same conditions mean as text."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy
import pytest

import trueup
from trueup import Dataset, Filter, col

QUARTER = {"quarter": "2025-Q2", "interval": "month"}


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (col("attributionChannel") == "Paid Search", "attributionChannel = 'Paid Search'"),
        (col("attributionChannel") != "Paid Search", "attributionChannel != 'Paid Search'"),
        (col("total") >= 500, "total >= 500"),
        (col("total") < Decimal("499.5"), "total < 499.5"),
        (col("total") > numpy.int64(1000), "total > 1000"),
        (col("total") <= numpy.float64(1000), "total <= 1000"),
        (col("campaign").matches("^[A-M].*drain", flags="i"), "campaign ~* ^[A-M].*drain"),
        (col("campaign").is_empty(), "campaign is empty"),
        (col("campaign") == None, "campaign is empty"),  # noqa: E711
        (col("campaign").is_not_empty(), "campaign is not empty"),
        (~col("campaign").is_empty(), "campaign is not empty"),
        (col("attributionChannel").is_in(["Direct", "Radio"]), "attributionChannel in (Direct, Radio)"),
        (~col("attributionChannel").is_in(("Direct", "Radio")), "attributionChannel not in (Direct, Radio)"),
        ((col("attributionChannel") == "Direct") | (col("attributionChannel") == "Radio"), "attributionChannel in (Direct, Radio)"),
        (col("opportunityStartDate") >= datetime.date(2025, 5, 1), "opportunityStartDate >= 2025-05-01"),
        (col("opportunityBooked") == True, "opportunityBooked = true"),  # noqa: E712
        (col("leads") >= 5, "leads >= 5"),
    ],
)
def test_conditions_are_those_of_texts(demo: Dataset, built: Filter, text: str) -> None:
    query = {**QUARTER, "fields": ["account", "attributionChannel", "leads", "eventCount", "closedRevenue"]}
    answer = demo.query(where=built, **query)
    assert answer.to_json() == demo.query(where=text, **query).to_json()
    assert 0 < answer.shape[0] <= demo.query(**query).shape[0]


def test_between_includes_both_ends(demo: Dataset) -> None:
    built = demo.query("eventCount", where=col("total").between(100, 900), **QUARTER)
    assert built.to_json() == demo.query("eventCount", where=["total >= 100", "total <= 900"], **QUARTER).to_json()


def test_no_value_is_in_an_empty_list(demo: Dataset) -> None:
    assert demo.query("eventCount", where=col("campaign").is_in([]), **QUARTER)["eventCount"] == [0, 0, 0]


def test_conditions_are_shown_as_they_are_written() -> None:
    condition = (col("total") >= 500) & ~col("campaign").matches("drain", flags="i") & (col("zip") == "00123")
    assert repr(condition) == '(col("total") >= 500) & (~(col("campaign").matches("drain", flags="i"))) & (col("zip") == "00123")'
    assert eval(repr(condition)) == condition
    assert repr(col("zip")) == 'col("zip")' and col("zip").name == "zip"


def test_conditions_are_no_truth_values() -> None:
    with pytest.raises(TypeError, match="join conditions with `&`"):
        (col("total") > 1) and (col("total") < 5)
    with pytest.raises(TypeError, match=r"write `low <= x <= high` as `x.between\(low, high\)`"):
        1 < col("total") < 3
    with pytest.raises(TypeError, match="compare it with a value"):
        not col("total")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (float("nan"), TypeError, "expected a finite number, but found `nan`"),
        (float("inf"), TypeError, "expected a finite number"),
        (2**53 + 1, trueup.QueryError, "expected a number that a double represents exactly, but found 9007199254740993"),
        (10**400, TypeError, "expected a number"),
        (datetime.datetime(2025, 1, 1), TypeError, "found a datetime.datetime"),
        ([1], TypeError, "expected a text, a number"),
        (col("leads"), TypeError, "expected a text, a number"),
        (object, TypeError, "expected a text, a number"),
    ],
)
def test_other_values_are_refused(value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        col("total") == value  # noqa: B015
    with pytest.raises(error, match=message):
        col("total").is_in([value])
    with pytest.raises(TypeError, match="expected several values"):
        col("total").is_in("abc")


def test_a_long_chain_is_flat_and_a_deep_one_is_refused(demo: Dataset) -> None:
    either = col("zip") == "0"
    for zip_code in range(1, 600):
        either |= col("zip") == str(zip_code)
    demo.explain("leads", where=either, **QUARTER)
    deep = col("zip") == "0"
    with pytest.raises(trueup.QueryError, match="nested deeper than 32 levels"):
        for _ in range(1_000):
            deep = ~deep
