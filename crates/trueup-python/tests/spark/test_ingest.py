"""A data frame that a cluster ingests becomes the dataset of one process, whatever fails; or there is an error and no new
version."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.parquet
import pytest
from sample import cases

import trueup
import trueup.spark
from trueup.spark import _ingest

from .cluster import Cluster, wait_until
from .store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"]

ACCOUNTS = pyarrow.Table.from_pylist([{"account": f"acme {at}", "timeZone": zone} for at, zone in enumerate(["Asia/Tokyo", "UTC"])])

SPEND = pyarrow.Table.from_pylist([{"account": f"acme {at}", "date": "2025-02-03", "adSpend": f"{at}.25"} for at in range(9)])


def random_events(seed: int, count: int) -> pyarrow.Table:
    """Events of accounts of very different sizes, most of them unknown to the table of accounts. The event ids of a stage of
    an opportunity recur, and `updatedAt` says which row is later."""
    chance = random.Random(seed)

    def event(at: int) -> dict[str, Any]:
        opportunity, stage = f"{chance.randrange(count // 40)}", chance.choice(STAGES)
        return {
            "account": f"acme {min(chance.randrange(14), chance.randrange(14))}",
            "opportunityId": opportunity,
            "type": stage,
            "dateTime": f"2025-{chance.randrange(1, 7):02}-{chance.randrange(1, 29):02}T{chance.randrange(24):02}:30:00Z",
            "eventId": None if chance.randrange(5) == 0 else f"{opportunity} {stage}",
            "total": None if chance.randrange(3) else f"{chance.randrange(9_000)}.{chance.randrange(100):02}",
            "campaign": None if chance.randrange(6) == 0 else f"campaign {chance.randrange(12)} ä",
            "updatedAt": f"{seed}-{at:06}",
        }

    return pyarrow.Table.from_pylist([event(at) for at in range(count)])


def frame(spark: SparkSession, rows: pyarrow.Table) -> DataFrame:
    """A data frame whose rows have no order."""
    shuffled = rows.take(random.Random(5).sample(range(rows.num_rows), rows.num_rows))
    return spark.createDataFrame(shuffled).repartition(2)


def same(folder: Path | str, other: Path) -> bool:
    """Whether two datasets have the same events and the same answers."""
    fields = ["account", "opportunityId", "eventId", "dateTime", "type", "campaign", "updatedAt", "total", "eventCount"]
    questions: list[dict[str, Any]] = [
        {"fields": fields, "interval": "total"},
        {"fields": ["account", "customers", "leads", "bookRate", "closedRevenue", "spend"], "interval": "month"},
        {"fields": ["campaign", "adjustedType", "typeIsLast", "firstBooked", "eventCount"], "interval": "week"},
    ]
    one, two = trueup.open(folder), trueup.open(other)
    asked: dict[str, Any] = {"year": 2025, "allow_long_total": True}
    return one.event_rows == two.event_rows and all(
        one.query(**question, **asked).to_json() == two.query(**question, **asked).to_json() for question in questions
    )


def left_over(folder: Path) -> list[str]:
    """The files that no version names, without the record that an ingest into a store keeps for a day."""
    manifests = "".join(path.read_text() for path in folder.glob("manifest-*.json"))
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    named = {name for name in files if f'"{name}"' in manifests}
    for name in [name for name in named if name.startswith("lists/")]:
        named.update(pyarrow.parquet.read_table(folder / name, columns=["path"]).column("path").to_pylist())
    return [name for name in files if not name.startswith(("manifest-", ".trueup-pending-")) and name not in named]


@pytest.fixture(scope="module")
def events() -> pyarrow.Table:
    return random_events(1, 2_400)


@pytest.fixture(scope="module")
def local(events: pyarrow.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events, ingested by one process."""
    folder = tmp_path_factory.mktemp("local") / "dataset"
    trueup.ingest(folder, events, spend=SPEND, accounts=ACCOUNTS)
    return folder


