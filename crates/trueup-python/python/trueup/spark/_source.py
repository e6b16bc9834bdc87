"""The data source `trueup`: events with their computed fields, for Spark SQL. It needs PySpark when it is imported."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow
from pyspark.sql import types
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import trueup

from ._query import absolute, on_version

# The options that are those of `Dataset.prepare`, in lower case, in which Spark gives them.
_QUERY_OPTIONS = {
    name.lower(): name
    for name in ("start", "end", "month", "quarter", "year", "last", "range", "today", "interval", "accounts", "where", "filter")
}
_RANGES = {"start", "end", "month", "quarter", "year", "last", "range"}
# The other options, in lower case, too.
_OWN_OPTIONS = {name.lower(): name for name in ("path", "asOf", "fields", "partitions", "allowLongTotal")}

# The rows of a partition, unless the option `partitions` says otherwise.
_ROWS_PER_PARTITION = 1_000_000


class EventPartition(InputPartition):
    """What a task needs to read the events of a split."""

    def __init__(self, path: str, version: int, query: bytes, split: bytes) -> None:
        self.path, self.version, self.query, self.split = path, version, query, split


class EventSourceReader(DataSourceReader):
    """Reads the events that options ask for, with the columns of a schema."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self.options, self.schema = options, schema

    def partitions(self) -> list[InputPartition]:
        dataset, query = _prepared(self.options, self.schema.names)
        count = _number(self.options, "partitions") or dataset.event_rows // _ROWS_PER_PARTITION + 1
        splits = dataset.plan_splits(query, count)
        path, prepared = absolute(dataset.path), pickle.dumps(query)
        return [EventPartition(path, dataset.version, prepared, pickle.dumps(split)) for split in splits]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        expected = to_arrow_schema(self.schema, timezone="UTC")
        query, split = pickle.loads(partition.query), pickle.loads(partition.split)
        events = on_version(partition.path, partition.version, lambda dataset: dataset.read_events(query, split))
        for batch in events:
            columns = [batch.column(field.name).cast(field.type) for field in expected]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=expected)


class EventSource(DataSource):
    """The data source `trueup`."""

    @classmethod
    def name(cls) -> str:
        return "trueup"

    def schema(self) -> StructType:
        return _schema(dict(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        return EventSourceReader(dict(self.options), schema)


def _prepared(options: dict[str, str], names: list[str] | None = None) -> tuple[trueup.Dataset, trueup.Query]:
    """Opens the dataset that options name, and prepares the query of its events, with the fields `names`; if there are
    none, with the fields that the options ask for."""
    if unknown := sorted(options.keys() - _QUERY_OPTIONS.keys() - _OWN_OPTIONS.keys()):
        known = ", ".join(sorted({*_QUERY_OPTIONS.values(), *_OWN_OPTIONS.values()} - {"path"}))
        raise trueup.QueryError(f"the data source `trueup` has no option `{unknown[0]}`; it has {known}")
    if "path" not in options:
        raise trueup.QueryError('expected the path of a dataset: spark.read.format("trueup").load("s3://lake/acme")')
    dataset = trueup.open(options["path"], as_of=options.get("asof"))
    arguments: dict[str, Any] = {name: options[key] for key, name in _QUERY_OPTIONS.items() if key in options}
    if "accounts" in arguments:
        arguments["accounts"] = [key.strip() for key in arguments["accounts"].split(",")]
    arguments["allow_long_total"] = _flag(options, "allowlongtotal")
    if not arguments.keys() & _RANGES:
        first, last = dataset.date_range or ("1970-01-01", "1970-01-01")
        arguments |= {"start": first, "end": last, "allow_long_total": True}
    fields = [name for name in names or _fields(dataset, options) if name not in ("start", "end")]
    # A query has a metric; `total` is the only one of events.
    return dataset, dataset.prepare(fields if "total" in fields else [*fields, "total"], **arguments)


def _fields(dataset: trueup.Dataset, options: dict[str, str]) -> list[str]:
    """Returns the fields that options ask for: without any, all that events have."""
    if "fields" in options:
        return [name.strip() for name in options["fields"].split(",")]
    return [*(field.name for field in dataset.fields() if field.kind == "dimension"), "total"]


def _flag(options: dict[str, str], name: str) -> bool:
    value = options.get(name, "false").lower()
    if value not in ("true", "false"):
        raise trueup.QueryError(f"`{_OWN_OPTIONS[name]}`: expected true or false, but found `{options[name]}`")
    return value == "true"


def _number(options: dict[str, str], name: str) -> int | None:
    value = options.get(name)
    if value is not None and not (value.isascii() and value.isdecimal() and int(value) > 0):
        raise trueup.QueryError(f"`{_OWN_OPTIONS[name]}`: expected a whole number above 0, but found `{value}`")
    return None if value is None else int(value)


def _schema(options: dict[str, str]) -> StructType:
    """Returns the columns of the events that options ask for."""
    kinds: dict[str, types.DataType] = {
        "date32[day]": types.DateType(),
        "timestamp[us, tz=UTC]": types.TimestampType(),
        "bool": types.BooleanType(),
        "decimal128(19, 6)": types.DecimalType(19, 6),
        "string": types.StringType(),
    }
    dataset, query = _prepared(options)
    events = dataset.read_events(query, dataset.plan_splits(query, 1)[0])
    asked = {*_fields(dataset, options), "start", "end"}
    columns = [types.StructField(field.name, kinds[str(field.type)]) for field in events.schema if field.name in asked]
    return types.StructType(columns)
