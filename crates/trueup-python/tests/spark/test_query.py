"""Queries on a cluster, of a dataset in a store of S3, have the answers of one process, byte for byte, whatever fails; or they
end with an error that says what is missing, and by their deadline."""

from __future__ import annotations

import functools
import http.server
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest
from sample import cases
from superseded import supersede

import trueup
import trueup.spark
from trueup.spark import _query, _tasks

from .cluster import HOST, Cluster, children, wait_until
from .questions import question
from .store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A question that takes the cluster some time: many groups, and totals.
WIDE: dict[str, Any] = {
    "fields": ["campaign", "technician", "customerStatus", "leads", "opportunityAgents", "closedRevenue", "stepBookRate", "spend"],
    "year": 2025,
    "interval": "month",
    "totals": True,
    "allow_long_total": True,
}


def parts(table: trueup.Table) -> list[bytes]:
    """All bytes of an answer: as Arrow and as JSON, and its totals."""
    arrow = table.to_pyarrow()
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    totals = [] if table.totals is None else parts(table.totals)
    return [sink.getvalue().to_pybytes(), table.to_json().encode(), *totals]


def same(one: trueup.Table, other: trueup.Table) -> bool:
    return parts(one) == parts(other)


@pytest.fixture(scope="module")
def wide(dataset: trueup.Dataset) -> trueup.Table:
    answer = dataset.query(**WIDE)
    assert len(answer) > 1_000
    return answer


