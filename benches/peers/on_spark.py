#!/usr/bin/env python3
"""Compares trueup in one process, trueup on a cluster of Spark, and Spark SQL on the same cluster and files; docs/scale.md has the figures.

The cluster is a master and two workers on this machine, each worker with one executor of one core. Every answer is compared with
that of trueup in one process: byte for byte that of `trueup.spark`, and each metric of Spark SQL. Times are in seconds, the size of
partial results in bytes. Before the questions, the first jobs of the session are timed: two whose tasks do nothing, and a question of
trueup; each at first, and when it is repeated.

Needs a Python with `trueup`, built in the release profile, and crates/trueup-python/tests/spark/requirements.txt; Java 17.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "crates" / "trueup-python" / "tests"), os.path.dirname(os.path.abspath(__file__))]

import tables
import trueup
import trueup.spark
from compare import differences
from measures import Question
from spark.cluster import CONFIGURATION, Cluster, wait_until
from statements import Dialect, Statement, literal
from worker import rows


class SparkDialect(Dialect):
    def quotient(self, one, other):
        return f"({one} div {other})"

    def micros(self, sum):
        return f"CAST(({sum}) * 1000000 AS BIGINT)"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--program", required=True, help="the program trueup, which describes the queries")
    parser.add_argument("--query", action="append", help="run only this query; repeat the option for several")
    parser.add_argument("--rounds", type=int, default=5, help="how often a query is repeated; Spark SQL half as often")
    parser.add_argument("--first", choices=["spark", "trueup"], default="spark", help="whose job is the first of the session")
    parser.add_argument("--no-sql", action="store_true", help="leave out Spark SQL")
    return parser.parse_args()


def described(program, dataset, names):
    """Returns the questions of the suite that have these names."""
    lines = "".join(f"{name} question\n" for name in names)
    ran = subprocess.run([program, "bench", dataset, "--on-request"], input=lines, text=True, capture_output=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def timed(run):
    begun = time.perf_counter()
    result = run()
    return result, time.perf_counter() - begun


def times(run, rounds):
    """Returns the answer, the seconds of the first run, and the median of those of the next runs, if there are any."""
    answer, first = timed(run)
    again = [timed(run)[1] for _ in range(rounds)]
    return answer, first, statistics.median(again) if again else math.nan


def first_jobs(spark, options):
    """Prints how long the first jobs of a session take, and how long they take again: two whose tasks do nothing, and a small question."""
    dataset = trueup.open(options.dataset)
    last = dataset.date_range[1]

    def ask():
        trueup.spark.query(spark, options.dataset, "leads", start=last, end=last)

    def nothing():
        spark.sparkContext.parallelize(range(2), 2).mapPartitions(list).collect()

    def nothing_of_sql():
        spark.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id long").collect()

    jobs = [("an empty job of RDDs", nothing), ("a question", ask), ("an empty job of mapInArrow", nothing_of_sql)]
    for name, job in jobs if options.first == "spark" else [jobs[1], jobs[0], jobs[2]]:
        _, first, again = times(job, options.rounds)
        print(f"{name}: first {first:.2f} s, again {again:.2f} s", flush=True)


def views(spark, dataset):
    """Makes views of the dataset's files as statements.py describes them: events with the numbers of customer and row."""
    files = tables.files(dataset, "events")
    number = "CASE _metadata.file_name " + " ".join(
        f"WHEN {literal(os.path.basename(path))} THEN {at}" for at, path in enumerate(files)
    ) + " END"
    events = spark.read.parquet(*files).selectExpr(
        f"shiftleft(CAST({number} AS BIGINT), 32) | `trueup.customer` AS k",
        f"shiftleft(CAST({number} AS BIGINT), 32) | (_metadata.row_index + 1) AS ord",
        f"{tables.STAGE_NUMBER} AS stage",
        "*",
    )
    events.createOrReplaceTempView("events")
    for name in ("spend", "accounts"):
        spark.read.parquet(*tables.files(dataset, name)).createOrReplaceTempView(name)


def main():
    options = arguments()
    names = options.query or ["all-metrics", "channel", "account-month", "campaign-spend", "state-status", "step-rates"]
    questions = described(options.program, options.dataset, names)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    cluster = Cluster(Path(tempfile.mkdtemp()), memory="4g")
    try:
        settings = CONFIGURATION | {
            "spark.executor.memory": "3g",
            "spark.executor.extraJavaOptions": "",
            "spark.driver.memory": "2g",
            "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        }
        builder = SparkSession.builder.master(cluster.url)
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        wait_until(lambda: len(cluster.executors()) == 2, "two executors")
        print(f"{os.cpu_count()} cores, load averages {os.getloadavg()}")
        first_jobs(spark, options)
        views(spark, options.dataset)
        dialect = SparkDialect(unit=1, regex=lambda field, pattern: f"{field} RLIKE {literal('(?i)' + pattern)}")
        print("| query | rows | one process, first | again | cluster, first | again | Spark SQL, first | again | tasks | partial results |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for description in questions:
            question = Question(description)
            asked = {"fields": description["fields"], "start": question.start, "end": question.end, "interval": question.interval}
            if question.accounts:
                asked["accounts"] = question.accounts
            dataset = trueup.open(options.dataset)
            expected, *local = times(lambda: dataset.query(**asked), options.rounds)
            query = dataset.prepare(**asked)
            planned = trueup.spark._query._plan(spark, dataset, query, None)
            size = sum(len(dataset.run_split(query, split).to_bytes()) for split in planned)
            answer, *clustered = times(lambda: trueup.spark.query(spark, options.dataset, **asked), options.rounds)
            assert answer.to_json() == expected.to_json(), question.name
            figures = [*local, *clustered]
            if not options.no_sql:
                text = Statement(question, dialect, "semi").text()
                found, *sql = times(lambda: spark.sql(text).toArrow(), options.rounds // 2)
                wrong = differences(question, json.loads(expected.to_json()), list(rows(found, question)))
                assert not wrong, (question.name, wrong[:3])
                figures += sql
            shown = " | ".join(f"{seconds:.3f}" for seconds in figures)
            print(f"| {question.name} | {len(expected)} | {shown} | {len(planned)} | {size} |", flush=True)
        print(f"load averages {os.getloadavg()}")
        spark.stop()
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