@pytest.mark.parametrize("place", ["folder", "store"])
def test_a_data_frame_becomes_the_dataset_of_one_process(
    spark: SparkSession, store: Store, events: pyarrow.Table, local: Path, tmp_path: Path, place: str
) -> None:
    folder = tmp_path / "dataset" if place == "folder" else store.folder("ingested")
    into: Path | str = folder if place == "folder" else store.url("ingested")
    rows = frame(spark, events)
    spend = spark.createDataFrame(SPEND)
    report = trueup.spark.ingest(rows, into=into, spend=spend, accounts=ACCOUNTS, order_by="updatedAt", parts=5)
    assert (report.version, report.events.taken, report.spend.taken) == (1, events.num_rows, SPEND.num_rows)
    assert same(into, local) and left_over(folder) == []
    # A second ingest replaces events, and leaves files without any of its accounts as they are.
    more = random_events(2, 400).append_column("note", pyarrow.array(["later"] * 400))
    copy = tmp_path / "local"
    trueup.ingest(copy, events, spend=SPEND, accounts=ACCOUNTS)
    expected = trueup.ingest(copy, more)
    report = trueup.spark.ingest(frame(spark, more), into=str(into), order_by=["updatedAt"], parts=3)
    assert (report.version, report.events) == (2, expected.events)
    assert same(into, copy) and left_over(folder) == []


def test_the_number_of_parts_follows_the_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: dict[str | None, int] = {f"{at}": 1_000 for at in range(100)}
    assert _ingest._parts(spark, counts) == 1 and _ingest._parts(spark, {}) == 1
    monkeypatch.setattr(_ingest, "_ROWS_PER_PART", 10_000)
    assert 4 <= _ingest._parts(spark, counts) <= 10
    monkeypatch.setattr(_ingest, "_MOST_ROWS_PER_PART", 5_000)
    assert _ingest._parts(spark, counts) == 20


EVENT = {"account": "a", "opportunityId": "1", "type": "sold", "date": "2025-01-03", "eventId": "e", "total": "1", "at": 1}


def refusal(spark: SparkSession, folder: Path, rows: list[dict[str, Any]], **options: Any) -> str:
    with pytest.raises(trueup.IngestError) as raised:
        trueup.spark.ingest(frame(spark, pyarrow.Table.from_pylist(rows)), into=folder, **options)
    assert not folder.exists()
    return str(raised.value)


def test_no_winner_is_arbitrary(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    rows = [{**EVENT, "total": total, "at": at} for total, at in [("1", 2), ("2", 1), ("1", 2), ("3", None)]]
    message = refusal(spark, folder, rows)
    assert "two rows of account `a` have the `eventId` `e` and differ in column `" in message, message
    assert "a data frame has no order; name the columns that say which row is later with `order_by`" in message
    message = refusal(spark, folder, [*rows, {**EVENT, "total": "5", "at": 2}], order_by="at")
    assert "differ in column `total` (`" in message and "have the same `at` = `2`; name further columns" in message
    # Equal rows are no question, and neither are events without an id or of other accounts.
    others = [{**EVENT, "account": "b"}, *({**EVENT, "eventId": value, "total": total} for value in (None, "") for total in "12")]
    report = trueup.spark.ingest(frame(spark, pyarrow.Table.from_pylist([*rows, *others])), into=folder, order_by="at", parts=2)
    assert (report.events.taken, report.events.replaced) == (9, 3)
    answer = trueup.open(folder).query("account,eventId,eventCount,total", month="2025-01").to_dicts()
    found = [(row["account"], row["eventId"], row["eventCount"], int(row["total"])) for row in answer]
    assert sorted(found) == [("a", "", 4, 6), ("a", "e", 1, 1), ("b", "e", 1, 1)]


def test_neighbors_in_other_batches_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{**EVENT, "eventId": f"{at // 2}", "total": "2" if at == 41 else "1", "at": 1} for at in range(60)]
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    try:
        message = refusal(spark, tmp_path / "dataset", rows, order_by="at", parts=1)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert "have the `eventId` `20` and differ in column `total`" in message, message


