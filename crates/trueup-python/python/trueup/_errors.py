"""The exceptions and the warning of trueup."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base of the exceptions that trueup defines; raised itself if trueup or the machine is at fault.

    A wrong argument raises `TypeError` or `ValueError` instead.
    """

    def __init__(self, message: str = "", **attributes: Any) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


class QueryError(Error, ValueError):
    """The query is at fault: another query could succeed."""


class UnknownFieldError(QueryError):
    """Neither the dictionary nor the dataset has a field of that name."""

    fields: dict[str, list[str]]
    """Each unknown name, with the most similar names that are known, the likeliest first."""

    def __init__(self, message: str = "", *, fields: dict[str, list[str]] | None = None) -> None:
        super().__init__(message, fields=fields or {})


class FilterError(QueryError):
    """A condition cannot be read, or does not suit its field."""

    at: str | None
    """The place in the condition, such as ``filter[1].total[2]``, or the name of its field; None if it is not known."""
    column: int | None
    """Of a condition as people type it: the number of the character at fault, from 1. None for other conditions."""

    def __init__(self, message: str = "", *, at: str | None = None, column: int | None = None) -> None:
        super().__init__(message, at=at, column=column)


class TooManyRowsError(QueryError):
    """The answer has more rows than `max_rows`."""


class PartialError(Error):
    """A split or a partial result is of another query or version, or altered, or results do not cover a query exactly once."""


class DatasetError(Error):
    """The dataset does not exist, cannot be read, or is damaged; or `expire`, `vacuum` or `forget` failed."""


class IngestError(Error):
    """An ingest failed. The dataset is as before, unless `may_be_published`."""

    file: str | None
    """The input that has the first row at fault; None if no row is."""
    line: int | None
    """The line of that row, from 1; None if the input has no lines, or no row is at fault."""
    location: str | None
    """Where that row is, in words; None if no row is at fault."""
    column: str | None
    """The column at fault; None if the row as a whole is, or no row is."""
    value: str | None
    """The value at fault as text, shortened if it is long; None if there is no single one."""
    rule: str | None
    """The rule that the row breaks: what was expected. None if no row is at fault."""
    rejected_rows: int
    """The number of rows that break a rule; 0 if the ingest failed for another reason."""
    may_be_published: bool
    """Whether readers may see the new version although the ingest failed."""

    def __init__(
        self,
        message: str = "",
        *,
        file: str | None = None,
        line: int | None = None,
        location: str | None = None,
        column: str | None = None,
        value: str | None = None,
        rule: str | None = None,
        rejected_rows: int = 0,
        may_be_published: bool = False,
    ) -> None:
        super().__init__(
            message,
            file=file,
            line=line,
            location=location,
            column=column,
            value=value,
            rule=rule,
            rejected_rows=rejected_rows,
            may_be_published=may_be_published,
        )


class Cancelled(Error):
    """An `Interrupt` canceled the call.

    A query or an ingest has left nothing behind, except possibly in an object store, where a later ingest removes it.
    What `expire`, `vacuum` or `forget` has completed stays.
    """


class Timeout(Error, TimeoutError):
    """The call took longer than its `timeout`.

    A query or an ingest has left nothing behind, except possibly in an object store, where a later ingest removes it.
    What `expire`, `vacuum` or `forget` has completed stays.
    """


class TrueupWarning(UserWarning):
    """What did not stop a call, but is probably not meant: a value that no event and no spend has, days without data, or a
    column that is left out."""
