"""What the tests share: the program `trueup`, its demo dataset, and the worked example of docs/metrics.md."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import trueup

REPOSITORY = Path(__file__).resolve().parents[3]
WORKED_EXAMPLE = REPOSITORY / "testdata" / "worked-example"


@pytest.fixture(scope="session")
def program() -> str:
    """The program: the one that TRUEUP_PROGRAM names, or one that cargo builds."""
    if given := os.environ.get("TRUEUP_PROGRAM"):
        return str(Path(given).resolve())
    build = ["cargo", "build", "--locked", "--quiet", "-p", "trueup-cli", "--message-format", "json"]
    built = subprocess.run(build, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    executable = built.stdout.split('"executable":"')[-1].split('"')[0]
    assert Path(executable).is_file(), executable
    return executable


@pytest.fixture(scope="session")
def demo_folder(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "demo"
    subprocess.run([program, "demo", str(folder), "--events", "20000", "--accounts", "12", "--until", "2026-06-30"], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def demo(demo_folder: Path) -> trueup.Dataset:
    return trueup.open(demo_folder)


@pytest.fixture(scope="session")
def worked_example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worked-example") / "dataset"
    report = trueup.ingest(
        folder,
        WORKED_EXAMPLE / "events.csv",
        spend=WORKED_EXAMPLE / "spend.csv",
        accounts=WORKED_EXAMPLE / "accounts.csv",
    )
    assert report.version == 1 and report.changed
    return folder


@pytest.fixture(scope="session")
def worked_example(worked_example_folder: Path) -> trueup.Dataset:
    return trueup.open(worked_example_folder)
