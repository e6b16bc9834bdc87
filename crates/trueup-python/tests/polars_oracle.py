"""The metrics as a user of polars computes them, with window expressions and groups over data frames.

It shares nothing with the engine but the tables that both read. [`Oracle`] turns stored events into histories of customers, then into the
events of sub-ranges, and these into the rows of a [`Question`]. The steps add these columns:

| step | column | what it holds |
|---|---|---|
| history | `at` | the index of the event in the order of all histories |
| | `customer` | `at` of the customer's first event, which identifies the customer |
| | `at STAGE`, `day STAGE` | `at` and the day of the customer's first event of that stage; null if there is none |
| | `last canceled` | `at` of the customer's last cancellation; null if there is none |
| | `FROM to TO` | the days from the first event of a stage to the first one of a later stage on that day or after it; null without one |
| segment | `start`, `end` | the days of the sub-range. The events of a customer in it are a segment |
| | `live` | whether the event is live |
| | `is state` | whether the event is the state event |
| | `adjustedType` | the state |
| | `estimate`, `sold`, `closed` | the average live estimate, the sum of live sales, and that of closed work |
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Literal

import numpy
import polars as pl
from polars import col, lit, when

STAGES = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"]
FUNNEL = STAGES[:5]
PAIRS = [(first, then) for at, first in enumerate(FUNNEL) for then in FUNNEL[at + 1 :]]
LENGTHS = {"month": "1mo", "week": "1w", "day": "1d"}

# The dimensions of spend.
OF_SPEND_ROWS = ["attributionCategory", "attributionChannel", "campaign"]
CARRIED = {"account", "accountKey", "accountName", "currency", "date", "week", "month", *OF_SPEND_ROWS}

# The text columns that metrics and questions read. A table may lack them.
READ = ["attributionCategory", "attributionChannel", "campaign", "conversionDetailedLabel", "customerStatus", "opportunityAgent", "zip"]


@dataclass(frozen=True)
class Condition:
    """A filter: as a query has it, its field, and as an expression over events, spend or, if the field is a metric, rows."""

    where: str
    field: str
    expression: pl.Expr

    def __repr__(self) -> str:
        return self.where


@dataclass(frozen=True)
class Question:
    """A request for all metrics."""

    start: date
    end: date
    dimensions: tuple[str, ...] = ()
    interval: Literal["total", "month", "week", "day"] = "total"
    conditions: tuple[Condition, ...] = ()
    accounts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Tables:
    """The tables of a dataset, with the columns and types of docs/data-model.md. Days may be null where there is a `dateTime`."""

    events: pl.DataFrame
    spend: pl.DataFrame
    accounts: pl.DataFrame


def rows(condition: pl.Expr) -> pl.Expr:
    """The number of rows for which `condition` holds."""
    return condition.fill_null(False).cast(pl.Int64).sum()


def is_(stage: str) -> pl.Expr:
    return col("type") == stage


def state(*stages: str) -> pl.Expr:
    return col("is state") & col("adjustedType").is_in(stages or STAGES)


def reached(stage: str) -> pl.Expr:
    return col(f"at {stage}").is_not_null()


def start_of(stage: str) -> pl.Expr:
    """Whether an event is the start of a step: the customer's first event of a stage or, of the first stage, a lead."""
    return is_(stage) & (col("at") == col("customer" if stage == STAGES[0] else f"at {stage}"))


def labelled(*labels: str) -> pl.Expr:
    return is_("lead-originated") & col("conversionDetailedLabel").is_in(labels)


def money(condition: pl.Expr, amount: str) -> pl.Expr:
    return when(condition).then(col(amount)).sum()


LAST_CANCELED = col("at").filter(is_("canceled")).max()
LEAD, UNMATCHED = start_of("lead-originated"), col("customerStatus").is_in(["", "Unmatched"])
CANCELED_LATER = col("last canceled") > col("first booked here")

