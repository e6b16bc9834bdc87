"""Functions that run as tasks of Spark, on values that are bytes.

A classic session runs them as RDDs: the first job of a session then takes half the time that it takes with data frames,
for which Spark first starts its SQL engine, and later jobs take less, too. A session of Spark Connect has data frames alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

# What a task does with its values.
Function = Callable[[Iterator[bytes]], Iterator[bytes]]

# The columns of the data frames that carry values.
_VALUES = "value binary"


class Tasks(Protocol):
    """Values that tasks will give. Nothing runs before they are collected."""

    def map(self, function: Function) -> Tasks:
        """Lets each task apply a function to its values."""

    def move(self, tasks: int) -> Tasks:
        """Moves the values to fewer tasks. Some of these may get no value."""

    def collect(self, tag: str) -> list[bytes]:
        """Runs the tasks, with a tag, and returns their values."""

    def cancel(self, tag: str) -> None:
        """Cancels the tasks with a tag."""


def start(spark: SparkSession, values: list[bytes], function: Function) -> Tasks:
    """Applies a function to values, each in a task of its own."""
    context = context_of(spark)
    if context is not None:
        return _Rdd(context, context.parallelize(values, len(values))).map(function)
    count = len(values)

    def chosen(numbers: Iterator[Any]) -> Iterator[bytes]:
        return function(values[number] for number in numbers)

    return _Frame(spark, spark.range(0, count, 1, count)).map(chosen)


def context_of(spark: SparkSession) -> SparkContext | None:
    """Returns the context of a classic session; a session of Spark Connect has none."""
    try:
        return spark.sparkContext
    except Exception:
        return None


class _Rdd:
    """Values of an RDD."""

    def __init__(self, context: SparkContext, values: Any) -> None:
        self._context, self._values = context, values

    def map(self, function: Function) -> _Rdd:
        return _Rdd(self._context, self._values.mapPartitions(function))

    def move(self, tasks: int) -> _Rdd:
        def numbered(task: int, values: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
            return ((task, value) for value in values)

        return _Rdd(self._context, self._values.mapPartitionsWithIndex(numbered).partitionBy(tasks, int).values())

    def collect(self, tag: str) -> list[bytes]:
        self._context.addJobTag(tag)
        values: list[bytes] = self._values.collect()
        return values

    def cancel(self, tag: str) -> None:
        self._context.cancelJobsWithTag(tag)


class _Frame:
    """Values of the only column of a data frame."""

    def __init__(self, spark: SparkSession, frame: DataFrame) -> None:
        self._spark, self._frame = spark, frame

    def map(self, function: Callable[[Iterator[Any]], Iterator[bytes]]) -> _Frame:
        def on_batches(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow

            for value in function(value for batch in batches for value in batch.column(0).to_pylist()):
                yield pyarrow.record_batch({"value": pyarrow.array([value], pyarrow.binary())})

        return _Frame(self._spark, self._frame.mapInArrow(on_batches, _VALUES))

    def move(self, tasks: int) -> _Frame:
        return _Frame(self._spark, self._frame.repartition(tasks))

    def collect(self, tag: str) -> list[bytes]:
        self._spark.addTag(tag)
        return [bytes(row[0]) for row in self._frame.collect()]

    def cancel(self, tag: str) -> None:
        self._spark.interruptTag(tag)
