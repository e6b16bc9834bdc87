"""Calls release the GIL, and end on Ctrl-C, on an interrupt, and at their deadline."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterator

import pyarrow
import pytest

import trueup
from trueup import Dataset, Interrupt

EVENT = {"account": "a", "opportunityId": "1", "type": "lead-originated", "date": "2025-01-03"}

# Takes long even for few events: each customer is a group on each of many days.
SLOW: dict[str, Any] = {
    "fields": ["opportunityId", "date", *(field.name for field in trueup.fields() if field.kind == "metric" and not field.only_in_cohorts)],
    "start": "2024-07-01",
    "end": "2026-06-30",
    "interval": "day",
    "totals": True,
    "allow_long_total": True,
}


def waiting_reader(wait: threading.Event, begun: threading.Event) -> pyarrow.RecordBatchReader:
    """A reader that sets `begun` after its first batch, and gives its second batch once `wait` is set."""
    first, second = (pyarrow.RecordBatch.from_pylist([{**EVENT, "opportunityId": number}]) for number in "12")

    def batches() -> Iterator[pyarrow.RecordBatch]:
        yield first
        begun.set()
        assert wait.wait(60)
        yield second

    return pyarrow.RecordBatchReader.from_batches(first.schema, batches())


def query_again_and_again(dataset: Dataset, **options: Any) -> None:
    """Queries until an exception ends it, however fast the machine answers; for at most a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        dataset.query(**SLOW, **options)


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[[threading.Event], None]]:
    """Sends this process what Ctrl-C sends, soon after an event is set."""
    # Python leaves the signal ignored if it was started so, as shells start jobs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with ThreadPoolExecutor(1) as other:

        def wait_and_press(begun: threading.Event) -> None:
            assert begun.wait(60)
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

        def press(begun: threading.Event) -> None:
            other.submit(wait_and_press, begun)

        yield press
    signal.signal(signal.SIGINT, before)


def test_an_ingest_releases_the_gil(tmp_path: Path) -> None:
    """The batches come from Python code, which runs only while the ingest leaves the GIL to it."""
    wait, begun = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as other:
        report = other.submit(trueup.ingest, tmp_path / "dataset", waiting_reader(wait, begun))
        assert begun.wait(60) and not report.done()
        wait.set()
        assert report.result(60).events.taken == 2


def test_a_query_releases_the_gil(demo: Dataset) -> None:
    """This thread cancels the query of another, which it can only while the query leaves the GIL to it."""
    interrupt = Interrupt()
    assert repr(interrupt) == "<Interrupt>" and not interrupt.cancelled
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(query_again_and_again, demo, interrupt=interrupt)
        time.sleep(0.05)
        interrupt.cancel()
        with pytest.raises(trueup.Cancelled, match="the query was canceled"):
            answer.result(60)
    assert repr(interrupt) == "<Interrupt, cancelled>" and interrupt.cancelled
    with pytest.raises(trueup.Cancelled):
        demo.query("leads", month="2025-01", interrupt=interrupt)


def test_threads_share_a_dataset(demo: Dataset) -> None:
    expected = [demo.query("campaign,leads,spend", month=f"2025-{month:02}").to_json() for month in range(1, 13)]
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda month: demo.query("campaign,leads,spend", month=f"2025-{month:02}"), range(1, 13))
        assert [answer.to_json() for answer in answers] == expected


def test_ctrl_c_ends_a_query(demo: Dataset, press_ctrl_c: Callable[[threading.Event], None]) -> None:
    start, begun = time.monotonic(), threading.Event()
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c(begun)
        begun.set()
        query_again_and_again(demo)
    assert time.monotonic() - start < 10
    assert len(demo.query("leads", month="2025-01")) == 1


def test_ctrl_c_ends_an_ingest(tmp_path: Path, press_ctrl_c: Callable[[threading.Event], None]) -> None:
    wait, begun = threading.Event(), threading.Event()
    press_ctrl_c(begun)
    with pytest.raises(KeyboardInterrupt):
        trueup.ingest(tmp_path / "dataset", waiting_reader(wait, begun))
    assert begun.is_set()
    wait.set()
    with pytest.raises(trueup.DatasetError, match="holds no dataset"):
        trueup.open(tmp_path / "dataset")
    assert [path for path in (tmp_path / "dataset").rglob("*") if path.is_file() and "lock" not in path.name] == []


