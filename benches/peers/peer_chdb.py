"""chDB: ClickHouse, in process."""

import io

import chdb
import pyarrow.ipc
import tables
from chdb import session
from statements import Dialect, Statement, literal

STAGE = (
    "transform(type, [" + ", ".join(f"'{name}'" for name in tables.STAGES) + "], "
    "[toInt8(0), 1, 2, 3, 4, 5], toInt8(-1))"
)
TYPES = {
    "k": "Int32", "ord": "Int32", "stage": "Int8", "date": "Date32", "total": "Nullable(Int64)", "opportunityId": "String",
    "first": "Bool", "first_of_stage": "Bool", "reached": "Int8", "last_cancel": "Int32", "next_cancel": "Date32",
    "adSpend": "Nullable(Int64)", "managementFee": "Nullable(Int64)", "clicks": "Nullable(Int64)", "impressions": "Nullable(Int64)",
    "account": "LowCardinality(String)", "leadGrading": "Bool",
}  # fmt: skip


class ClickHouse(Dialect):
    def __init__(self, unit):
        pattern = lambda field, pattern: f"match({field}, {literal('(?i)' + pattern)})"
        # `CAST` would refuse a null, and both branches of a condition are computed for all rows.
        super().__init__(unit, pattern, None if unit != 1 else lambda sum: f"toInt64(({sum}) * 1000000)")

    def quotient(self, one, other):
        return f"intDivOrZero({one}, {other})"

    def bit(self, number, bit):
        return f"bitTest({number}, {bit})"

    def trunc(self, interval, date):
        return {"day": date, "week": f"toMonday({date})", "month": f"toStartOfMonth({date})"}[interval]

    def date(self, text):
        return f"toDate32('{text}')"


class Peer:
    FORMULATIONS = {
        "hot": ("memory semi", "memory full", "mergetree semi", "mergetree full"),
        "cold": ("files semi", "files full"),
        "precomputed": ("memory semi", "mergetree semi"),
    }
    version = f"{chdb.__version__} ({chdb.engine_version})"

    def __init__(self, dataset, folder, threads):
        self.paths = {name: tables.files(dataset, name) for name in ("events", "spend", "accounts")}
        self.hot, self.cold = ClickHouse(unit=10**6), ClickHouse(unit=1)
        self.settings = f"max_threads = {threads}, join_use_nulls = 1, prefer_column_name_to_alias = 1, max_insert_threads = 1"
        self.session = session.Session()
        for engine in ("Memory", "MergeTree"):
            for name in self.paths:
                table = tables.read(folder, name)
                columns = [f'"{field}" {TYPES.get(field, "LowCardinality(Nullable(String))")}' for field in table.column_names]
                order = {"events": "(account, ord)", "spend": "(account, date)", "accounts": "account"}[name]
                how = f"{engine} ORDER BY {order}" if engine == "MergeTree" else engine
                self.session.query(f"CREATE DATABASE IF NOT EXISTS {engine.lower()}")
                self.session.query(f"CREATE TABLE {engine.lower()}.{name} ({', '.join(columns)}) ENGINE = {how}")
                self.session.query(
                    f"INSERT INTO {engine.lower()}.{name} SELECT * FROM file('{folder}/{name}.arrow', Arrow) SETTINGS max_threads = 1"
                )
            if engine == "MergeTree":
                self.session.query("OPTIMIZE TABLE mergetree.events FINAL")

    def run(self, question, temperature, formulation):
        engine, history = formulation.split()
        if temperature == "cold":
            statement = Statement(question, self.cold, history)
            names = ", ".join(literal(path.rsplit("/", 1)[1]) for path in self.paths["events"])
            number = f"CAST(indexOf([{names}], _file) AS BIGINT) * 4294967296"
            views = [
                f'events AS (SELECT {number} + "trueup.customer" AS k, {number} + _row_number + 1 AS ord, {STAGE} AS stage, '
                f"* FROM {self.given('events')})"
            ]
            views += [f"{name} AS (SELECT * FROM {self.given(name)})" for name in ("spend", "accounts")]
        else:
            statement = Statement(question, self.hot, history, precomputed=temperature == "precomputed")
            views = [f"{name} AS (SELECT * FROM {engine}.{name})" for name in self.paths]
        text = statement.text().replace("WITH ", f"WITH {', '.join(views)}, ", 1)
        answer = self.session.query(f"{text}\nSETTINGS {self.settings}", "Arrow")
        return pyarrow.ipc.open_file(io.BytesIO(answer.bytes())).read_all()

    def given(self, name):
        """Returns the table function that reads the files of a table."""
        paths = self.paths[name]
        folder = paths[0].rsplit("/", 1)[0]
        files = ",".join(path.rsplit("/", 1)[1] for path in paths)
        return f"file('{folder}/{{{files}}}', Parquet)" if len(paths) > 1 else f"file('{paths[0]}', Parquet)"