def test_random_questions_have_the_answers_of_one_process(
    spark: SparkSession, dataset: trueup.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through RDDs, and through data frames as in Spark Connect."""
    chance = random.Random(18)
    rows, questions = 0, cases(60)
    for number in range(questions):
        monkeypatch.setattr(_query, "_FAN_IN", chance.choice([3, 16]))
        if number == 2 * questions // 3:
            monkeypatch.setattr(_tasks, "context_of", lambda spark: None)
        asked = question(chance, dataset)
        expected = dataset.query(dataset.prepare(**asked))
        found = trueup.spark.query(spark, dataset.path, **asked, splits=chance.choice([1, 3, 8, 20]))
        assert same(found, expected), f"{number}: {asked}"
        rows += len(expected)
    assert rows > 80 * questions


def test_the_number_of_tasks_follows_the_rows(spark: SparkSession, dataset: trueup.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    run = _query._run
    monkeypatch.setattr(_query, "_run", lambda spark, work, planned: asked.append(len(planned)) or run(spark, work, planned))
    trueup.spark.query(spark, dataset, **WIDE)
    monkeypatch.setattr(_query, "_ROWS_PER_TASK", 10_000)
    trueup.spark.query(spark, dataset, **WIDE)
    assert asked[0] == 1 and 4 <= asked[1] <= 8, asked


def test_values_that_no_event_has_cause_the_warnings_of_one_process(spark: SparkSession, dataset: trueup.Dataset) -> None:
    for where in ["campaign = Drian", ["customerStatus = unmatched", "zip = 00000"]]:
        asked: dict[str, Any] = {"fields": "campaign,leads", "month": "2025-05", "where": where}
        with pytest.warns(trueup.TrueupWarning) as expected:
            answer = dataset.query(**asked)
        with pytest.warns(trueup.TrueupWarning) as found:
            assert same(trueup.spark.query(spark, dataset, **asked), answer)
        assert [str(warning.message) for warning in found] == [str(warning.message) for warning in expected]
        assert all(warning.filename == __file__ for warning in found)
        with pytest.raises(trueup.QueryError, match="no event and no spend of the dataset has the value `(Drian|unmatched)`"):
            trueup.spark.query(spark, dataset, **asked, strict=True)
    known = {"fields": "leads", "month": "2025-05", "where": "attributionChannel = Direct"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trueup.spark.query(spark, dataset, **known, strict=True)
    with pytest.warns(trueup.TrueupWarning, match="no events in the range 2031-01-01 to 2031-01-31"):
        trueup.spark.frame(spark, dataset, "leads", month="2031-01")


def test_a_data_frame_has_the_rows_of_the_answer(spark: SparkSession, dataset: trueup.Dataset) -> None:
    asked = {**WIDE, "fields": ["campaign", "leads", "closedRevenue", "bookRate"]}
    frame = trueup.spark.frame(spark, dataset, **asked)
    assert dict(frame.dtypes) == {
        "rowType": "string",
        "start": "date",
        "end": "date",
        "campaign": "string",
        "leads": "bigint",
        "closedRevenue": "decimal(38,6)",
        "bookRate": "double",
    }
    assert [row.asDict() for row in frame.collect()] == dataset.query(**asked).with_totals_row().to_dicts()


def test_a_newer_version_does_not_enter_a_query_that_has_begun(spark: SparkSession, folder: Path, store: Store) -> None:
    _, copy = store.copy(folder)
    first = trueup.open(copy)
    expected = first.query(**WIDE)
    event = {"account": first.accounts[0], "opportunityId": "new", "type": "lead-originated", "date": "2025-03-01"}
    trueup.ingest(copy, pyarrow.Table.from_pylist([event]))
    assert same(trueup.spark.query(spark, first, **WIDE, splits=4), expected)
    assert not same(trueup.spark.query(spark, copy, **WIDE, splits=4), expected)


def test_versions_are_read_without_their_superseded_rows(spark: SparkSession, folder: Path, store: Store) -> None:
    changed, url = store.copy(folder)
    before = trueup.open(url)
    customers = before.query("account,opportunityId,eventCount", month="2025-05", sort="eventCount:desc", limit=40).to_dicts()
    supersede(changed, {(row["account"], row["opportunityId"]) for row in customers})
    after = trueup.open(url)
    assert after.version == before.version + 1 and after.event_rows < before.event_rows
    [committed] = [version.committed for version in before.versions() if version.version == before.version]
    for as_of, expected in [(None, after), (before.version, before), (committed, before), (committed.isoformat(), before)]:
        assert same(trueup.spark.query(spark, url, **WIDE, splits=4, as_of=as_of), expected.query(**WIDE))
    assert not same(after.query(**WIDE), before.query(**WIDE))
    with pytest.raises(trueup.QueryError, match=f"`as_of` is for a path or URL; the open dataset is at version {after.version}"):
        trueup.spark.query(spark, after, "leads", month="2025-05", as_of=before.version)

    trueup.spark.register(spark)
    for version, dataset in [({}, after), ({"asOf": before.version}, before), ({"asOf": committed.isoformat()}, before)]:
        read = spark.read.format("trueup").options(fields="type", partitions=3, **version).load(url)
        assert read.count() == dataset.event_rows


def test_a_dataset_that_was_rebuilt_is_opened_again(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """The workers keep versions open, and the new dataset has a version of the same number."""
    trueup.spark.register(spark)

    def by_query(path: Path) -> Any:
        return trueup.spark.query(spark, path, "eventCount", year=2025, allow_long_total=True, splits=8)["eventCount"][0]

    def by_source(path: Path) -> Any:
        return spark.read.format("trueup").options(fields="type", partitions=8).load(str(path)).count()

    event = {"account": "a", "opportunityId": "1", "type": "booked", "date": "2025-03-01"}
    for count in (by_query, by_source):
        path = shutil.copytree(folder, tmp_path / count.__name__)
        assert count(path) > 10_000
        shutil.rmtree(path)
        trueup.ingest(path, pyarrow.Table.from_pylist([event]))
        assert trueup.open(path).version == 1
        assert count(path) == 1


def lost(partials: Iterator[bytes]) -> Iterator[bytes]:
    return (partial for partial in partials if not partial)


def repeated(partials: Iterator[bytes]) -> Iterator[bytes]:
    for partial in partials:
        yield from (partial, partial)


def altered(partials: Iterator[bytes]) -> Iterator[bytes]:
    for partial in map(bytearray, partials):
        partial[len(partial) // 2] ^= 1
        yield bytes(partial)


def given(other: bytes) -> _tasks.Function:
    """Returns a fault that puts another partial result in the place of one."""
    return lambda partials: (other for _ in partials)


def inject(monkeypatch: pytest.MonkeyPatch, fault: _tasks.Function) -> None:
    """Lets a fault change the partial result of the second task."""
    from pyspark.cloudpickle import register_pickle_by_value

    # Executors do not have this module.
    register_pickle_by_value(sys.modules[__name__])
    run = _query._run

    def faulty(partials: Iterator[bytes]) -> Iterator[bytes]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return fault(partials) if context.partitionId() == 1 else partials

    monkeypatch.setattr(_query, "_run", lambda *given: run(*given).map(faulty))


@pytest.fixture(params=["on the driver", "on executors"])
def merged(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the partial results are merged."""
    if request.param == "on executors":
        monkeypatch.setattr(_query, "_FAN_IN", 3)


@pytest.mark.usefixtures("merged")
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lost, r"\d of \d+ row groups (is|are) not covered \(numbers? \d+"),
        (repeated, r"row group \d+ is covered twice"),
        (altered, "the bytes are not those of a partial result"),
    ],
)
def test_a_faulty_partial_result_is_an_error(
    spark: SparkSession,
    dataset: trueup.Dataset,
    monkeypatch: pytest.MonkeyPatch,
    fault: _tasks.Function,
    message: str,
) -> None:
    inject(monkeypatch, fault)
    with pytest.raises(trueup.PartialError, match=message):
        trueup.spark.query(spark, dataset, **WIDE, splits=8)


