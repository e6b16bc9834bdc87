"""A server of S3 on this machine, written by others: s3s-fs, which keeps objects as files of a folder. `.ci/run` installs it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .cluster import HOST, answers, free_port, wait_until

# The variable that names the program.
PROGRAM = "TRUEUP_S3_SERVER"


class Store:
    """A server with one bucket."""

    def __init__(self, folder: Path) -> None:
        self._root, self._port, self._copies = folder, free_port(), 0
        (folder / "bucket").mkdir(parents=True)
        self.start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which clients find the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://{HOST}:{self._port}",
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "SECRET",
        }

    def url(self, name: str) -> str:
        return f"s3://bucket/{name}"

    def folder(self, name: str) -> Path:
        """The folder in which the server keeps what is below a URL."""
        return self._root / "bucket" / name

    def copy(self, folder: Path) -> tuple[Path, str]:
        """Copies a dataset in the store. Returns the folder of the copy and its URL."""
        self._copies += 1
        name = f"copy-{self._copies}"
        return shutil.copytree(folder, self.folder(name)), self.url(name)

    def start(self) -> None:
        """Starts the server, which was not started before or was killed."""
        command = [os.environ[PROGRAM], "--host", HOST, "--port", str(self._port), "--access-key", "id", "--secret-key", "SECRET"]
        self._process = subprocess.Popen([*command, str(self._root)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: answers(self._port), "the server of S3")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
