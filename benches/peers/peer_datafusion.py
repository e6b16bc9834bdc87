"""DataFusion."""

import datafusion
import tables
from datafusion import SessionConfig, SessionContext
from statements import Dialect, Statement, literal


class DataFusionDialect(Dialect):
    def quotient(self, one, other):
        return f"({one} / {other})"


def regex(field, pattern):
    return f"regexp_like({field}, {literal(pattern)}, 'i')"


class Peer:
    FORMULATIONS = {"hot": ("semi", "full"), "cold": ("semi", "full"), "precomputed": ("semi",)}
    version = datafusion.__version__

    def __init__(self, dataset, folder, threads):
        self.threads = threads
        self.paths = {name: tables.files(dataset, name) for name in ("events", "spend", "accounts")}
        self.hot = DataFusionDialect(unit=10**6, regex=regex)
        self.cold = DataFusionDialect(unit=1, regex=regex)
        self.context = self.connect()
        for name in ("events", "spend", "accounts"):
            table = tables.read(folder, name)
            # One partition per thread.
            rows = -(-table.num_rows // threads)
            parts = [table.slice(part * rows, rows).to_batches(max_chunksize=8192) for part in range(threads)]
            self.context.register_record_batches(name, parts)

    def connect(self):
        """Returns a new context."""
        config = SessionConfig().with_target_partitions(self.threads)
        config = config.set("datafusion.execution.parquet.pushdown_filters", "true")
        # Rows are numbered as they are read, so one thread must read a file in order. Other threads read other
        # files; a dataset has about one file of events per million events.
        config = config.set("datafusion.optimizer.repartition_file_scans", "false")
        config = config.set("datafusion.optimizer.enable_round_robin_repartition", "false")
        return SessionContext(config)

    def run(self, question, temperature, formulation):
        if temperature == "precomputed":
            return self.answer(self.context, Statement(question, self.hot, precomputed=True).text())
        if temperature == "hot":
            return self.answer(self.context, Statement(question, self.hot, formulation).text())
        context = self.connect()
        parts = []
        # Any number that grows with the order works, so accounts may be filtered before rows are numbered.
        keys = ", ".join(map(literal, question.accounts))
        where = f" WHERE account IN ({keys})" if keys else ""
        for number, path in enumerate(self.paths["events"]):
            context.register_parquet(f"events_{number}", path)
            parts.append(
                f"""SELECT {number << 32} + "trueup.customer" AS k, {number << 32} + row_number() OVER () AS ord, {tables.STAGE_NUMBER} AS stage,
                    * FROM events_{number}{where}"""
            )
        context.sql(f"CREATE VIEW events AS {' UNION ALL '.join(parts)}").collect()
        for name in ("spend", "accounts"):
            context.register_parquet(name, self.paths[name][0].rsplit("/", 1)[0])
        return self.answer(context, Statement(question, self.cold, formulation).text())

    @staticmethod
    def answer(context, text):
        return context.sql(text).to_arrow_table()
