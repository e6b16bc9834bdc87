"""Events are read one by one, with their computed fields, and add up to the answer."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow
import pytest

import trueup
from trueup import Dataset

OPTIONS: dict[str, Any] = {"year": 2025, "interval": "month", "where": "total > 100"}


def test_events_add_up_to_the_answer(demo: Dataset) -> None:
    query = demo.prepare("adjustedType,typeIsLast,week,total", **OPTIONS)
    events: Counter[tuple[Any, ...]] = Counter()
    totals: dict[tuple[Any, ...], Decimal] = {}
    for split in demo.plan_splits(query, 3):
        for batch in demo.read_events(query, split):
            for row in batch.to_pylist():
                key = (row["start"], row["adjustedType"], str(row["typeIsLast"]).lower(), str(row["week"]))
                events[key] += 1
                totals[key] = totals.get(key, Decimal(0)) + row["total"]
    answer = demo.query("adjustedType,typeIsLast,week,eventCount,total", **OPTIONS)
    keys = zip(answer["start"], answer["adjustedType"], answer["typeIsLast"], answer["week"])
    assert {key: (events[key], totals[key]) for key in events} == dict(zip(keys, zip(answer["eventCount"], answer["total"])))


def test_columns_have_types(demo: Dataset) -> None:
    query = demo.prepare("firstBooked,dateTime,opportunityBooked,campaign,total", month="2025-01")
    reader = demo.read_events(query, demo.plan_splits(query, 1)[0])
    assert [str(field.type) for field in reader.schema] == ["date32[day]", "timestamp[us, tz=UTC]", "bool", "string", "decimal128(19, 6)"]
    table = pyarrow.Table.from_batches(reader, reader.schema)
    assert table.num_rows == demo.query("eventCount", month="2025-01")["eventCount"][0]
    assert next(reader, None) is None


def test_what_events_do_not_have_is_refused(demo: Dataset) -> None:
    query = demo.prepare("campaign,leads", month="2025-01")
    with pytest.raises(trueup.QueryError, match="without the metric `leads`"):
        demo.read_events(query, demo.plan_splits(query, 1)[0])


def test_reading_is_interrupted(demo: Dataset) -> None:
    query = demo.prepare("campaign,total", month="2025-01")
    interrupt = trueup.Interrupt()
    reader = demo.read_events(query, demo.plan_splits(query, 1)[0], interrupt=interrupt)
    interrupt.cancel()
    with pytest.raises(trueup.Cancelled):
        next(reader)


def test_a_number_of_threads_is_refused(demo: Dataset) -> None:
    query = demo.prepare("campaign,total", month="2025-01")
    options: dict[str, Any] = {"threads": 2}
    with pytest.raises(TypeError, match="unexpected keyword argument 'threads'"):
        demo.read_events(query, demo.plan_splits(query, 1)[0], **options)
