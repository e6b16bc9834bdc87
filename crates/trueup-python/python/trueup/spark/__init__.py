"""trueup on a cluster of Apache Spark, with the same answers as on one machine.

    import trueup.spark

    table = trueup.spark.query(spark, "s3://lake/acme", ["campaign", "leads", "roasClosed"], year=2026, interval="month")
    frame = trueup.spark.frame(spark, "s3://lake/acme", ["campaign", "leads"], month="2026-05")

    trueup.spark.register(spark)
    events = spark.read.format("trueup").load("s3://lake/acme")

    trueup.spark.ingest(spark.table("funnel.events"), into="s3://lake/acme", spend=spark.table("ads.spend"))

`query` and `frame` run a query on the executors. `ingest` has them write events. `register` adds the data source `trueup`, whose rows are events with
their computed fields. Every executor needs this package, and reads the dataset at the same path as the driver.
docs/cluster.md is the page to follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._ingest import ingest
from ._query import frame, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["frame", "ingest", "query", "register"]


def register(spark: SparkSession) -> None:
    """Adds the data source `trueup` to a session, classic or of Spark Connect.

        trueup.spark.register(spark)
        events = spark.read.format("trueup").option("year", 2026).option("interval", "month").load("s3://lake/acme")
        events.createOrReplaceTempView("events")
        spark.sql("select start, campaign, sum(total) from events where typeIsLast group by all")

    Each row is an event, with the fields that are computed for it. Without days, all of the dataset is one range, and a
    customer's state is that of its whole history. docs/cluster.md lists the options.
    """
    from ._source import EventSource

    spark.dataSource.register(EventSource)