def test_faulty_rows_and_columns_are_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    message = refusal(spark, folder, [EVENT, {**EVENT, "account": None, "eventId": "f"}, {**EVENT, "eventId": "g"}])
    assert "column `account`: expected a value" in message and "the row: opportunityId = `1`" in message, message
    with pytest.raises(trueup.IngestError, match="column `date`: expected a date.*eventId = `f`") as raised:
        rows = [EVENT, {**EVENT, "eventId": "f", "date": "soon"}, {**EVENT, "eventId": "g", "date": "never"}]
        trueup.spark.ingest(frame(spark, pyarrow.Table.from_pylist(rows)), into=folder)
    error = raised.value
    assert (error.column, error.rejected_rows) == ("date", 2) and error.value in ("soon", "never") and not folder.exists()
    assert "but found `a/b`" in refusal(spark, folder, [{**EVENT, "account": "a/b"}])
    message = refusal(spark, folder, [{name: value for name, value in EVENT.items() if name != "account"}])
    assert message.startswith("expected a column `account`, but the data frame has `opportunityId`"), message
    assert "`order_by`: expected a column `later`" in refusal(spark, folder, [EVENT], order_by="later")
    assert "has the type double; cast it to a string" in refusal(spark, folder, [{**EVENT, "account": 1.5}])
    assert "expected a column `type`" in refusal(spark, folder, [{name: EVENT[name] for name in ("account", "opportunityId", "date")}])
    assert "expected an amount" in refusal(spark, folder, [EVENT], spend=SPEND.set_column(2, "adSpend", pyarrow.array(["x"] * 9)))


def test_rows_that_change_between_two_computations_are_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**EVENT, "eventId": f"{at}", "account": f"a{at % 3}"} for at in range(9)]
    for counts, message in [
        ({"a0": 3, "a1": 3, "a2": 4}, "the data frame had 10 rows when they were counted, and 9 when they were written"),
        ({"a0": 3, "a1": 6}, "there are rows of account `a2`, but the ingest was planned without them"),
    ]:
        monkeypatch.setattr(_ingest, "_count", lambda *_, counts=counts: counts)
        assert message in refusal(spark, tmp_path / "dataset", rows, parts=2)


