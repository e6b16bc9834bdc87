"""The package installs the program `trueup`, which does what the program of the crate does, also on signals."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import trueup

PROGRAM = Path(sys.executable).with_name("trueup")

# Answers more than a pipe holds.
LONG = ["--fields", "opportunityId,date,leads,closedRevenue", "--year", "2025", "--interval", "month", "--format", "csv"]


def begin(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Begins the program with the signals that a shell gives to a command in the foreground."""
    signals = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(
        [PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=signals, **options
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """The exit code, and what the program has written since."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), err.decode()


def test_the_exit_codes_are_those_of_the_program(tmp_path: Path) -> None:
    code, out, err = ended(begin("--version"))
    assert (code, err) == (0, "") and out.startswith(f"trueup {trueup.__version__} (tzdata ")
    code, out, err = ended(begin("verify", tmp_path / "missing"))
    assert (code, out) == (1, "") and err.startswith("error: ")
    code, out, err = ended(begin("query", "--no-such-option"))
    assert (code, out) == (2, "") and "Usage: trueup query" in err


def test_an_answer_is_that_of_the_program(program: str, demo_folder: Path) -> None:
    expected = subprocess.run([program, "query", demo_folder, *LONG], check=True, capture_output=True, text=True)
    assert len(expected.stdout) > 1 << 17
    assert ended(begin("query", demo_folder, *LONG)) == (0, expected.stdout, "")


def test_the_demo_says_how_to_call_the_program_again(tmp_path: Path) -> None:
    demo = ["demo", "demo", "--events", "2000"]
    path = str(PROGRAM.parent)
    assert "\n  trueup serve demo\n" in ended(begin(*demo, cwd=tmp_path, env={"PATH": path}))[1]
    assert f"\n  {PROGRAM} serve demo\n" in ended(begin(*demo, cwd=tmp_path, env={"PATH": "/usr/bin"}))[1]


def test_a_reader_that_leaves_is_no_failure(demo_folder: Path) -> None:
    process = begin("query", demo_folder, *LONG)
    assert process.stdout is not None and process.stdout.readline().startswith(b"start,")
    process.stdout.close()
    assert process.stderr is not None and process.stderr.read() == b""
    assert process.wait(120) == 0


def test_ctrl_c_ends_the_program_at_once(demo_folder: Path) -> None:
    process = begin("query", demo_folder, *LONG)
    assert process.stdout is not None and process.stdout.read(1) == b"s"
    # Until somebody reads the rest, the program waits.
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert (code, err) == (-signal.SIGINT, "")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_demo_and_leaves_nothing(stop: signal.Signals, tmp_path: Path) -> None:
    process = begin("demo", "demo", "--events", "2000000", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not any(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(stop)
    assert ended(process) == (128 + stop, "", "error: the demo was canceled, and nothing was created\n")
    assert not any(tmp_path.iterdir())


def test_closed_streams_do_not_mix_with_files(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("account,opportunityId,type,date\na,1,lead-originated,2026-01-05\n")
    shell = 'exec "$0" ingest events.csv --into dataset <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", shell, PROGRAM], cwd=tmp_path).returncode == 0
    assert ended(begin("verify", tmp_path / "dataset"))[0] == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux does the program begin again")
def test_a_service_with_little_memory_begins_again(demo_folder: Path) -> None:
    process = begin("serve", demo_folder, "--listen", "127.0.0.1:0", "--memory", "64MiB")
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, b"")
        address = next(found[0] for line in lines if (found := re.search(r"http://[\d.:]+", line.decode())))
        assert urllib.request.urlopen(f"{address}/health").status == 200
        folder = Path("/proc", str(process.pid))
        assert b"\0MALLOC_ARENA_MAX=" in b"\0" + (folder / "environ").read_bytes()
        assert str(demo_folder).encode() in (folder / "cmdline").read_bytes()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0
