"""The data source `trueup`: events with their computed fields, from which Spark SQL computes what trueup answers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trueup
import trueup.spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def read(spark: SparkSession, dataset: trueup.Dataset) -> Any:
    trueup.spark.register(spark)

    def read(**options: Any) -> DataFrame:
        return spark.read.format("trueup").options(**options).load(str(dataset.path))

    return read


def test_all_events_have_all_fields(read: Any, dataset: trueup.Dataset) -> None:
    events = read(month="2025-05", partitions=3)
    assert events.rdd.getNumPartitions() == 3
    types = dict(events.dtypes)
    assert set(types) == {field.name for field in dataset.fields() if field.kind == "dimension"} | {"total"}
    assert {name: types[name] for name in ("date", "dateTime", "typeIsLast", "total", "month", "campaign")} == {
        "date": "date",
        "dateTime": "timestamp",
        "typeIsLast": "boolean",
        "total": "decimal(19,6)",
        "month": "string",
        "campaign": "string",
    }
    assert events.count() == dataset.query("eventCount", month="2025-05")["eventCount"][0] > 1_000
    assert read(fields="type").count() == dataset.event_rows


def test_spark_sql_continues_where_the_fields_end(spark: SparkSession, read: Any, dataset: trueup.Dataset) -> None:
    """What Spark SQL counts in the computed fields of months is what the metrics of trueup count."""
    read(year=2025, interval="month").createOrReplaceTempView("events")
    found = spark.sql("""
        select start, end, attributionChannel, count(*) eventCount, count_if(typeIsLast) customers,
            count_if(typeIsLast and adjustedType in ('sold', 'closed')) payingCustomers,
            count_if(type = 'lead-originated') conversions, cast(coalesce(sum(total), 0) as decimal(38, 6)) total
        from events group by all order by start, attributionChannel
    """)
    fields = ["attributionChannel", "eventCount", "customers", "payingCustomers", "conversions", "total"]
    expected = dataset.query(fields, year=2025, interval="month").to_dicts()
    assert len(expected) > 50
    assert [row.asDict() for row in found.collect()] == expected


def test_states_are_those_of_the_range_and_not_of_the_filter(spark: SparkSession, read: Any, dataset: trueup.Dataset) -> None:
    options = {"start": "2025-03-01", "end": "2025-04-15", "accounts": ", ".join(dataset.accounts[:2]), "where": "total >= 100"}
    read(**options, fields="adjustedType,typeIsLast,firstBooked,total").createOrReplaceTempView("events")
    found = spark.sql("""
        select adjustedType, cast(typeIsLast as string) typeIsLast, coalesce(cast(firstBooked as string), '') firstBooked,
            count(*) eventCount, cast(sum(total) as decimal(38, 6)) total
        from events group by all order by adjustedType, typeIsLast, firstBooked
    """)
    fields = ["adjustedType", "typeIsLast", "firstBooked", "eventCount", "total"]
    expected = dataset.query(fields, **{**options, "accounts": dataset.accounts[:2]}).to_dicts()
    assert len(expected) > 50
    assert [row.asDict() for row in found.collect()] == expected


def test_a_schema_picks_columns(spark: SparkSession, folder: Path, dataset: trueup.Dataset) -> None:
    trueup.spark.register(spark)
    schema = "total decimal(19,6), type string, start date"
    events = spark.read.format("trueup").schema(schema).options(month="2025-05", interval="week").load(str(dataset.path))
    row = events.selectExpr("count(*)", "sum(total)", "count(distinct start)").first()
    expected = dataset.query("eventCount,total", month="2025-05").to_dicts()[0]
    assert row is not None and tuple(row) == (expected["eventCount"], expected["total"].quantize(Decimal("1e-6")), 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moth": "2025-01"}, "the data source `trueup` has no option `moth`; it has accounts, .*, where"),
        ({"fields": "campain"}, "did you mean `campaign`"),
        ({"fields": "campaign,leads"}, "without the metric `leads`; of the metrics, only `total` has a value on an event"),
        ({"where": "leads > 1"}, "without a condition on a metric"),
        ({"start": "2025-01-01", "end": "2025-12-31"}, "exceeding the 90-day attribution window"),
        ({"asOf": "2026-01-31"}, "add the time, such as"),
        ({"partitions": "0"}, "`partitions`: expected a whole number above 0, but found `0`"),
        ({"allowLongTotal": "yes"}, "expected true or false, but found `yes`"),
    ],
)
def test_faulty_options_are_refused(read: Any, options: dict[str, str], message: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=message):
        read(**options).count()