def test_numbers_are_accounts_and_an_empty_frame_is_a_version(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    rows = frame(spark, pyarrow.Table.from_pylist([{**EVENT, "account": at, "eventId": at} for at in range(20)]))
    assert trueup.spark.ingest(rows, into=folder, parts=4).events.taken == 20
    report = trueup.spark.ingest(rows.limit(0), into=folder, spend=SPEND)
    assert (report.version, report.events.taken, trueup.open(folder).event_rows) == (2, 0, 20)
    assert set(trueup.open(folder).accounts) >= {"0", "19"}


class _RunsTwice(_ingest._Stage):
    """Tasks that fail once after they have staged their parts, so that Spark runs them again."""

    def run(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from pyspark import TaskContext

        staged = list(super().run(batches))
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise RuntimeError("the first attempt is lost")
        yield from staged


def test_tasks_that_run_twice_leave_nothing(
    spark: SparkSession, events: pyarrow.Table, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.cloudpickle import register_pickle_by_value

    # Executors do not have this module.
    register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(_ingest, "_Stage", _RunsTwice)
    folder = tmp_path / "dataset"
    staged: list[int] = []
    collect = _ingest._collect

    def collected(*arguments: Any) -> Any:
        rows = collect(*arguments)
        staged.append(len(list(folder.glob(".trueup-pending-*/part-*"))))
        return rows

    monkeypatch.setattr(_ingest, "_collect", collected)
    trueup.spark.ingest(frame(spark, events), into=folder, spend=SPEND, accounts=ACCOUNTS, order_by="updatedAt", parts=4)
    # Two attempts of each part were there before the commit.
    assert max(staged) == 8, staged
    assert same(folder, local) and left_over(folder) == []


def test_parts_that_are_lost_or_repeated_are_an_error(
    spark: SparkSession, events: pyarrow.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = _ingest._collect
    faults = {"1 of 4 parts is missing": lambda rows: rows[1:], "is there twice": lambda rows: [*rows, rows[0]]}
    for message, fault in faults.items():
        with monkeypatch.context() as patched:
            patched.setattr(_ingest, "_collect", lambda *arguments, fault=fault: faulty(collect(*arguments), fault))
            with pytest.raises(trueup.IngestError, match=message):
                trueup.spark.ingest(frame(spark, events), into=tmp_path / "dataset", order_by="updatedAt", parts=4)
        assert not (tmp_path / "dataset").exists()


def faulty(rows: list[Any], fault: Any) -> list[Any]:
    """Changes what the parts have handed back, and not the counts of accounts."""
    return fault(rows) if rows and len(rows[0]) == 2 and isinstance(rows[0][0], (bytes, bytearray)) else rows


def test_a_deadline_ends_an_ingest(spark: SparkSession, cluster: Cluster, events: pyarrow.Table, tmp_path: Path) -> None:
    resume = [cluster.pause(0), cluster.pause(1)]
    try:
        with pytest.raises(trueup.Timeout, match="the ingest took longer than 1.5 s, and nothing was ingested"):
            trueup.spark.ingest(frame(spark, events), into=tmp_path / "dataset", order_by="updatedAt", timeout=1.5)
    finally:
        for worker in resume:
            worker()
    assert not (tmp_path / "dataset").exists()


def test_a_deadline_ends_the_collection_of_a_data_frame(
    spark: SparkSession, cluster: Cluster, events: pyarrow.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, resume = _ingest._count, []

    def count_and_pause(*arguments: Any) -> Any:
        counts = count(*arguments)
        resume.extend([cluster.pause(0), cluster.pause(1)])
        return counts

    monkeypatch.setattr(_ingest, "_count", count_and_pause)
    # A data frame that the driver has already needs no tasks.
    rows, spend = frame(spark, events), spark.createDataFrame(SPEND).repartition(2)
    begun = time.monotonic()
    try:
        with pytest.raises(trueup.Timeout, match="the ingest took longer than 30 s, and nothing was ingested"):
            trueup.spark.ingest(rows, into=tmp_path / "dataset", spend=spend, order_by="updatedAt", timeout=30)
        assert time.monotonic() - begun < 40
    finally:
        for worker in resume:
            worker()
    # The counts were there before the deadline.
    assert len(resume) == 2 and not (tmp_path / "dataset").exists()


def test_executors_are_killed_at_random_moments(
    spark: SparkSession, cluster: Cluster, store: Store, events: pyarrow.Table, local: Path, tmp_path: Path
) -> None:
    """Spark runs the tasks of a killed executor again. The dataset, in a folder or in a store, is right, or there is an
    error and no dataset."""
    from pyspark.errors import PySparkException

    chance = random.Random(11)
    rows = frame(spark, events)

    def ingest(folder: Path | str) -> None:
        trueup.spark.ingest(
            rows, into=folder, spend=SPEND, accounts=ACCOUNTS, order_by="updatedAt", parts=4, memory=64 << 20, timeout=60
        )

    ingest(tmp_path / "first")
    begun = time.monotonic()
    ingest(tmp_path / "second")
    usual = time.monotonic() - begun
    kills = cases(20)
    killed = ingested = asked = 0
    while killed < kills and asked < 3 * kills:
        wait_until(cluster.executors, "an executor")
        done = threading.Event()

        def kill(after: float) -> None:
            nonlocal killed
            if not done.wait(after):
                killed += cluster.kill_an_executor(chance)

        killer = threading.Thread(target=kill, args=(chance.uniform(0, usual),))
        killer.start()
        asked += 1
        in_store = asked % 2 == 0
        folder = store.folder(f"killed-{asked}") if in_store else tmp_path / f"{asked}"
        into: Path | str = store.url(folder.name) if in_store else folder
        try:
            ingest(into)
            assert same(into, local) and left_over(folder) == []
            ingested += 1
        except (trueup.Error, PySparkException) as error:
            assert str(error) and not list(folder.glob("manifest-*")) and (in_store or not folder.exists())
        done.set()
        killer.join()
    assert killed == kills and ingested >= 0.7 * asked - 1, (killed, ingested, asked)


CONNECT = """
import sys
import trueup, trueup.spark
from pathlib import Path
from pyspark.sql import SparkSession
sys.path.insert(0, sys.argv[3])
from spark import test_ingest as tests

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
events, folder = tests.random_events(1, 2_400), Path(sys.argv[2]) / "connect"
spend = spark.createDataFrame(tests.SPEND)
trueup.spark.ingest(
    tests.frame(spark, events), into=folder, spend=spend, accounts=tests.ACCOUNTS, order_by="updatedAt", parts=4, timeout=90
)
assert tests.same(folder, Path(sys.argv[4])) and tests.left_over(folder) == []
print("equal")
"""


def test_spark_connect_makes_the_dataset_of_one_process(cluster: Cluster, store: Store, local: Path, tmp_path: Path) -> None:
    """In a process of its own, because a process has sessions of one kind."""
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", CONNECT, cluster.connect_server(store.environment), str(tmp_path), tests, str(local)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (ran.returncode, ran.stdout) == (0, "equal\n"), ran.stderr[-4_000:]
