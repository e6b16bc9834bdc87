"""Ingests a data frame: executors write the events of parts of the accounts, and the driver publishes them once."""

from __future__ import annotations

import itertools
import math
import os
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow
import pyarrow.compute

import trueup

from ._query import _cause, _cores, _Deadline, absolute

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

T = TypeVar("T")

# The functions of Arrow, of which the type stubs do not know all.
_compute: Any = pyarrow.compute

# The number of rows for which a part is worth a task and a file; and the number above which there are more parts, even
# if every core has `_PARTS_PER_CORE` of them already.
_ROWS_PER_PART = 1_000_000
_MOST_ROWS_PER_PART = 10_000_000

# The number of parts for each core: parts differ in size, because an account is never divided.
_PARTS_PER_CORE = 4

# The column of the number of the part, and that of the event, which is null in the row that every part has.
_PART, _EVENT = "part", "event"

_ACCOUNT, _EVENT_ID = "account", "eventId"

# The columns of what tasks return: what a part has staged, or the error of its rows.
_STAGED = "staged binary, error binary"

# The types that an account may have: the text of any other could differ between Spark and trueup.
_ACCOUNT_TYPES = {"string", "char", "varchar", "byte", "short", "integer", "long"}


def ingest(
    events: DataFrame,
    into: str | os.PathLike[str],
    *,
    spend: Any = None,
    accounts: Any = None,
    insights: Any = None,
    targets: Any = None,
    order_by: str | Iterable[str] | None = None,
    parts: int | None = None,
    memory: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> trueup.IngestReport:
    """Ingests a data frame of events, all or nothing. The dataset answers as if `trueup.ingest` had ingested the rows.

    Each task on the executors reads, checks, sorts and writes the events of some of the accounts, together with the
    stored events of these accounts. The driver checks that no part and no row is missing, and publishes one version. It
    has the events of each part once, even if a task ran twice.

    The rows of a data frame have no order. Two rows of an account with the same `eventId` must therefore be equal, or
    differ in the columns of `order_by`: the row that is last by them counts, and null comes first. Otherwise the ingest
    fails and names the event. The data frame is computed twice, and must have the same rows both times.

    events: the columns are those of `trueup.ingest`.
    into: the path or URL of the dataset, the same on the driver and on every executor.
    spend, accounts, insights, targets: as in `trueup.ingest`; spend, accounts and targets may be data frames of Spark,
        which the driver collects.
    order_by: the columns by which a later row of an event replaces an earlier one.
    parts: the number of tasks that write; by default one per million rows, but not more than four per core unless a part
        would have more than ten million.
    memory: bytes for the rows of a task outside of the JVM, 1 GiB by default. The task takes at most a fifth more than
        that, plus 200 MiB.
    timeout: in seconds, after which the tasks are canceled, nothing is published, and `trueup.Timeout` is raised.
    options: `time_zone`, `ignore`, `max_columns`, `max_text_bytes`, `max_customer_events` and `threads`, as in
        `trueup.begin_ingest`.
    """
    deadline = _Deadline(timeout)
    order = [order_by] if isinstance(order_by, str) else list(order_by or [])
    _check_columns(events, order)
    session = events.sparkSession
    try:
        counts = _count(session, events, deadline)
        rows = sum(counts.values())
        begun = trueup.begin_ingest(
            absolute(into),
            _parts(session, counts) if parts is None else parts,
            event_accounts=[account for account in counts if account is not None],
            spend=_collected(spend, deadline),
            accounts=_collected(accounts, deadline),
            insights=insights,
            targets=_collected(targets, deadline),
            timeout=deadline.left(),
            **options,
        )
        with begun:
            stage = _Stage(pickle.dumps(begun.plan), order, memory)
            received = _collect(session, _staged(session, events, begun.plan.parts, order, stage), deadline)
            if faults := [pickle.loads(row[1]) for row in received if row[1] is not None]:
                raise min(faults, key=str)
            staged = [trueup.Staged.from_bytes(bytes(row[0])) for row in received]
            if (found := sum(part.rows for part in staged)) != rows and len(staged) == begun.plan.parts:
                raise trueup.IngestError(
                    f"the data frame had {rows} rows when they were counted, and {found} when they were written; its rows must be the "
                    "same each time that it is computed: write it to a table first, and ingest that"
                )
            return begun.commit(staged)
    except trueup.Timeout:
        raise trueup.Timeout(f"the ingest took longer than {timeout} s, and nothing was ingested") from None


def _check_columns(events: DataFrame, order: list[str]) -> None:
    for name in [_ACCOUNT, *order]:
        if name not in events.columns:
            found = ", ".join(f"`{column}`" for column in events.columns)
            what = "" if name == _ACCOUNT else "`order_by`: "
            raise trueup.IngestError(f"{what}expected a column `{name}`, but the data frame has {found}")
    kind = events.schema[_ACCOUNT].dataType.typeName()
    if kind.split("(")[0] not in _ACCOUNT_TYPES:
        raise trueup.IngestError(f"the column `{_ACCOUNT}` of the data frame has the type {kind}; cast it to a string")


def _count(session: SparkSession, events: DataFrame, deadline: _Deadline) -> dict[str | None, int]:
    """Returns the number of rows of each account."""
    counted = events.groupBy(_column(_ACCOUNT).cast("string").alias(_ACCOUNT)).count()
    return {row[0]: int(row[1]) for row in _collect(session, counted, deadline)}


def _collect(session: SparkSession, frame: DataFrame, deadline: _Deadline) -> list[Any]:
    """Returns the rows of a data frame."""
    return _tagged(session, frame.collect, deadline)


def _tagged(session: SparkSession, run: Callable[[], T], deadline: _Deadline) -> T:
    """Runs a function that waits for tasks, with a tag by which the tasks are canceled at the deadline."""
    tag = f"trueup-{uuid.uuid4()}"

    def tagged() -> T:
        session.addTag(tag)
        return run()

    try:
        return deadline.wait(session, tagged, lambda: session.interruptTag(tag))
    except trueup.Error:
        raise
    except Exception as error:
        raise _cause(error) from error


def _parts(session: SparkSession, counts: dict[str | None, int]) -> int:
    rows = sum(counts.values())
    useful = min(math.ceil(rows / _ROWS_PER_PART), _PARTS_PER_CORE * _cores(session))
    return max(1, min(max(useful, math.ceil(rows / _MOST_ROWS_PER_PART)), len(counts)))


def _collected(table: Any, deadline: _Deadline) -> Any:
    """Returns a data frame of Spark as a table of Arrow, and anything else as it is."""
    return _tagged(table.sparkSession, table.toArrow, deadline) if hasattr(table, "sparkSession") else table


def _column(name: str) -> Column:
    """Returns a column of a data frame by its name, whatever characters the name has."""
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _staged(session: SparkSession, events: DataFrame, parts: int, order: list[str], stage: _Stage) -> DataFrame:
    """Returns what the parts of the events have staged: a task has whole parts, and a part is in one task."""
    from pyspark.sql import functions

    account = _column(_ACCOUNT).cast("string").cast("binary")
    # A row without an account breaks a rule in any part. This is `trueup.part_of`.
    part = functions.coalesce(functions.pmod(functions.crc32(account), functions.lit(parts)), functions.lit(0)).cast("int")
    # By its bytes, because the columns of texts may have an order in which other texts are equal.
    event_id = [_column(_EVENT_ID).cast("string").cast("binary").alias("id")] if _EVENT_ID in events.columns else []
    keys = [account.alias("key"), *event_id, *[_column(name).alias(f"order{at}") for at, name in enumerate(order)]]
    event = functions.struct(*[_column(name) for name in events.columns])
    rows = events.select(part.alias(_PART), functions.struct(*keys).alias("keys"), event.alias(_EVENT))
    # A part without events is staged, too, because it may have stored events.
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    nothing = [functions.lit(None).cast(kinds[name]).alias(name) for name in ("keys", _EVENT)]
    every = session.range(0, parts, 1, 1).select(functions.col("id").cast("int").alias(_PART), *nothing)
    together = rows.unionAll(every).repartition(parts, functions.col(_PART)).sortWithinPartitions(_PART, "keys")
    return together.select(_PART, _EVENT).mapInArrow(stage.run, _STAGED)


class _Stage:
    """What a task needs to stage the parts that it has."""

    def __init__(self, plan: bytes, order: list[str], memory: int | None) -> None:
        self.plan, self.order, self.memory = plan, order, memory

    def run(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        plan = pickle.loads(self.plan)
        for part, pieces in itertools.groupby(_pieces(batches), key=lambda piece: piece[0]):
            try:
                staged = self.stage(plan, part, (events for _, events in pieces))
                yield _returned(staged.to_bytes(), None)
            except trueup.IngestError as error:
                # Another attempt would find the same rows. Anything else may pass, and Spark tries the task again.
                if error.rejected_rows == 0:
                    raise
                yield _returned(None, pickle.dumps(error))
                return

    def stage(self, plan: trueup.StagePlan, part: int, pieces: Iterator[pyarrow.RecordBatch]) -> trueup.Staged:
        first = next(pieces)
        raised: list[Exception] = []

        def checked() -> Iterator[pyarrow.RecordBatch]:
            duplicates = _Duplicates(self.order)
            try:
                for piece in itertools.chain([first], pieces):
                    duplicates.check(piece)
                    yield piece
            except Exception as error:  # Arrow would pass on its text alone.
                raised.append(error)
                raise

        events = pyarrow.RecordBatchReader.from_batches(first.schema, checked())
        try:
            # Other tasks run on the other cores.
            return trueup.stage(plan, part, events, threads=1, memory=self.memory)
        except trueup.Error:
            if raised:
                raise raised[0] from None
            raise


def _returned(staged: bytes | None, error: bytes | None) -> pyarrow.RecordBatch:
    return pyarrow.record_batch({"staged": pyarrow.array([staged], pyarrow.binary()), "error": pyarrow.array([error], pyarrow.binary())})


def _pieces(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """Divides batches, which are sorted by part, into the events of one part each; a piece may have none."""
    for batch in batches:
        columns: list[Any] = batch.columns
        parts, events = columns
        start = 0
        for run in _compute.run_end_encode(parts).run_ends.to_pylist() if len(parts) else []:
            rows = events.slice(start, run - start)
            rows = rows.filter(rows.is_valid()) if rows.null_count else rows
            yield parts[start].as_py(), pyarrow.RecordBatch.from_struct_array(rows)
            start = run


class _Duplicates:
    """Refuses two rows with the same event if nothing says which of them is later. The rows are sorted by account, event
    and the columns that say it, so that such rows are neighbors."""

    def __init__(self, order: list[str]) -> None:
        self.order, self.last = order, None

    def check(self, batch: Any) -> None:
        if _EVENT_ID not in batch.schema.names or batch.num_rows == 0:
            return
        if self.last is not None:
            batch = pyarrow.Table.from_batches([self.last, batch]).combine_chunks().to_batches()[0]
        last = batch.num_rows - 1
        self.last = batch.slice(last)
        one, other = batch.slice(0, last), batch.slice(1)
        is_same = _is_id(one.column(_EVENT_ID))
        for name in [_ACCOUNT, _EVENT_ID, *self.order]:
            is_same = _compute.and_(is_same, _is_equal(one.column(name), other.column(name)))
        if not _compute.any(is_same).as_py():
            return
        one, other = one.filter(is_same), other.filter(is_same)
        for name in batch.schema.names:
            is_equal = _is_equal(one.column(name), other.column(name))
            if not _compute.all(is_equal).as_py():
                at = is_equal.to_pylist().index(False)
                message = self.message(name, one.slice(at, 1).to_pylist()[0], other.slice(at, 1).to_pylist()[0])
                raise trueup.IngestError(message, rejected_rows=2)

    def message(self, column: str, one: dict[str, Any], other: dict[str, Any]) -> str:
        known = " and ".join(f"`{name}` = `{one[name]}`" for name in self.order)
        which = f"have the same {known}" if known else "a data frame has no order"
        hint = "name further columns" if known else "name the columns"
        return (
            f"two rows of account `{one[_ACCOUNT]}` have the `eventId` `{one[_EVENT_ID]}` and differ in column `{column}` "
            f"(`{one[column]}` and `{other[column]}`), and {which}; {hint} that say which row is later with `order_by`, or keep one"
        )


def _is_id(ids: Any) -> Any:
    """Returns where there is an id: neither null nor the empty text."""
    is_valid = ids.is_valid()
    if pyarrow.types.is_string(ids.type) or pyarrow.types.is_large_string(ids.type):
        return _compute.and_(is_valid, _compute.fill_null(_compute.not_equal(ids, ""), False))
    return is_valid


def _is_equal(one: Any, other: Any) -> Any:
    """Returns where two columns have the same value. Null is equal to null, and NaN to NaN."""
    try:
        is_equal = _compute.fill_null(_compute.equal(one, other), False)
    except pyarrow.ArrowNotImplementedError:
        return pyarrow.array([left == right for left, right in zip(one.to_pylist(), other.to_pylist())], pyarrow.bool_())
    is_equal = _compute.or_(is_equal, _compute.and_(one.is_null(), other.is_null()))
    if pyarrow.types.is_floating(one.type):
        are_nan = _compute.and_(_compute.is_nan(one), _compute.is_nan(other))
        is_equal = _compute.or_(is_equal, _compute.fill_null(are_nan, False))
    return is_equal