def test_another_signal_that_raises_ends_a_query(demo: Dataset) -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Stop):
            query_again_and_again(demo)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_deadline_ends_a_query_and_an_ingest(demo: Dataset, tmp_path: Path) -> None:
    with pytest.raises(trueup.Timeout, match="the query took longer than it may") as late:
        demo.query(**SLOW, timeout=0.001)
    assert isinstance(late.value, TimeoutError)
    wait, begun = threading.Event(), threading.Event()
    with pytest.raises(trueup.Timeout, match="the command took longer than it may, and no incomplete change was"):
        trueup.ingest(tmp_path / "dataset", waiting_reader(wait, begun), timeout=0.2)
    wait.set()
    interrupt = Interrupt()
    interrupt.cancel()
    with pytest.raises(trueup.Cancelled, match="the command was canceled, and no incomplete change was"):
        trueup.ingest(tmp_path / "dataset", pyarrow.Table.from_pylist([EVENT]), interrupt=interrupt)


def test_an_ingest_reads_events_of_trueup_on_one_core(demo_folder: Path, tmp_path: Path) -> None:
    """The ingest waits for batches that the package reads, and must not occupy the only thread for it."""
    program = """
import sys
import pyarrow, trueup
dataset = trueup.open(sys.argv[1])
options = {"year": 2025, "allow_long_total": True}
query = dataset.prepare("account,opportunityId,type,date,total", **options)
events = dataset.read_events(query, dataset.plan_splits(query, 1)[0])
report = trueup.ingest(sys.argv[2], pyarrow.RecordBatchReader.from_batches(events.schema, events))
assert report.events.taken == dataset.query("eventCount", **options)["eventCount"][0] > 1_000
"""
    command = [sys.executable, "-c", program, str(demo_folder), str(tmp_path / "dataset")]
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_ingests_that_wait_do_not_delay_other_calls(demo: Dataset, tmp_path: Path) -> None:
    folder, count = tmp_path / "dataset", os.cpu_count() or 1
    begun = trueup.begin_ingest(folder, 1)
    staged = trueup.stage(begun.plan, 0, pyarrow.Table.from_pylist([EVENT]))

    def wait_and_ingest(number: int) -> trueup.IngestReport:
        events = pyarrow.Table.from_pylist([{**EVENT, "opportunityId": f"later {number}"}])
        return trueup.ingest(folder, events, wait=30)

    with ThreadPoolExecutor(count) as others:
        waiting = [others.submit(wait_and_ingest, number) for number in range(count)]
        time.sleep(0.5)
        assert not any(ingest.done() for ingest in waiting)
        start = time.monotonic()
        demo.query("leads", month="2025-01")
        begun.commit([staged])
        seconds = time.monotonic() - start
        assert sorted(ingest.result(60).version for ingest in waiting) == list(range(2, count + 2))
    assert seconds < 5


def holds_in_a_fork(check: Callable[[], bool]) -> bool:
    """Whether a check holds in a process that is forked from this one, and ends within half a minute."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + 30
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if status == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return status == (child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_has_threads_of_its_own(demo: Dataset) -> None:
    """A process that is forked has no thread of its parent's pool, and must not wait for one."""
    expected = demo.query("campaign,leads", month="2025-05").to_json()
    assert holds_in_a_fork(lambda: demo.query("campaign,leads", month="2025-05").to_json() == expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_finds_accounts(tmp_path: Path) -> None:
    """Without a table of accounts, they are looked for in the files of events, of which there are several."""
    accounts = ["a", "b", "c"]
    for account in accounts:
        trueup.ingest(tmp_path / "dataset", pyarrow.Table.from_pylist([{**EVENT, "account": account}]))

    def finds_accounts() -> bool:
        # What another process has read is in memory, and the fork would not read it again.
        dataset = trueup.open(tmp_path / "dataset")
        query = dataset.prepare("leads", month="2025-01", accounts=accounts)
        return len(dataset.plan_splits(query, 1)) == 1

    assert finds_accounts() and holds_in_a_fork(finds_accounts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_does_not_wait_for_a_store() -> None:
    """It has none of the threads that send the requests of its parent."""
    with socket.socket() as bound:
        # Nobody listens, so that the connection is refused.
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/dataset"

        def refusal() -> str:
            with pytest.raises(trueup.DatasetError) as raised:
                trueup.open(url)
            return str(raised.value)

        assert "forked" not in refusal()
        assert holds_in_a_fork(lambda: "this process was forked after its parent had used an object store" in refusal())
