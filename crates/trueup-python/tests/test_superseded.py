"""Rows that deletion vectors leave out are in no answer, and DuckDB leaves them out as docs/format.md says."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import REPOSITORY, WORKED_EXAMPLE
from superseded import supersede

import trueup

CUSTOMERS = {("north", "c1"), ("north", "n5"), ("south", "s1"), ("west", "w1")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worked example, of which version 2 supersedes customers."""
    folder = tmp_path_factory.mktemp("superseded") / "dataset"
    trueup.ingest(
        folder,
        WORKED_EXAMPLE / "events.csv",
        spend=WORKED_EXAMPLE / "spend.csv",
        accounts=WORKED_EXAMPLE / "accounts.csv",
    )
    supersede(folder, CUSTOMERS)
    return folder


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> trueup.Dataset:
    """The worked example without these customers, made in one go."""
    folder = tmp_path_factory.mktemp("left")
    with (WORKED_EXAMPLE / "events.csv").open(newline="") as source, (folder / "events.csv").open("w", newline="") as target:
        reader = csv.DictReader(source)
        writer = csv.DictWriter(target, reader.fieldnames or [])
        writer.writeheader()
        writer.writerows(row for row in reader if (row["account"], row["opportunityId"]) not in CUSTOMERS)
    trueup.ingest(
        folder / "dataset",
        folder / "events.csv",
        spend=WORKED_EXAMPLE / "spend.csv",
        accounts=WORKED_EXAMPLE / "accounts.csv",
    )
    return trueup.open(folder / "dataset")


def test_no_answer_has_them(folder: Path, left: trueup.Dataset, worked_example: trueup.Dataset) -> None:
    dataset = trueup.open(folder)
    assert dataset.version == 2 and left.event_rows < worked_example.event_rows
    assert (dataset.event_rows, dataset.accounts, dataset.date_range) == (left.event_rows, left.accounts, left.date_range)
    for path in sorted((WORKED_EXAMPLE / "expected").glob("*.json")):
        asked: dict[str, Any] = json.loads(path.read_text())["query"]
        if "filters" in asked:
            continue
        options = {"allow_long_total": True, "allow_unknown": True, **asked}
        assert dataset.query(**options).to_json() == left.query(**options).to_json(), path.stem
    before = trueup.open(folder, as_of=1)
    assert before.event_rows == worked_example.event_rows


def test_a_difference_shows_what_is_gone(folder: Path, left: trueup.Dataset, worked_example: trueup.Dataset) -> None:
    month: dict[str, Any] = {"month": "2025-01", "accounts": ["north"]}
    (row,) = trueup.open(folder).diff(1, "leads,closedRevenue", **month).to_dicts()
    (now,), (before,) = (dataset.query("leads,closedRevenue", **month).to_dicts() for dataset in (left, worked_example))
    assert row["status"] == "changed"
    assert (row["leads"], row["leads.previous"]) == (now["leads"], before["leads"])
    assert row["closedRevenue.change"] == now["closedRevenue"] - before["closedRevenue"] != 0


def test_duckdb_reads_the_current_rows(folder: Path, left: trueup.Dataset) -> None:
    section = (REPOSITORY / "docs" / "format.md").read_text().split("\n## With DuckDB\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```(sql|python)\n(.*?)```", section, re.DOTALL)
    assert [language for language, _ in blocks] == ["sql", "python", "sql"]
    for version, dataset in [(1, trueup.open(folder, as_of=1)), (2, left)]:
        connection = duckdb.connect()
        rows = []
        for language, block in blocks[: 1 if version == 1 else 3]:
            text = block.replace("DATASET", str(folder)).replace("manifest-00000012", f"manifest-{version:08}")
            if language == "python":
                exec(text, {"connection": connection})
            else:
                rows = connection.sql(text).fetchall()
        first, last = dataset.date_range or ("", "")
        counted = dataset.query("account,eventCount", start=first, end=last, allow_long_total=True)
        expected = [(row["account"], row["eventCount"]) for row in counted.to_dicts() if row["eventCount"]]
        assert sorted(rows) == expected, version
        connection.close()
