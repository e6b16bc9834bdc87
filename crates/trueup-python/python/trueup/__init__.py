"""Exact, fast analytics of revenue-reconciled lead-funnel and ad-spend data.

    import trueup

    dataset = trueup.open("my-data")
    table = dataset.query(["attributionChannel", "leads", "spend"], month="2026-05")
    table.to_pandas()

`open` opens a dataset, `ingest` makes one, `expire` and `vacuum` remove its old versions, `forget` removes customers,
`col` begins a condition, and `fields` lists what can be asked for.
"""

from __future__ import annotations

from ._errors import (
    Cancelled,
    DatasetError,
    Error,
    FilterError,
    IngestError,
    PartialError,
    QueryError,
    Timeout,
    TooManyRowsError,
    TrueupWarning,
    UnknownFieldError,
)
from ._trueup import (
    VERSION as __version__,
)
from ._trueup import (
    Col,
    Dataset,
    EventReader,
    ExpireReport,
    Field,
    FileCount,
    Filter,
    ForgetReport,
    IngestReport,
    Interrupt,
    Partial,
    Query,
    RejectedRows,
    RestoreReport,
    RowCounts,
    Split,
    Staged,
    StagedIngest,
    StagePlan,
    Table,
    Version,
    Why,
    begin_ingest,
    col,
    expire,
    fields,
    forget,
    ingest,
    open,
    part_of,
    restore,
    set_block_cache,
    stage,
    vacuum,
)

__all__ = [
    "Cancelled",
    "Col",
    "Dataset",
    "DatasetError",
    "Error",
    "EventReader",
    "ExpireReport",
    "Field",
    "FileCount",
    "Filter",
    "FilterError",
    "ForgetReport",
    "IngestError",
    "IngestReport",
    "Interrupt",
    "Partial",
    "PartialError",
    "Query",
    "QueryError",
    "RejectedRows",
    "RestoreReport",
    "RowCounts",
    "Split",
    "StagePlan",
    "Staged",
    "StagedIngest",
    "Table",
    "Timeout",
    "TooManyRowsError",
    "TrueupWarning",
    "UnknownFieldError",
    "Version",
    "Why",
    "__version__",
    "begin_ingest",
    "col",
    "expire",
    "fields",
    "forget",
    "ingest",
    "open",
    "part_of",
    "restore",
    "set_block_cache",
    "stage",
    "vacuum",
]


def _open_version(path: str, version: int) -> Dataset:
    """Opens a dataset that was pickled."""
    return open(path, as_of=version)
