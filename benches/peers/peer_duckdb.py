"""DuckDB."""

import duckdb
import tables
from statements import Dialect, Statement


class Peer:
    FORMULATIONS = {"hot": ("semi", "full"), "cold": ("semi", "full"), "precomputed": ("semi",)}
    version = duckdb.__version__

    def __init__(self, dataset, folder, threads):
        self.dataset, self.threads = dataset, threads
        self.connection = self.connect()
        for name in ("events", "spend"):
            table = tables.read(folder, name)
            self.connection.register("given", table)
            columns = []
            for field in table.schema:
                if str(field.type).startswith("dictionary"):
                    texts = f'SELECT DISTINCT "{field.name}"::VARCHAR FROM given WHERE "{field.name}" IS NOT NULL ORDER BY 1'
                    self.connection.execute(f'CREATE TYPE "{name}_{field.name}" AS ENUM ({texts})')
                    columns.append(f'"{field.name}"::VARCHAR::"{name}_{field.name}" AS "{field.name}"')
                else:
                    columns.append(f'"{field.name}"')
            self.connection.execute(f"CREATE TABLE {name} AS SELECT {', '.join(columns)} FROM given")
            self.connection.unregister("given")
        self.connection.register("given", tables.read(folder, "accounts"))
        self.connection.execute("CREATE TABLE accounts AS SELECT * FROM given")
        self.connection.unregister("given")
        # The pattern is evaluated once per distinct text of the column, not per row.
        once = lambda field, pattern: (
            f"{field} IN (SELECT x::events_{field[3:-1]} FROM (SELECT unnest(enum_range(NULL::events_{field[3:-1]}))::VARCHAR AS x) "
            f"WHERE regexp_matches(x, '{pattern}', 'i'))"
        )
        self.hot, self.cold = Dialect(unit=10**6, regex=once), Dialect(unit=1)

    def connect(self):
        """Returns a new connection."""
        connection = duckdb.connect()
        connection.execute(f"SET threads = {self.threads}")
        connection.execute("SET enable_progress_bar = false")
        # The rows of an answer may come in any order.
        connection.execute("SET preserve_insertion_order = false")
        return connection

    def text(self, question, temperature, formulation):
        """Returns the SQL of a question."""
        if temperature == "cold":
            return Statement(question, self.cold, formulation).text()
        if temperature == "precomputed":
            return Statement(question, self.hot, precomputed=True).text()
        return Statement(question, self.hot, formulation).text()

    def run(self, question, temperature, formulation):
        text = self.text(question, temperature, formulation)
        if temperature != "cold":
            return self.connection.sql(text).to_arrow_table()
        with self.connect() as connection:
            connection.execute(
                f"""CREATE VIEW events AS SELECT (file_index::BIGINT << 32) | "trueup.customer" AS k,
                    (file_index::BIGINT << 32) | (file_row_number + 1) AS ord, {tables.STAGE_NUMBER} AS stage, *
                    FROM read_parquet({tables.files(self.dataset, "events")}, file_row_number = true)"""
            )
            for name in ("spend", "accounts"):
                paths = tables.files(self.dataset, name)
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({paths})")
            return connection.sql(text).to_arrow_table()
