"""The type stubs say what the package has, and the notebook of the documentation does what it shows."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import REPOSITORY
from nbclient import NotebookClient

import trueup

PACKAGE = Path(__file__).resolve().parents[1]
NOTEBOOK = REPOSITORY / "docs" / "notebooks" / "quickstart.ipynb"


def test_the_stubs_are_those_of_the_package() -> None:
    # `trueup.spark` has no stubs, and cannot be imported in whole without PySpark.
    module = "trueup" if importlib.util.find_spec("pyspark") else "trueup._trueup"
    checked = subprocess.run([sys.executable, "-m", "mypy.stubtest", module], capture_output=True, text=True, cwd=PACKAGE)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_type_checker_accepts_what_users_write() -> None:
    checked = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True, cwd=PACKAGE)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_everything_public_is_documented() -> None:
    assert trueup.__version__ == importlib.metadata.version("trueup")
    assert sorted(trueup.__all__) == sorted({*trueup.__all__})
    for name in trueup.__all__:
        value = getattr(trueup, name)
        if name == "__version__":
            continue
        assert (value.__doc__ or "").strip(), name
        if isinstance(value, type):
            assert value.__module__ in ("trueup", "trueup._errors"), name
            for member, attribute in vars(value).items():
                assert member.startswith("_") or (attribute.__doc__ or "").strip(), f"{name}.{member}"


def shown(cell: nbformat.NotebookNode) -> list[str]:
    """The texts that a cell shows, without what depends on the machine."""
    texts = []
    for output in cell.get("outputs", []):
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        texts.append(re.sub(r"\d+\.\d+ ms|/\S+", "…", text))
        assert output.output_type != "error", output
    return texts


def test_the_notebook_shows_what_it_does(tmp_path: Path) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    run = nbformat.from_dict(json.loads(json.dumps(stored)))
    NotebookClient(run, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    for before, after in zip(stored.cells, run.cells, strict=True):
        assert shown(before) == shown(after), before.source


@pytest.mark.parametrize("page", ["docs/python.md", "docs/cluster.md", "crates/trueup-python/README.md"])
def test_the_code_of_a_page_compiles(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, page, "exec")