# What is counted or added up over the events of a group: the metrics, and the sides of ratios.
OF_EVENTS = {
    "eventCount": pl.len(),
    "conversions": rows(is_("lead-originated")),
    "leads": rows(LEAD),
    "soldLeads": rows(LEAD & reached("sold")),
    "closedLeads": rows(LEAD & reached("closed")),
    "booked leads": rows(LEAD & reached("booked")),
    "opportunityCount": col("customer").n_unique(),
    "customers": rows(state()),
    "matchedCustomers": rows(state() & ~UNMATCHED),
    "unmatchedCustomers": rows(state() & UNMATCHED),
    "payingCustomers": rows(state("sold", "closed")),
    "bookedCustomers": rows(state() & col("first booked here").is_not_null()),
    "canceledCustomers": rows(state() & col("last canceled here").is_not_null()),
    "canceled later": rows(state() & CANCELED_LATER),
    "opportunityAgents": col("opportunityAgent").filter(state() & (col("opportunityAgent") != "")).n_unique(),
    "gradedConversions": rows(is_("lead-originated") & (col("conversionDetailedLabel") != "")),
    "bookableConversions": rows(labelled("Bookable - Booked", "Bookable - Didn't Book")),
    "bookedConversions": rows(labelled("Bookable - Booked")),
    "bookableUnbookedConversions": rows(labelled("Bookable - Didn't Book")),
    "unbookableConversions": rows(labelled("Unbookable")),
    "first bookings": rows(start_of("booked")),
    "booked then estimated": rows(start_of("booked") & reached("estimated")),
    "first estimates": rows(start_of("estimated")),
    "estimated then sold": rows(start_of("estimated") & reached("sold")),
    "first sales": rows(start_of("sold")),
    "sold then closed": rows(start_of("sold") & reached("closed")),
    "total": col("total").sum(),
    "estimatedRevenue": money(state("estimated"), "estimate"),
    "soldRevenue": money(state("sold"), "sold"),
    "closedRevenue": money(state("closed"), "closed"),
}

OF_SPEND = {
    "spend": col("spend").sum(),
    "cost": col("adSpend").sum(),
    "campaignSpend": money(col("campaign") != "", "spend"),
    "clicks": col("clicks").sum(),
    "impressions": col("impressions").sum(),
}

# Of the rows of the result. A name with a blank is none of a metric.
SUMS = {
    "earned money": col("soldRevenue") + col("closedRevenue"),
    "revenuePotential": col("soldRevenue") + col("closedRevenue") + col("estimatedRevenue"),
    "tenths of one": lit(10),
}
RATIOS = {
    "percentConversionsGraded": ("gradedConversions", "conversions"),
    "conversionQuality": ("bookableConversions", "gradedConversions"),
    "avgConversionsPerLead": ("conversions", "leads"),
    "avgCostPerConversion": ("spend", "conversions"),
    "avgCostPerLead": ("spend", "leads"),
    "avgCostPerPayingCustomer": ("spend", "payingCustomers"),
    "avgCostPerBookedCustomer": ("spend", "bookedCustomers"),
    "avgTicket": ("earned money", "payingCustomers"),
    "bookRate": ("bookedCustomers", "customers"),
    "matchRate": ("matchedCustomers", "customers"),
    "payingCustomerRate": ("payingCustomers", "customers"),
    "customerCancelRate": ("canceledCustomers", "customers"),
    "cancelRate": ("canceled later", "bookedCustomers"),
    "roasPotential": ("revenuePotential", "spend"),
    "roasClosed": ("closedRevenue", "spend"),
    "stepBookRate": ("booked leads", "leads"),
    "stepEstimateRate": ("booked then estimated", "first bookings"),
    "stepSoldRate": ("estimated then sold", "first estimates"),
    "stepCloseRate": ("sold then closed", "first sales"),
}


def add_durations() -> None:
    """Add the metrics of the days between each two stages."""
    for first, then in PAIRS:
        name = f"{first.removesuffix('-originated').title()}To{then.title()}"
        days, start = col(f"{first} to {then}"), start_of(first)
        found = days.filter(start)
        OF_EVENTS[f"reached{name}"] = rows(start & days.is_not_null())
        OF_EVENTS[f"notReached{name}"] = rows(start & days.is_null())
        OF_EVENTS[f"days {name}"] = found.sum()
        RATIOS[f"avgDays{name}"] = (f"days {name}", f"reached{name}")
        OF_EVENTS[f"medianDays{name}"] = found.median()
        # Between the closest ranks, in tenths of a day.
        tenths = (found.count().cast(pl.Int64) - 1) * 9 % 10
        lower, upper = (found.quantile(0.9, rank) for rank in ("lower", "higher"))
        OF_EVENTS[f"p90 {name}"] = lower * (10 - tenths) + upper * tenths
        RATIOS[f"p90Days{name}"] = (f"p90 {name}", "tenths of one")


add_durations()
METRICS = [name for name in [*OF_EVENTS, *OF_SPEND, *SUMS, *RATIOS] if " " not in name]


