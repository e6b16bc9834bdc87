"""The same numbers as a user of polars computes them, from demo data of three seeds and from random small tables with many collisions."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from polars import col
from polars.testing import assert_frame_equal
from polars_oracle import METRICS, STAGES, Condition, Oracle, Question, Tables

import trueup


def test_every_metric_is_covered() -> None:
    # Cohorts are not asked for here.
    known = [field.name for field in trueup.fields() if field.kind == "metric" and not field.only_in_cohorts]
    assert sorted(METRICS) == sorted(known)


def engine(dataset: trueup.Dataset, question: Question) -> trueup.Table:
    return dataset.query(
        [*question.dimensions, *METRICS],
        start=question.start,
        end=question.end,
        interval=question.interval,
        accounts=question.accounts,
        where=[condition.where for condition in question.conditions],
        allow_long_total=True,
    )


def check(dataset: trueup.Dataset, oracle: Oracle, question: Question) -> trueup.Table:
    """Compare the answers, also the order of their rows, and return that of the engine."""
    table, expected = engine(dataset, question), oracle.answer(question)
    answer = table.to_polars()
    if question.interval == "total":
        expected = expected.drop("start", "end")
    try:
        assert_frame_equal(answer.cast(dict(expected.schema)), expected, check_exact=True)
    except AssertionError as error:
        raise AssertionError(f"{dataset.path}: {question}\n{error}") from None
    return table


def check_forms(table: trueup.Table) -> None:
    """Compare the forms of a table with its rows. In JSON, an amount or a count is the nearest double."""
    rows = table.to_dicts()
    assert table.to_polars().to_dicts() == rows
    assert table.to_pyarrow().to_pylist() == rows
    as_json = [{name: str(value) if isinstance(value, str | date) else float(value) for name, value in row.items()} for row in rows]
    assert json.loads(table.to_json(), parse_int=float) == as_json


DEMO_DIMENSIONS: list[tuple[str, ...]] = [
    (),
    ("campaign",),
    ("account",),
    ("attributionChannel",),
    ("customerStatus",),
    ("adjustedType",),
    ("type", "attributionCategory"),
    ("account", "week"),
    ("opportunityAgent", "month"),
]
DEMO_CONDITIONS = [
    (),
    (Condition("attributionCategory = Advertising", "attributionCategory", col("attributionCategory") == "Advertising"),),
    (Condition("adjustedType = sold", "adjustedType", col("adjustedType") == "sold"),),
]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_demo_data(program: str, tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "demo"
    options = ["--events", "20000", "--accounts", "8", "--seed", str(seed), "--until", "2026-06-30"]
    subprocess.run([program, "demo", str(folder), *options], check=True, capture_output=True)
    files = {name: pl.read_parquet(folder / name / "*.parquet") for name in ("events", "spend", "accounts")}
    files["events"] = files["events"].drop("trueup.customer", "trueup.dateSource")
    dataset, oracle = trueup.open(folder), Oracle(Tables(**files))
    rows = 0
    # The whole range, and a part that starts and ends inside a month, with history before and after it.
    for start, end in [(date(2024, 7, 1), date(2026, 6, 30)), (date(2025, 1, 15), date(2025, 4, 10))]:
        for interval in ("total", "month"):
            for dimensions in DEMO_DIMENSIONS:
                for conditions in DEMO_CONDITIONS:
                    rows += len(check(dataset, oracle, Question(start, end, dimensions, interval, conditions)))
    assert rows > 10_000


ACCOUNTS = ["acme", "Acme", "b c", "zoë"]
ZONES = ["UTC", "America/Chicago", "Asia/Kolkata", "Pacific/Auckland", "", None]
CUSTOMERS = ["c1", "c1", "c2", "c3", "c10", "C1", "ç"]
EVENT_IDS = ["e1", "e10", "E1", "é"]
# Of each column, the values that rows and conditions draw from. The first two are drawn most often.
TEXTS = {
    "attributionCategory": ["Advertising", "", "Organic"],
    "attributionChannel": ["Search", "", "Social"],
    "campaign": ["x", "X", "", "Brand | Search > $5", "été \"fünf\" \\ 💧", "it's", "10", "10.0"],
    "conversionDetailedLabel": ["Bookable - Booked", "Bookable - Didn't Book", "Unbookable", "", "bookable - booked"],
    "customerStatus": ["New", "Unmatched", "", "unmatched"],
    "opportunityAgent": ["Ann", "Bob", ""],
    "zip": ["00501", "501", ""],
}
DIMENSIONS = [
    *(name for name in TEXTS if name != "conversionDetailedLabel"),
    *("account", "accountKey", "accountName", "currency", "date", "week", "month", "type", "adjustedType", "typeIsLast", "opportunityId"),
    *("conversionDetailedLabel", "opportunityStartDate", "firstSold", "opportunityBooked"),
]
# In millionths: zero, amounts whose averages end in half a millionth, and the largest ones.
AMOUNTS = [0, 1, -1, 2, 10_000_000, -10_000_000, 33_333_333, 1_234_560_000, 9_007_199_254_740_993, 9 * 10**18, 9 * 10**18 - 1, -9 * 10**18]
FIRST, CALENDAR = date(2025, 1, 20), (date(1970, 1, 1), date(2149, 6, 6))
# Days after the first one: many collide, or are at the edge of a month, of a week, or of summer time in Chicago.
DAYS = [0, 1, 2, 3, 11, 12, 39, 40, 47, 48, 49, 70, 71, 89, 90, 119]
# Seconds after midnight in UTC: at midnight and noon, and before and after midnight in the time zones.
SECONDS = [0, 43_200, 86_399, 18_000, 17_999, 21_600, 21_599, 66_600, 66_599]
EVENTS = {
    **dict.fromkeys(["account", "opportunityId", "type", "eventId"], pl.String),
    **{"dateTime": pl.Datetime("us", "UTC"), "date": pl.Date, "total": pl.Decimal(19, 6)},
}
SPEND = {
    **{"account": pl.String, "date": pl.Date, "adSpend": pl.Decimal(19, 6), "managementFee": pl.Decimal(19, 6)},
    **dict.fromkeys(["attributionCategory", "attributionChannel", "campaign"], pl.String),
    **{"clicks": pl.Int64, "impressions": pl.Int64},
}
ACCOUNT = {**dict.fromkeys(["account", "accountName", "timeZone", "currency"], pl.String), "leadGrading": pl.Boolean}


class RandomCase:
    """Random small tables, and questions about them: ties on a day, edges of ranges, cancellations at odd places, shared ids."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        pick = self.random.choice
        # Some cases are at an end of the calendar. Their events have no times, because a time zone could move one out of it.
        self.first = pick([FIRST] * 8 + [CALENDAR[0], CALENDAR[1] - timedelta(days=DAYS[-1])])
        currencies = pick([[None, ""], ["USD"], ["USD", "CAD", ""]])
        names = pick([[None, ""], [None, "", "Same name", "Bø & Söhne"]])
        grading = [True, True, False, None]
        accounts = [
            dict(zip(ACCOUNT, (key, pick(names), pick(ZONES), pick(currencies), pick(grading)), strict=True))
            for key in ACCOUNTS[: pick([1, 2, 4])]
        ]
        self.keys = [row["account"] for row in accounts]
        self.zones = {row["account"]: row["timeZone"] for row in accounts}
        # The table of events lacks some columns, that of accounts some accounts.
        columns = [name for name in TEXTS if pick([True, True, True, False])]
        events: list[dict[str, Any]] = []
        for _ in range(pick([2, 15, 40])):
            # Of some events only the texts differ.
            event = pick(events) if events and pick([True, False, False, False]) else self.event()
            events.append(event | {name: self.text(name) for name in columns})
        spend = [self.spend() for _ in range(pick([0, 1, 12]))]
        self.tables = Tables(
            pl.DataFrame(events, EVENTS | dict.fromkeys(columns, pl.String)),
            pl.DataFrame(spend, SPEND),
            pl.DataFrame([row for row in accounts if pick([True, True, True, False])], ACCOUNT),
        )

    def text(self, name: str) -> str | None:
        values = TEXTS[name]
        return self.random.choice([None, *values, *values[:2], *values[:2]])

    def day(self, offset: int) -> date:
        """The day at an offset from the first one, or the end of the calendar."""
        offset = max(offset, (CALENDAR[0] - self.first).days)
        return self.first + timedelta(days=min(offset, (CALENDAR[1] - self.first).days))

    def amount(self) -> Decimal | None:
        pick = self.random.choice
        micros = pick([None, pick(AMOUNTS), pick(AMOUNTS[:8]), self.random.randrange(-(10**9), 10**10)])
        return None if micros is None else Decimal(micros).scaleb(-6)

    def event(self) -> dict[str, Any]:
        pick = self.random.choice
        account, day = pick([self.keys[0], pick(self.keys)]), self.day(pick(DAYS))
        midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
        instant = midnight + timedelta(seconds=pick(SECONDS), microseconds=pick([0, 0, 1, 999_999]))
        near = [day, day - timedelta(days=1), day + timedelta(days=1)] if self.zones[account] == "UTC" else [day]
        given = pick([(None, instant), (pick(near), instant), (day, None)]) if self.first == FIRST else (day, None)
        customer, kind = pick(CUSTOMERS), pick([*STAGES, *STAGES[:1] * 2])
        # An id belongs to one event alone: its later rows replace the earlier ones.
        event_id = pick([None, "", f"{pick(EVENT_IDS)} {customer} {kind}"])
        return {
            "account": account,
            "opportunityId": customer,
            "type": kind,
            "eventId": event_id,
            "total": self.amount(),
            **dict(zip(("date", "dateTime"), given, strict=True)),
        }

    def spend(self) -> dict[str, Any]:
        pick, text = self.random.choice, self.text
        return {
            "account": pick([*self.keys, "spend only"]),
            "date": self.day(pick(DAYS)),
            **{name: text(name) for name in ("attributionCategory", "attributionChannel", "campaign")},
            **{"adSpend": self.amount(), "managementFee": self.amount()},
            **{name: pick([None, 0, pick([7, 2**53 + 1])]) for name in ("clicks", "impressions")},
        }

    def question(self) -> Question:
        pick = self.random.choice
        first = pick([0, 0, pick(DAYS), -20])
        start, end = self.day(first), self.day(first + pick([119, pick([0, 6, 30, 89, 149])]))
        dimensions = self.random.sample(DIMENSIONS, pick([0, 1, 1, 2, 3]))
        fields = self.random.sample([*CONDITIONS], pick([0, 0, 1, 2]))
        conditions = [CONDITIONS[field](self, field) for field in fields]
        known = sorted(set(pl.concat([table["account"] for table in (self.tables.events, self.tables.spend, self.tables.accounts)])))
        accounts = pick([None, None, tuple(self.random.sample(known, self.random.randint(1, len(known))))])
        return Question(start, end, tuple(dimensions), pick(["total", "month", "week", "day"]), tuple(conditions), accounts)

    def on_text(self, field: str) -> Condition:
        values = TEXTS.get(field) or {"type": STAGES, "adjustedType": STAGES, "account": ACCOUNTS, "month": ["2025-02", "2025-03"]}[field]
        value, other = self.random.choice(values), self.random.choice(values)
        quoted = ["'" + text.replace("'", "''") + "'" for text in (value, other)]
        where, expression = self.random.choice(
            [
                (f"{field} = {quoted[0]}", col(field) == value),
                (f"{field} != {quoted[0]}", col(field) != value),
                (f"{field} in ({quoted[0]}, {quoted[1]})", col(field).is_in([value, other])),
                # The empty text is no value, and in no order.
                (f"{field} >= {quoted[0]}", (col(field) >= value) & (col(field) != "")),
                (f"{field} ~* '^[a-m]|é'", col(field).str.contains("(?i)^[a-m]|é")),
                (f"{field} is not empty", col(field) != ""),
            ]
        )
        return Condition(where, field, expression)

    def on_number(self, field: str) -> Condition:
        bound = self.random.choice([0, 1, 2, 10])
        sign, expression = self.random.choice([(">=", col(field) >= bound), ("<", col(field) < bound)])
        return Condition(f"{field} {sign} {bound}", field, expression)