@pytest.mark.usefixtures("merged")
def test_a_foreign_partial_result_is_an_error(
    spark: SparkSession, folder: Path, dataset: trueup.Dataset, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def partial(of: trueup.Dataset, asked: dict[str, Any]) -> bytes:
        query = of.prepare(**asked)
        return of.run_split(query, of.plan_splits(query, 8)[1]).to_bytes()

    _, copy = store.copy(folder)
    trueup.ingest(copy, pyarrow.Table.from_pylist([{"account": "a", "opportunityId": "1", "type": "booked", "date": "2025-03-01"}]))
    other_version = partial(trueup.open(copy), WIDE)
    other_query = partial(dataset, {**WIDE, "where": "total > 1"})
    for foreign, message in [(other_version, "version 2"), (other_query, "another query")]:
        with monkeypatch.context() as patched:
            inject(patched, given(foreign))
            with pytest.raises(trueup.PartialError, match=message):
                trueup.spark.query(spark, dataset, **WIDE, splits=8)


def test_no_partial_result_is_an_error(spark: SparkSession, dataset: trueup.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _query._run
    monkeypatch.setattr(_query, "_run", lambda *given: run(*given).map(lambda partials: (one for one in partials if not one)))
    with pytest.raises(trueup.PartialError, match="none of the 4 splits of the query gave a partial result"):
        trueup.spark.query(spark, dataset, **WIDE, splits=4)


def test_a_damaged_file_is_an_error_of_the_dataset(spark: SparkSession, folder: Path, store: Store) -> None:
    copy, url = store.copy(folder)
    opened = trueup.open(url)
    for path in (copy / "events").iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(trueup.DatasetError, match="a task failed: .*the bytes from .* on differ from what was written"):
        trueup.spark.query(spark, opened, **WIDE, splits=2)


def test_a_file_that_vanished_is_named(spark: SparkSession, folder: Path, store: Store) -> None:
    copy, url = store.copy(folder)
    opened = trueup.open(url)
    file = next((copy / "events").iterdir())
    file.unlink()
    with pytest.raises(trueup.DatasetError, match=f"a task failed: .*{url}/events/{file.name}"):
        trueup.spark.query(spark, opened, **WIDE, splits=2)


def test_a_faulty_query_is_refused_before_a_task_runs(spark: SparkSession, dataset: trueup.Dataset) -> None:
    with pytest.raises(trueup.UnknownFieldError, match="did you mean `leads`"):
        trueup.spark.query(spark, dataset, ["leeds", "spend"], month="2025-01")


def test_executors_are_killed_at_random_moments(
    spark: SparkSession, cluster: Cluster, dataset: trueup.Dataset, wide: trueup.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark runs the tasks of a killed executor again. The answer is right, or there is an error."""
    from pyspark.errors import PySparkException

    monkeypatch.setattr(_query, "_FAN_IN", 3)
    chance = random.Random(9)

    def ask() -> trueup.Table:
        return trueup.spark.query(spark, dataset, **WIDE, splits=24, timeout=60)

    ask()
    begun = time.monotonic()
    ask()
    usual = time.monotonic() - begun
    kills = cases(20)
    killed = answered = asked = 0
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
        try:
            assert same(ask(), wide)
            answered += 1
        except (trueup.Error, PySparkException) as error:
            assert str(error)
        done.set()
        killer.join()
    assert killed == kills and answered >= 0.7 * asked - 1, (killed, answered, asked)


def test_a_worker_that_pauses_delays_the_answer(
    spark: SparkSession, cluster: Cluster, dataset: trueup.Dataset, wide: trueup.Table
) -> None:
    wait_until(cluster.executors, "an executor")
    resume = cluster.pause(0 if children(cluster.workers[0].pid) else 1)
    timer = threading.Timer(1.5, resume)
    timer.start()
    assert same(trueup.spark.query(spark, dataset, **WIDE, splits=24, timeout=60), wide)
    timer.join()


def test_a_deadline_ends_a_query_on_a_cluster_that_stands_still(
    spark: SparkSession, cluster: Cluster, dataset: trueup.Dataset, wide: trueup.Table
) -> None:
    resume = [cluster.pause(0), cluster.pause(1)]
    begun = time.monotonic()
    try:
        with pytest.raises(trueup.Timeout, match=r"took longer than 1.5 s on the cluster, and its tasks are canceled"):
            trueup.spark.query(spark, dataset, **WIDE, splits=24, timeout=1.5)
        assert time.monotonic() - begun < 6
    finally:
        for worker in resume:
            worker()
    assert same(trueup.spark.query(spark, dataset, **WIDE, splits=24, timeout=60), wide)


def test_the_store_is_killed_and_started_again_at_random_moments(
    spark: SparkSession, folder: Path, store: Store, wide: trueup.Table
) -> None:
    """Requests are repeated until the store answers again. The answer is right, or there is an error."""
    chance = random.Random(5)

    def ask(url: str) -> trueup.Table:
        return trueup.spark.query(spark, url, **WIDE, splits=6, timeout=60)

    # The same dataset at other URLs, of which no executor has anything in memory.
    first, *others = [store.copy(folder)[1] for _ in range(1 + cases(20))]
    begun = time.monotonic()
    assert same(ask(first), wide)
    usual = time.monotonic() - begun
    answered = 0
    for url in others:

        def restart(after: float, pause: float) -> None:
            time.sleep(after)
            store.kill()
            time.sleep(pause)
            store.start()

        killer = threading.Thread(target=restart, args=(chance.uniform(0, usual), chance.uniform(0, 1)))
        killer.start()
        try:
            assert same(ask(url), wide)
            answered += 1
        except trueup.Error as error:
            assert url in str(error)
        killer.join()
    assert answered >= 0.7 * len(others) - 1, answered


def test_a_deadline_ends_a_query_whose_store_is_lost(
    spark: SparkSession, dataset: trueup.Dataset, folder: Path, wide: trueup.Table, store: Store
) -> None:
    """Before tasks run, and while they run. Afterwards the same question has an answer."""
    # Copies, of which no executor has anything in memory.
    (_, closed), (_, opened) = store.copy(folder), store.copy(folder)
    for asked in [closed, trueup.open(opened)]:
        store.kill()
        begun = time.monotonic()
        try:
            with pytest.raises(trueup.Timeout):
                # To open a dataset, requests are repeated for a second.
                trueup.spark.query(spark, asked, **WIDE, splits=6, timeout=0.7)
            assert time.monotonic() - begun < 6
        finally:
            store.start()
        assert same(trueup.spark.query(spark, asked, **WIDE, splits=6, timeout=60), wide)


class RangeHandler(http.server.SimpleHTTPRequestHandler):
    """A web server that answers range requests."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if asked is None or not path.is_file():
            return super().do_GET()
        size = path.stat().st_size
        first, last = asked.groups()
        start = int(first) if first else size - int(last)
        end = min(int(last) + 1 if first and last else size, size)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        with path.open("rb") as file:
            file.seek(start)
            self.wfile.write(file.read(end - start))

    def log_message(self, *_: Any) -> None:
        pass


def test_a_dataset_behind_a_url_has_the_same_answer(spark: SparkSession, folder: Path, wide: trueup.Table) -> None:
    handler = functools.partial(RangeHandler, directory=str(folder.parent))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://{HOST}:{server.server_address[1]}/{folder.name}"
        assert same(trueup.spark.query(spark, url, **WIDE, splits=4), wide)
        server.shutdown()


CONNECT = """
import random, sys
import trueup, trueup.spark
from pyspark.sql import SparkSession
sys.path.insert(0, sys.argv[3])
from spark.questions import question

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
dataset = trueup.open(sys.argv[2])
chance = random.Random(4)
for _ in range(8):
    asked = question(chance, dataset)
    answer = trueup.spark.query(spark, sys.argv[2], **asked, splits=5, timeout=60)
    assert answer.to_json() == dataset.query(dataset.prepare(**asked)).to_json(), asked
try:
    trueup.spark.query(spark, sys.argv[2], **asked, splits=5, timeout=0.01)
    raise SystemExit("the deadline had no effect")
except trueup.Timeout:
    pass
trueup.spark.register(spark)
events = spark.read.format("trueup").option("fields", "type").load(sys.argv[2])
assert events.count() == dataset.event_rows
print("equal")
"""


def test_spark_connect_has_the_answers_of_one_process(cluster: Cluster, store: Store, dataset: trueup.Dataset) -> None:
    """In a process of its own, because a process has sessions of one kind."""
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", CONNECT, cluster.connect_server(store.environment), str(dataset.path), tests]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "equal\n"), ran.stderr[-4_000:]