class Oracle:
    """Answers questions about tables."""

    def __init__(self, tables: Tables) -> None:
        known = pl.concat(table.select("account") for table in (tables.events, tables.spend, tables.accounts)).unique()
        accounts = known.join(tables.accounts, on="account", how="left").with_columns(
            col("accountName", "timeZone", "currency").fill_null(""), col("leadGrading").fill_null(False), accountKey="account"
        )
        self.accounts = accounts.with_columns(accountName=when(col("accountName") == "").then("account").otherwise("accountName"))
        self.events = self.histories(tables.events)
        amounts = ["adSpend", "managementFee", "clicks", "impressions"]
        spend = tables.spend.with_columns(col(amounts).fill_null(0), col(OF_SPEND_ROWS).fill_null(""))
        spend = spend.join(self.accounts, on="account").with_columns(*calendar(), spend=col("adSpend") + col("managementFee"))
        self.spend = spend.with_columns(date=col("date").dt.to_string(), day="date")
        self.segments = cache(self.segments)  # type: ignore[method-assign]

    def histories(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return the last event of each id, and all events without one, in the order of their histories."""
        events = events.with_columns(lit("").alias(name) for name in READ if name not in events.columns)
        others = sorted(set(events.columns) - {"account", "opportunityId", "type", "dateTime", "date", "eventId", "total"})
        zone = {name: col("dateTime").dt.convert_time_zone(name or "UTC").dt.date() for name in self.accounts["timeZone"].unique()}
        local = pl.coalesce(*(when(col("timeZone") == name).then(day) for name, day in zone.items()))
        # Without a point in time, a conversion comes before all others of its day, and any other event after them.
        timed = when(col("dateTime").is_not_null()).then(1).when(is_("lead-originated")).then(0).otherwise(2)
        events = (
            events.with_row_index("nth")
            .with_columns(col("eventId", *others).fill_null(""))
            .filter((col("eventId") == "") | (col("nth") == col("nth").max().over("account", "eventId")))
            .join(self.accounts, on="account")
            .with_columns(day=col("date").fill_null(local), stage=stage())
            .sort("account", "opportunityId", "day", timed, "dateTime", "stage", "eventId", "total", *others)
            .with_row_index("at")
        )
        over_customer = {"customer": col("at").min(), "first day": col("day").min(), "last canceled": LAST_CANCELED}
        for name in STAGES:
            over_customer |= {f"at {name}": col("at").filter(is_(name)).min(), f"day {name}": col("day").filter(is_(name)).min()}
        events = events.with_columns(value.over("account", "opportunityId").alias(name) for name, value in over_customer.items())
        return events.with_columns(
            *(days_between(first, then).alias(f"{first} to {then}") for first, then in PAIRS),
            *calendar("day"),
            date=col("day").dt.to_string(),
            conversionDetailedLabel=when("leadGrading").then("conversionDetailedLabel").otherwise(lit("")),
            opportunityStartDate=col("first day").dt.to_string(),
            firstSold=col("day sold").dt.to_string().fill_null(""),
            opportunityBooked=when(reached("booked")).then(lit("true")).otherwise(lit("false")),
        )

    def segments(self, question: Question) -> pl.DataFrame:
        """Return the events in the range of a question with the states of their customers. Only its days and its interval matter."""
        segment = ["customer", "start"]
        live_estimates = col("total").filter(is_("estimated") & col("live"))
        has_state = when(col("furthest").is_null()).then(is_("canceled")).otherwise(col("live") & (col("stage") == col("furthest")))
        return (
            in_range(self.events, question)
            .with_columns(
                col("at").filter(is_("booked")).min().over(segment).alias("first booked here"),
                LAST_CANCELED.over(segment).alias("last canceled here"),
                live=is_("closed").any().over(segment) | (col("at") > LAST_CANCELED.over(segment)).fill_null(True),
            )
            .with_columns(furthest=col("stage").filter(col("live") & ~is_("canceled")).max().over(segment))
            .with_columns(
                (col("at") == col("at").filter(has_state).max().over(segment)).alias("is state"),
                adjustedType=col("furthest").fill_null(5).replace_strict(range(6), STAGES, return_dtype=pl.String),
                estimate=average(live_estimates.sum().over(segment), live_estimates.count().over(segment)),
                sold=col("total").filter(is_("sold") & col("live")).sum().over(segment),
                closed=col("total").filter(is_("closed")).sum().over(segment),
            )
            .with_columns(typeIsLast=when("is state").then(lit("true")).otherwise(lit("false")))
        )

    def answer(self, question: Question) -> pl.DataFrame:
        """Return the rows of a question: the days of its sub-range, its dimensions, and all metrics."""
        dimensions, conditions = list(question.dimensions), question.conditions
        keys = ["start", *dimensions]
        shared = [name for name in keys if name == "start" or name in CARRIED]
        events = self.segments(Question(question.start, question.end, interval=question.interval)).lazy()
        spend = in_range(self.spend, question).lazy()
        if question.accounts is not None:
            events, spend = (table.filter(col("account").is_in(question.accounts)) for table in (events, spend))
        for condition in conditions:
            if condition.field not in METRICS or condition.field == "total":
                events = events.filter(condition.expression)
            if condition.field in CARRIED:
                spend = spend.filter(condition.expression)
        groups = events.group_by(keys).agg(**OF_EVENTS)
        spent = spend.group_by(shared).agg(**OF_SPEND)
        if dimensions:
            # Spend without events has rows of its own.
            joined = groups.join(spent, on=shared, how="full", coalesce=True)
        else:
            joined = sub_ranges(question).join(groups, on="start", how="left").join(spent, on="start", how="left")
        result = joined.with_columns(col(*dimensions).fill_null("") if dimensions else [])
        result = result.with_columns(col(*OF_EVENTS, *OF_SPEND).fill_null(0)).with_columns(**SUMS)
        if dimensions:
            result = result.filter(pl.any_horizontal(col("eventCount", "spend", "cost", "clicks", "impressions") != 0))
        frame = result.sort(keys).collect()
        frame = frame.with_columns(*ratios(frame), end=end_of(question))
        for condition in conditions:
            if condition.field in METRICS and condition.field != "total":
                frame = frame.filter(condition.expression)
        return frame.select("start", "end", *dimensions, *METRICS)


def stage() -> pl.Expr:
    return col("type").replace_strict(STAGES, range(6), return_dtype=pl.Int8)


def calendar(day: str = "date") -> list[pl.Expr]:
    """The dimensions of a day, as texts."""
    return [col(day).dt.truncate("1w").dt.to_string().alias("week"), col(day).dt.to_string("%Y-%m").alias("month")]


def start_in(question: Question, day: pl.Expr) -> pl.Expr:
    """The first day of the sub-range of a day."""
    if question.interval == "total":
        return lit(question.start)
    return pl.max_horizontal(day.dt.truncate(LENGTHS[question.interval]), lit(question.start))


def end_of(question: Question) -> pl.Expr:
    if question.interval == "total":
        return lit(question.end)
    length = LENGTHS[question.interval]
    return pl.min_horizontal(col("start").dt.truncate(length).dt.offset_by(length).dt.offset_by("-1d"), lit(question.end))


def in_range(table: pl.DataFrame, question: Question) -> pl.DataFrame:
    return table.filter(col("day").is_between(question.start, question.end)).with_columns(start=start_in(question, col("day")))


def sub_ranges(question: Question) -> pl.LazyFrame:
    days = pl.date_range(question.start, question.end, eager=True).alias("day")
    return pl.LazyFrame(days).select(start=start_in(question, col("day"))).unique()


def days_between(first: str, then: str) -> pl.Expr:
    """The days from the customer's first event of a stage to the first one of a later stage on that day or after it."""
    start = col(f"day {first}")
    return (col("day").filter(is_(then) & (col("day") >= start)).min().over("customer") - start).dt.total_days()


def average(sum: pl.Expr, count: pl.Expr) -> pl.Expr:
    """The average of amounts, rounded half away from zero to the millionth; 0 without amounts."""
    micros, count = (sum * 1_000_000).cast(pl.Int128), count.cast(pl.Int128)
    rounded = micros.sign() * ((2 * micros.abs() + count) // (2 * count))
    return when(count > 0).then(rounded.cast(pl.Decimal(38, 6)) / 1_000_000).otherwise(0)


def ratios(frame: pl.DataFrame) -> list[pl.Series]:
    """The ratios of the rows; 0 if the denominator is 0. numpy divides, because polars may multiply by a reciprocal, which rounds twice."""
    sides = {name: frame[name].cast(pl.Float64).to_numpy() for pair in RATIOS.values() for name in pair}
    quotients = []
    for name, (numerator, denominator) in RATIOS.items():
        is_some, zeros = sides[denominator] != 0, numpy.zeros(len(frame))
        quotients.append(pl.Series(name, numpy.divide(sides[numerator], sides[denominator], out=zeros, where=is_some) + 0.0))
    return quotients