CONDITIONS = {
    **dict.fromkeys([*TEXTS, "type", "adjustedType", "account", "month"], RandomCase.on_text),
    **dict.fromkeys(["total", "customers", "leads", "closedRevenue", "spend"], RandomCase.on_number),
}


def mixes_currencies(oracle: Oracle, question: Question) -> bool:
    """Whether an amount in the answer would add up amounts of different currencies."""
    if {"account", "accountKey", "currency"} & set(question.dimensions):
        return False
    accounts = oracle.accounts.filter(pl.lit(question.accounts is None) | col("account").is_in(question.accounts or []))
    groups = accounts.group_by(col("accountName") if "accountName" in question.dimensions else pl.lit(0))
    return groups.agg(col("currency").n_unique())["currency"].max() > 1


# A condition may name a value that no row has, and a range may have no rows.
@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
@pytest.mark.parametrize("first_seed", range(0, 60, 10))
def test_random_tables(tmp_path: Path, first_seed: int) -> None:
    rows = 0
    for seed in range(first_seed, first_seed + 10):
        case, folder = RandomCase(seed), tmp_path / str(seed)
        trueup.ingest(folder, case.tables.events, spend=case.tables.spend, accounts=case.tables.accounts)
        dataset, oracle = trueup.open(folder), Oracle(case.tables)
        for _ in range(6):
            question = case.question()
            if mixes_currencies(oracle, question):
                with pytest.raises(trueup.QueryError, match="never added up"):
                    engine(dataset, question)
                question = replace(question, dimensions=("currency", *question.dimensions))
            table = check(dataset, oracle, question)
            check_forms(table)
            rows += len(table)
    assert rows > 200
