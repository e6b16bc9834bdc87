"""The cluster, the session, and the dataset in a store of S3, of the tests with Spark. Without PySpark, Java or the server of the
store they are skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trueup

from .cluster import CONFIGURATION, Cluster, executor_environment, wait_until
from .store import PROGRAM, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def missing() -> str | None:
    """What this machine lacks to run Spark."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install -r tests/spark/requirements.txt"
    if shutil.which("java") is None:
        return "Java is not installed: Spark needs Java 17 or later"
    if PROGRAM not in os.environ:
        return f"{PROGRAM} does not name a server of S3; `.ci/run` installs s3s-fs"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    assert reason is None or os.environ.get("TRUEUP_SKIP_NOTHING") != "1", reason
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.spark)
            # PySpark causes warnings that do not concern trueup.
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store, which this process finds in its environment."""
    store = Store(tmp_path_factory.mktemp("store"))
    os.environ |= store.environment
    try:
        yield store
    finally:
        store.kill()


@pytest.fixture(scope="session")
def folder(program: str, store: Store) -> Path:
    """The folder in which the store keeps a dataset of many row groups."""
    folder = store.folder("dataset")
    options = ["--events", "120000", "--accounts", "12", "--until", "2026-06-30"]
    subprocess.run([program, "demo", str(folder), *options], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def dataset(folder: Path, store: Store) -> trueup.Dataset:
    """The dataset, opened in the store."""
    return trueup.open(store.url(folder.name))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def spark(cluster: Cluster, store: Store) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(cluster.url).appName("trueup")
    for name, value in {**CONFIGURATION, **executor_environment(store.environment)}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    wait_until(lambda: len(cluster.executors()) == 2, "two executors")
    yield session
    session.stop()
