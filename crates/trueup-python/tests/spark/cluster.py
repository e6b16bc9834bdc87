"""A cluster of Spark on this machine: a standalone master and workers, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"

# The packages of the JVM that Spark's own start script opens to it, as far as these processes need them.
OPENS = [
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
]

# The JVMs of the tests live for seconds, so that a fast start matters more than fast code.
START_FAST = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]

# What every application of the tests asks for: two executors of one core each, so that each query runs on both.
CONFIGURATION = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": " ".join(START_FAST),
    "spark.cores.max": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.locality.wait": "0",
    "spark.sql.shuffle.partitions": "4",
    # Whoever waits for an executor that was killed waits in vain.
    "spark.shuffle.io.retryWait": "200ms",
}


def executor_environment(variables: dict[str, str]) -> dict[str, str]:
    """The settings with which executors get variables."""
    return {f"spark.executorEnv.{name}": value for name, value in variables.items()}


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        return int(bound.getsockname()[1])


def wait_until(holds: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := holds():
            return result
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {seconds} s")


def answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:  # It has just ended.
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def kill(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Cluster:
    """A master and two workers, and a server of Spark Connect if one is asked for."""

    def __init__(self, folder: Path, memory: str = "2g") -> None:
        import pyspark

        self.folder, self.home = folder, Path(pyspark.__file__).parent
        self.started: list[subprocess.Popen[bytes]] = []
        self.connect_url: str | None = None
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        # An executor that is killed again and again is started again and again.
        options = ["-Dspark.deploy.maxExecutorRetries=-1"]
        self.java("master", "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0", options=options)
        wait_until(lambda: answers(port), "the master")
        worker = "org.apache.spark.deploy.worker.Worker"
        limits = ["--cores", "2", "--memory", memory, "--webui-port", "0"]
        self.workers = [
            self.java(f"worker{number}", worker, "--host", HOST, *limits, "--work-dir", str(folder / f"work{number}"), self.url)
            for number in range(2)
        ]

    def java(
        self, name: str, main: str, *arguments: str, options: list[str] | None = None, variables: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        opens = [f"--add-opens={module}=ALL-UNNAMED" for module in OPENS]
        # Executors get the credentials of a store from their application, and not from the machines that they run on.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = {
            **inherited,
            **(variables or {}),
            "SPARK_HOME": str(self.home),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        command = ["java", "-Xmx512m", *START_FAST, *opens, *(options or []), "-cp", f"{self.home}/jars/*", main, *arguments]
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.started.append(process)
        return process

    def connect_server(self, variables: dict[str, str]) -> str:
        """Starts a server of Spark Connect, unless one runs already, and returns its URL. The server and its executors get
        these environment variables."""
        if self.connect_url is not None:
            return self.connect_url
        port = free_port()
        settings = {**CONFIGURATION, **executor_environment(variables), "spark.connect.grpc.binding.port": str(port), "spark.pyspark.python": sys.executable}
        flags = [argument for name, value in settings.items() for argument in ("--conf", f"{name}={value}")]
        main = "org.apache.spark.sql.connect.service.SparkConnectServer"
        arguments = ["--master", self.url, *flags, "--class", main, "spark-internal"]
        self.java("connect", "org.apache.spark.deploy.SparkSubmit", *arguments, variables=variables)
        wait_until(lambda: answers(port), "the server of Spark Connect", 90)
        self.connect_url = f"sc://{HOST}:{port}"
        return self.connect_url

    def executors(self) -> list[int]:
        """The processes of the executors that run now."""
        return [child for worker in self.workers for child in children(worker.pid)]

    def kill_an_executor(self, chance: random.Random) -> bool:
        """Kills an executor, if one runs."""
        executors = self.executors()
        if executors:
            kill(chance.choice(executors), signal.SIGKILL)
        return bool(executors)

    def pause(self, worker: int) -> Callable[[], None]:
        """Pauses a worker and its executors. Returns what resumes them."""
        process = self.workers[worker].pid
        paused = [process, *children(process)]
        for pid in paused:
            kill(pid, signal.SIGSTOP)

        def resume() -> None:
            for pid in paused:
                kill(pid, signal.SIGCONT)

        return resume

    def stop(self) -> None:
        for process in reversed(self.started):
            for pid in [*children(process.pid), process.pid]:
                kill(pid, signal.SIGKILL)
            process.wait()
