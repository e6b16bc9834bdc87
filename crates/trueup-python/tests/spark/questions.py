"""Random questions about the demo dataset, the same for the same seed."""

from __future__ import annotations

import datetime
import random
from typing import Any

import trueup

DIMENSIONS = [
    "account",
    "accountName",
    "adjustedType",
    "attributionCategory",
    "attributionChannel",
    "businessUnit",
    "campaign",
    "conversionDetailedLabel",
    "customerStatus",
    "date",
    "firstBooked",
    "month",
    "opportunityAgent",
    "opportunityStartDate",
    "source",
    "technician",
    "type",
    "typeIsLast",
    "week",
    "zip",
]
CONDITIONS = [
    "total >= 500",
    "leads >= 2",
    "typeIsLast = true",
    "adjustedType in (sold, closed)",
    "campaign ~* drain",
    "campaign is empty",
    "customerStatus != Unmatched",
    "spend > 100",
]


def question(chance: random.Random, dataset: trueup.Dataset) -> dict[str, Any]:
    """Returns the arguments of a query."""
    metrics = [field.name for field in trueup.fields() if field.kind == "metric" and not field.only_in_cohorts]
    assert dataset.date_range is not None
    first, last = dataset.date_range
    days = (last - first).days
    start = chance.randrange(days)
    length = chance.choice([0, 6, 29, 89, 364, days])
    dimensions = chance.sample(DIMENSIONS, chance.choice([0, 1, 1, 2, 2, 3]))
    fields = [*dimensions, *chance.sample(metrics, chance.randint(1, 5))]
    options: dict[str, Any] = {
        "fields": fields,
        "start": first + datetime.timedelta(days=start),
        "end": first + datetime.timedelta(days=min(start + length, days)),
        "interval": chance.choice(["total", "total", "month", "week", "day"]) if length < 90 else chance.choice(["total", "month"]),
        "allow_long_total": True,
        "totals": chance.random() < 0.3,
        "where": chance.sample(CONDITIONS, chance.choice([0, 0, 1, 2])),
    }
    if chance.random() < 0.2:
        options["accounts"] = chance.sample(dataset.accounts, min(2, len(dataset.accounts)))
    if chance.random() < 0.3:
        options |= {"sort": f"{fields[-1]}:desc", "limit": 10}
    if options["interval"] == "total" and chance.random() < 0.4:
        options["compare"] = chance.choice(["previous-period", "previous-year", f"{first}..{first + datetime.timedelta(days=60)}"])
    return options
