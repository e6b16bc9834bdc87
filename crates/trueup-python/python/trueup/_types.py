"""The types of arguments, for type checkers."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsFloat, SupportsIndex, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from ._trueup import Filter, Interrupt

Day: TypeAlias = Union[datetime.date, str]
Scalar: TypeAlias = Union[str, SupportsFloat, SupportsIndex, datetime.date, None]
Condition: TypeAlias = Union[str, "Filter"]
StrPath: TypeAlias = Union[str, "os.PathLike[str]"]


class ArrowStream(Protocol):
    """A data frame or table of pandas, polars, pyarrow or DuckDB, or a reader of record batches."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArray(Protocol):
    """A record batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


Input: TypeAlias = Union[StrPath, ArrowStream, ArrowArray]
Inputs: TypeAlias = Union[Input, Sequence[Input], Mapping[str, Input]]


class SelectionOptions(TypedDict, total=False):
    """What selects days, accounts and events."""

    start: Day | None
    end: Day | None
    month: str | None
    quarter: str | None
    year: str | int | None
    last: str | None
    range: str | None
    today: Day | None
    interval: Literal["total", "month", "week", "day"]
    cohort: bool
    within: str | None
    attribution: Literal["recorded", "first", "last"]
    accounts: str | Iterable[str] | None
    where: Condition | Iterable[Condition] | None
    filter: str | list[Any] | dict[str, Any] | None
    totals: bool
    allow_long_total: bool
    allow_unknown: bool


class DiffOptions(SelectionOptions, total=False):
    """What `Dataset.diff` takes: also how the queries are run."""

    threads: int | None
    timeout: float | None
    interrupt: Interrupt | None


class QueryOptions(SelectionOptions, total=False):
    """What `Dataset.prepare` takes: also what the rows are compared with, their order and their number."""

    compare: str | None
    sort: str | Iterable[str] | None
    limit: int | None


class RunOptions(QueryOptions, total=False):
    """What `Dataset.explain` takes: also how the query is run."""

    threads: int | None
    timeout: float | None
    interrupt: Interrupt | None


class WhyOptions(RunOptions, total=False):
    """What `Dataset.why` takes: also the row, and which lines are listed."""

    row: Mapping[str, Any] | None
    metrics: str | Iterable[str] | None
    order: Literal["oldest", "newest", "largest"]
