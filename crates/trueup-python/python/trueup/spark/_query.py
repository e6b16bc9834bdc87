"""Runs the splits of a query as tasks, and merges their partial results on the executors."""

from __future__ import annotations

import math
import os
import pickle
import queue
import re
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow

import trueup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The number of partial results that one task, or the driver, merges.
_FAN_IN = 16

# The rows for which a split is worth a task: a task costs some 50 ms, in which a core decodes about as many rows.
_ROWS_PER_TASK = 2_000_000

# The number of splits for each core: a core that has finished early takes one more.
_SPLITS_PER_CORE = 4

# The number of cores, if the session does not tell.
_UNKNOWN_CORES = 64

# The seconds that the request to cancel the tasks of a query may take before its caller goes on without an answer.
_CANCEL_SECONDS = 2.0

# The versions of datasets that this process has opened for tasks, the oldest first, and the most of them.
_OPENED: dict[tuple[str, int], trueup.Dataset] = {}
_MOST_OPENED = 4

# The columns of the data frames that carry partial results.
_PARTIALS = "partial binary"


def query(
    spark: SparkSession,
    dataset: str | os.PathLike[str] | trueup.Dataset,
    fields: str | Iterable[str],
    *,
    splits: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> trueup.Table:
    """Answers a query on the executors of a cluster: the answer of `trueup.Dataset.query`, to the byte.

    Spark runs the splits of the query as tasks, and runs a task again that was lost. The executors merge the partial
    results in a tree, and the driver finishes what is left. A partial result that is missing, repeated, altered, or of
    another query or version is a `trueup.PartialError` that says what is missing, and never a number.

    spark: a session, classic or of Spark Connect.
    dataset: the path or URL of a dataset, the same on every executor; or an open one, whose version is then read.
    fields, options: those of `trueup.Dataset.prepare`.
    splits: the most tasks that read; by default four per core, and fewer for few rows.
    timeout: in seconds. After them the tasks are cancelled and `trueup.Timeout` is raised, whatever the cluster does.
    """
    deadline = _Deadline(timeout)
    opened = open_dataset(dataset)
    prepared = opened.prepare(fields, **options)
    planned = _plan(spark, opened, prepared, splits)
    work = _Work(location(opened), opened.version, pickle.dumps(prepared), [pickle.dumps(split) for split in planned])
    partials = _run(spark, work)
    for tasks in _levels(len(planned)):
        partials = partials.repartition(tasks).mapInArrow(_merge, _PARTIALS)
    received = [trueup.Partial.from_bytes(bytes(row[0])) for row in _collect(spark, partials, deadline)]
    if not received:
        raise trueup.PartialError(f"none of the {len(planned)} splits of the query gave a partial result; run the query again")
    return trueup.Partial.merge_all(received).finish(opened, prepared, timeout=deadline.left())


def frame(
    spark: SparkSession,
    dataset: str | os.PathLike[str] | trueup.Dataset,
    fields: str | Iterable[str],
    **options: Any,
) -> DataFrame:
    """Answers a query as `query` does, as a data frame of Spark.

    Dimensions are strings, counts `bigint`, money `decimal(38, 6)`, and ratios `double`. With `totals=True` the totals are
    the last row, and a first column `rowType` marks them.
    """
    table = query(spark, dataset, fields, **options)
    answer = (table if table.totals is None else table.with_totals_row()).to_pyarrow()
    return spark.createDataFrame(answer.cast(pyarrow.schema([_known_to_spark(field) for field in answer.schema])))


def _known_to_spark(field: pyarrow.Field[Any]) -> pyarrow.Field[Any]:
    """Spark has neither dictionaries nor integers without a sign."""
    if pyarrow.types.is_dictionary(field.type):
        return field.with_type(pyarrow.string())
    return field.with_type(pyarrow.int64()) if pyarrow.types.is_uint64(field.type) else field


class _Deadline:
    """The time until which a query may run."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout, self._end = timeout, None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        """Returns the seconds that are left, which are more than 0; None without a deadline."""
        return None if self._end is None else max(self._end - time.monotonic(), 1e-3)


class _Work:
    """What a task needs to run a split, whose number is the id of a row."""

    def __init__(self, path: str, version: int, prepared: bytes, splits: list[bytes]) -> None:
        self.path, self.version, self.prepared, self.splits = path, version, prepared, splits

    def run(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        dataset, prepared = _opened_version(self.path, self.version), pickle.loads(self.prepared)
        for batch in batches:
            numbers: list[Any] = batch.column(0).to_pylist()
            for number in numbers:
                split = pickle.loads(self.splits[number])
                # Other tasks run on the other cores.
                yield _batch(dataset.run_split(prepared, split, threads=1))


def _opened_version(path: str, version: int) -> trueup.Dataset:
    """Opens a version once per process, so that the tasks of a worker share its decoded columns."""
    if (path, version) not in _OPENED:
        while len(_OPENED) >= _MOST_OPENED:
            _OPENED.pop(next(iter(_OPENED)))
        _OPENED[path, version] = trueup.open(path, as_of=version)
    return _OPENED[path, version]


def open_dataset(dataset: str | os.PathLike[str] | trueup.Dataset) -> trueup.Dataset:
    return dataset if isinstance(dataset, trueup.Dataset) else trueup.open(dataset)


def location(dataset: trueup.Dataset) -> str:
    """Returns the URL of a dataset, or its path, which executors resolve in another working directory."""
    path = os.fspath(dataset.path)
    return path if "://" in path else os.path.abspath(path)


def _plan(spark: SparkSession, dataset: trueup.Dataset, prepared: trueup.Query, splits: int | None) -> list[trueup.Split]:
    if splits is not None:
        return dataset.plan_splits(prepared, splits)
    planned = dataset.plan_splits(prepared, _SPLITS_PER_CORE * _cores(spark))
    useful = math.ceil(sum(split.rows for split in planned) / _ROWS_PER_TASK)
    return planned if len(planned) <= useful else dataset.plan_splits(prepared, max(useful, 1))


def _cores(spark: SparkSession) -> int:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # A session of Spark Connect does not know the cluster.
        return _UNKNOWN_CORES


def _run(spark: SparkSession, work: _Work) -> DataFrame:
    """Returns the partial results of all splits: one task for each."""
    splits = len(work.splits)
    return spark.range(0, splits, 1, splits).mapInArrow(work.run, _PARTIALS)


def _levels(partials: int) -> Iterator[int]:
    """Returns the number of tasks of each level of the merge, until the driver can merge what is left."""
    while partials > _FAN_IN:
        partials = math.ceil(partials / _FAN_IN)
        yield partials


def _merge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Merges all partial results of a task; a task may have none."""
    received: list[Any] = [partial for batch in batches for partial in batch.column(0).to_pylist()]
    if received:
        yield _batch(trueup.Partial.merge_all(map(trueup.Partial.from_bytes, received)))


def _batch(partial: trueup.Partial) -> pyarrow.RecordBatch:
    return pyarrow.record_batch({"partial": pyarrow.array([partial.to_bytes()], pyarrow.binary())})


def _collect(spark: SparkSession, partials: DataFrame, deadline: _Deadline) -> list[Any]:
    """Returns the rows of a data frame, which another thread waits for: a cluster may never answer."""
    from pyspark.util import InheritableThread

    tag, outcome = f"trueup-{uuid.uuid4()}", queue.SimpleQueue[tuple[list[Any], Exception | None]]()

    def collect() -> None:
        try:
            spark.addTag(tag)
            outcome.put((partials.collect(), None))
        except Exception as error:
            outcome.put(([], error))

    InheritableThread(collect, session=spark, daemon=True).start()
    try:
        rows, error = outcome.get(timeout=deadline.left())
    except queue.Empty:
        _cancel(spark, tag)
        raise trueup.Timeout(f"the query took longer than {deadline.timeout} s on the cluster, and its tasks are cancelled") from None
    except BaseException:  # Ctrl-C.
        _cancel(spark, tag)
        raise
    if error is not None:
        raise _cause(error) from error
    return rows


def _cancel(spark: SparkSession, tag: str) -> None:
    """Cancels the tasks with a tag. Does not wait for a cluster that no longer answers."""
    thread = threading.Thread(target=spark.interruptTag, args=(tag,), daemon=True)
    thread.start()
    thread.join(_CANCEL_SECONDS)


def _cause(error: Exception) -> Exception:
    """Returns the error of trueup that a task has raised, of which Spark has the text alone; or Spark's own error."""
    text = str(error)
    if "No module named 'trueup" in text:
        return trueup.Error("the executors do not have the package `trueup`: install the same version on each of them")
    raised = re.findall(r"^trueup\._errors\.(\w+): (.+)$", text, re.MULTILINE)
    if not raised:
        return error
    name, message = raised[-1]
    return getattr(trueup, name, trueup.Error)(f"a task failed: {message.strip()}")
