"""Runs the splits of a query as tasks, and merges their partial results on the executors."""

from __future__ import annotations

import datetime
import math
import os
import pickle
import queue
import re
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import trueup

from ._tasks import Tasks, context_of, start

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

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


def query(
    spark: SparkSession,
    dataset: str | os.PathLike[str] | trueup.Dataset,
    fields: str | Iterable[str],
    *,
    as_of: int | str | datetime.datetime | None = None,
    strict: bool = False,
    splits: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> trueup.Table:
    """Answers a query on the executors of a cluster: the answer of `trueup.Dataset.query`, to the byte.

    Spark runs the splits of the query as tasks, and runs a lost task again. The executors merge the partial
    results in a tree, and the driver finishes what is left. A partial result that is missing, repeated, altered, or of
    another query or version is a `trueup.PartialError` that says what is missing, and never a number.

    spark: a session, classic or of Spark Connect.
    dataset: the path or URL of a dataset, the same on every executor; or an open one, whose version is then read.
    as_of: an earlier version of the dataset at a path or URL, as in `trueup.open`: its number, or a time.
    fields, options: those of `trueup.Dataset.prepare`.
    strict: refuse a value in a condition that no event and no spend has, in place of a warning.
    splits: the most tasks that read; by default four per core, and fewer for few rows.
    timeout: in seconds, after which the tasks are canceled and `trueup.Timeout` is raised, whatever the cluster does.
    """
    return _query(spark, dataset, fields, as_of, strict, splits, timeout, options)


def frame(
    spark: SparkSession,
    dataset: str | os.PathLike[str] | trueup.Dataset,
    fields: str | Iterable[str],
    *,
    as_of: int | str | datetime.datetime | None = None,
    strict: bool = False,
    splits: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> DataFrame:
    """Answers a query as `query` does, as a data frame of Spark.

    Dimensions are strings, counts `bigint`, money `decimal(38, 6)`, and ratios `double`. With `totals=True` the totals are
    the last row, and a first column `rowType` marks them.
    """
    import pyarrow

    table = _query(spark, dataset, fields, as_of, strict, splits, timeout, options)
    answer = (table if table.totals is None else table.with_totals_row()).to_pyarrow()
    return spark.createDataFrame(answer.cast(pyarrow.schema([_known_to_spark(field) for field in answer.schema])))


def _query(
    spark: SparkSession,
    dataset: str | os.PathLike[str] | trueup.Dataset,
    fields: str | Iterable[str],
    as_of: int | str | datetime.datetime | None,
    strict: bool,
    splits: int | None,
    timeout: float | None,
    options: dict[str, Any],
) -> trueup.Table:
    deadline = _Deadline(timeout)

    def prepare() -> tuple[_Cluster, trueup.Query]:
        opened = open_dataset(dataset, as_of)
        return _Cluster(spark, opened, splits, deadline), opened.prepare(fields, **options)

    # An object store may be slow, or not answer.
    cluster, prepared = deadline.wait(spark, prepare)
    messages = cluster.unseen_values(prepared)
    if strict and messages:
        raise trueup.QueryError("; ".join(messages))
    table = cluster.answer(prepared)
    messages += cluster.dataset._empty_ranges(prepared)
    for message in messages:
        # Python attributes the warning to the line that has called `query` or `frame`.
        warnings.warn(message, trueup.TrueupWarning, stacklevel=3)
    return table


class _Cluster:
    """Answers queries of one version of a dataset on a cluster."""

    def __init__(self, spark: SparkSession, dataset: trueup.Dataset, splits: int | None, deadline: _Deadline) -> None:
        self.spark, self.dataset, self.splits, self.deadline = spark, dataset, splits, deadline

    def answer(self, prepared: trueup.Query, max_rows: int | None = None) -> trueup.Table:
        planned = self.deadline.wait(self.spark, lambda: _plan(self.spark, self.dataset, prepared, self.splits))
        work = _Work(absolute(self.dataset.path), self.dataset.version, pickle.dumps(prepared), max_rows)
        partials = _run(self.spark, work, planned)
        for tasks in _levels(len(planned)):
            partials = partials.move(tasks).map(_merge)
        received = [trueup.Partial.from_bytes(partial) for partial in self.deadline.collect(self.spark, partials)]
        if not received:
            raise trueup.PartialError(f"none of the {len(planned)} splits of the query gave a partial result; run the query again")
        merged = trueup.Partial.merge_all(received)
        return merged.finish(self.dataset, prepared, max_rows=max_rows, timeout=self.deadline.left())

    def unseen_values(self, prepared: trueup.Query) -> list[str]:
        """Returns a sentence for each value in a condition that nothing has. Runs tasks only for values that are not in the
        first row group, which the driver reads."""
        return self.dataset.unseen_values(prepared, answer=self._answer_within, timeout=self.deadline.left())

    def _answer_within(self, prepared: trueup.Query, max_rows: int) -> trueup.Table | None:
        try:
            return self.answer(prepared, max_rows)
        except trueup.TooManyRowsError:
            return None


def _known_to_spark(field: pyarrow.Field[Any]) -> pyarrow.Field[Any]:
    """Returns a field with a type that Spark has: Spark has neither dictionaries nor unsigned integers."""
    import pyarrow

    if pyarrow.types.is_dictionary(field.type):
        return field.with_type(pyarrow.string())
    return field.with_type(pyarrow.int64()) if pyarrow.types.is_uint64(field.type) else field


class _Deadline:
    """The time until which a query or an ingest may run."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout, self._end = timeout, None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        """Returns the seconds that are left, which are more than 0; None without a deadline."""
        return None if self._end is None else max(self._end - time.monotonic(), 1e-3)

    def wait(self, spark: SparkSession, run: Callable[[], T], cancel: Callable[[], object] = lambda: None) -> T:
        """Runs a function in another thread, because a cluster or a store may never answer. At the deadline, or if Ctrl-C
        comes first, calls `cancel`, and leaves the thread behind."""
        from pyspark.util import InheritableThread

        outcome = queue.SimpleQueue[tuple[Any, BaseException | None]]()

        def work() -> None:
            try:
                outcome.put((run(), None))
            except BaseException as error:
                outcome.put((None, error))

        InheritableThread(work, session=spark, daemon=True).start()
        try:
            result, error = outcome.get(timeout=self.left())
        except BaseException as ended:
            # A cluster that no longer answers does not answer this either.
            canceling = threading.Thread(target=cancel, daemon=True)
            canceling.start()
            canceling.join(_CANCEL_SECONDS)
            if not isinstance(ended, queue.Empty):
                raise
            raise trueup.Timeout(f"the query took longer than {self.timeout} s on the cluster, and its tasks are canceled") from None
        if error is not None:
            raise error
        value: T = result
        return value

    def collect(self, spark: SparkSession, tasks: Tasks) -> list[bytes]:
        """Runs tasks, and returns what they give."""
        tag = f"trueup-{uuid.uuid4()}"
        try:
            return self.wait(spark, lambda: tasks.collect(tag), lambda: tasks.cancel(tag))
        except trueup.Error:
            raise
        except Exception as error:
            raise _cause(error) from error


class _Work:
    """What a task needs to run splits of a query."""

    def __init__(self, path: str, version: int, prepared: bytes, max_rows: int | None) -> None:
        self.path, self.version, self.prepared, self.max_rows = path, version, prepared, max_rows

    def run(self, splits: Iterator[bytes]) -> Iterator[bytes]:
        prepared = pickle.loads(self.prepared)

        def result(dataset: trueup.Dataset, split: bytes) -> bytes:
            # Other tasks run on the other cores.
            return dataset.run_split(prepared, pickle.loads(split), max_rows=self.max_rows, threads=1).to_bytes()

        for split in splits:
            yield on_version(self.path, self.version, lambda dataset: result(dataset, split))


def on_version(path: str, version: int, run: Callable[[trueup.Dataset], T]) -> T:
    """Runs a function on a version of a dataset."""
    try:
        return run(_opened_version(path, version))
    except trueup.PartialError:
        # The dataset may have been rebuilt by others since this process opened it.
        _OPENED.pop((path, version), None)
    return run(_opened_version(path, version))


def _opened_version(path: str, version: int) -> trueup.Dataset:
    """Opens a version once per process, so that the tasks of a worker share its decoded columns."""
    if (path, version) not in _OPENED:
        while len(_OPENED) >= _MOST_OPENED:
            _OPENED.pop(next(iter(_OPENED)))
        _OPENED[path, version] = trueup.open(path, as_of=version)
    return _OPENED[path, version]


def open_dataset(
    dataset: str | os.PathLike[str] | trueup.Dataset, as_of: int | str | datetime.datetime | None = None
) -> trueup.Dataset:
    if not isinstance(dataset, trueup.Dataset):
        return trueup.open(dataset, as_of=as_of)
    if as_of is not None:
        raise trueup.QueryError(f"`as_of` is for a path or URL; the open dataset is at version {dataset.version}")
    return dataset


def absolute(path: str | os.PathLike[str]) -> str:
    """Returns an absolute path, because executors have another working directory; a URL as it is."""
    path = os.fspath(path)
    return path if "://" in path else os.path.abspath(path)


def _plan(spark: SparkSession, dataset: trueup.Dataset, prepared: trueup.Query, splits: int | None) -> list[trueup.Split]:
    if splits is not None:
        return dataset.plan_splits(prepared, splits)
    planned = dataset.plan_splits(prepared, _SPLITS_PER_CORE * _cores(spark))
    useful = math.ceil(sum(split.rows for split in planned) / _ROWS_PER_TASK)
    return planned if len(planned) <= useful else dataset.plan_splits(prepared, max(useful, 1))


def _cores(spark: SparkSession) -> int:
    context = context_of(spark)
    return _UNKNOWN_CORES if context is None else int(context.defaultParallelism)


def _run(spark: SparkSession, work: _Work, planned: list[trueup.Split]) -> Tasks:
    """Runs all splits, each in a task of its own."""
    return start(spark, [pickle.dumps(split) for split in planned], work.run)


def _levels(partials: int) -> Iterator[int]:
    """Returns the number of tasks of each level of the merge, until the driver can merge what is left."""
    while partials > _FAN_IN:
        partials = math.ceil(partials / _FAN_IN)
        yield partials


def _merge(partials: Iterator[bytes]) -> Iterator[bytes]:
    """Merges all partial results of a task; a task may have none."""
    received = [trueup.Partial.from_bytes(partial) for partial in partials]
    if received:
        yield trueup.Partial.merge_all(received).to_bytes()


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
