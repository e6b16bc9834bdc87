"""An ingest whose parts other processes write has the answers of one process, or is an error."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pytest
from conftest import WORKED_EXAMPLE

import trueup
from trueup import Dataset, Staged, StagePlan

TABLES: dict[str, Any] = {name: WORKED_EXAMPLE / f"{name}.csv" for name in ("spend", "accounts")}
PARTS = 3


def rows(part: int) -> pyarrow.Table:
    """The events of a part of the worked example, as text."""
    path = WORKED_EXAMPLE / "events.csv"
    names = path.read_text().splitlines()[0].split(",")
    options = pyarrow.csv.ConvertOptions(column_types={name: pyarrow.string() for name in names}, strings_can_be_null=True)
    table = pyarrow.csv.read_csv(path, convert_options=options)
    return table.filter([trueup.part_of(account, PARTS) == part for account in table["account"].to_pylist()])


def stage_elsewhere(arguments: tuple[StagePlan, int]) -> Staged:
    plan, part = arguments
    return trueup.stage(plan, part, rows(part), threads=1)


def test_parts_of_other_processes_are_one_ingest(tmp_path: Path, worked_example: Dataset) -> None:
    with trueup.begin_ingest(tmp_path / "dataset", PARTS, **TABLES) as ingest:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
            staged = list(processes.map(stage_elsewhere, [(ingest.plan, part) for part in range(PARTS)]))
        report = ingest.commit(reversed(staged))
    assert (report.version, report.changed, report.accounts.taken) == (1, True, 2)
    assert report.events.taken == sum(part.rows for part in staged) == worked_example.event_rows
    dataset = trueup.open(tmp_path / "dataset")
    names = [field.name for field in trueup.fields() if field.kind == "metric" and not field.only_in_cohorts]
    asked: dict[str, Any] = {"start": "2025-01-01", "end": "2025-03-31", "allow_long_total": True}
    for dimensions in (["account", "week"], ["campaign", "crew"], ["attributionChannel", "dateTime"]):
        answer = dataset.query([*dimensions, *names], **asked)
        assert answer.to_json() == worked_example.query([*dimensions, *names], **asked).to_json()
    # A later ingest that has events of no account leaves all files of events as they are.
    with trueup.begin_ingest(tmp_path / "dataset", 1, event_accounts=[]) as ingest:
        report = ingest.commit([trueup.stage(ingest.plan, 0, rows(0).slice(0, 0))])
    assert report.version == 2 and trueup.open(tmp_path / "dataset").event_rows == worked_example.event_rows


def test_plans_and_parts_are_values(tmp_path: Path) -> None:
    with trueup.begin_ingest(tmp_path / "dataset", PARTS) as ingest:
        plan = ingest.plan
        assert pickle.loads(pickle.dumps(plan)) == plan == StagePlan.from_json(tmp_path / "dataset", plan.to_json())
        assert (plan.parts, plan.version, Path(plan.into)) == (PARTS, 1, tmp_path / "dataset")
        staged = trueup.stage(plan, 0, rows(0))
        assert pickle.loads(pickle.dumps(staged)) == staged == Staged.from_bytes(staged.to_bytes())
        assert (staged.part, staged.rows) == (0, rows(0).num_rows) and (staged.file_bytes > 0) == (staged.rows > 0)
        url = StagePlan.from_json("s3://lake/acme", plan.to_json())
        assert pickle.loads(pickle.dumps(url)).into == "s3://lake/acme"
        assert plan.part_of("acme") == trueup.part_of("acme", PARTS)
        with pytest.raises(trueup.IngestError, match="the bytes are not what a part"):
            Staged.from_bytes(staged.to_bytes()[:-1])
        with pytest.raises(trueup.IngestError, match="the text is not the plan"):
            StagePlan.from_json(tmp_path, "[]")
    with pytest.raises(ValueError, match="expected a number above 0"):
        trueup.part_of("acme", 0)


def test_an_ingest_that_is_not_whole_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    ingest = trueup.begin_ingest(folder, PARTS)
    with pytest.raises(trueup.IngestError, match="another command is writing"):
        trueup.begin_ingest(folder, PARTS)
    staged = [trueup.stage(ingest.plan, part, rows(part)) for part in (0, 2)]
    with pytest.raises(trueup.IngestError, match="1 of 3 parts is missing: 1"):
        ingest.commit(staged)
    assert not folder.exists()
    with pytest.raises(ValueError, match="the ingest has ended already"):
        ingest.commit(staged)
    with pytest.raises(trueup.IngestError, match="has ended, so that nothing can be staged"):
        trueup.stage(ingest.plan, 1, rows(1))
    with pytest.raises(KeyError), trueup.begin_ingest(folder, PARTS) as ingest:
        trueup.stage(ingest.plan, 0, rows(0))
        raise KeyError
    assert not folder.exists()


def test_a_faulty_row_of_a_part_is_shown(tmp_path: Path) -> None:
    with trueup.begin_ingest(tmp_path / "dataset", 1) as ingest:
        row = {"account": "a", "opportunityId": "1", "type": "won", "date": "2025-01-03"}
        with pytest.raises(trueup.IngestError, match="part 0 of 1: .*; the row: account = `a`, opportunityId = `1`") as raised:
            trueup.stage(ingest.plan, 0, pyarrow.Table.from_pylist([row]))
        assert (raised.value.column, raised.value.value, raised.value.rejected_rows) == ("type", "won", 1)


def test_what_parts_cannot_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"begin_ingest\(\) got an unexpected keyword argument 'event_account'"):
        trueup.begin_ingest(tmp_path / "dataset", 1, event_account=["a"])  # type: ignore[call-arg]
    with pytest.raises(trueup.IngestError, match="no file of rejects"):
        trueup.begin_ingest(tmp_path / "dataset", 1, rejects="rejects.ndjson")  # type: ignore[call-arg]
    with pytest.raises(trueup.IngestError, match="expected 1 to 100000 parts, but found 0"):
        trueup.begin_ingest(tmp_path / "dataset", 0)
    with trueup.begin_ingest(tmp_path / "dataset", 1) as ingest:
        with pytest.raises(TypeError, match=r"stage\(\) got an unexpected keyword argument 'spend'"):
            trueup.stage(ingest.plan, 0, rows(0), spend="spend.csv")  # type: ignore[call-arg]
        # The plan states it for all parts.
        with pytest.raises(TypeError, match=r"stage\(\) got an unexpected keyword argument 'time_zone'"):
            trueup.stage(ingest.plan, 0, rows(0), time_zone="UTC")  # type: ignore[call-arg]
        interrupt = trueup.Interrupt()
        interrupt.cancel()
        with pytest.raises(trueup.Cancelled):
            trueup.stage(ingest.plan, 0, rows(0), interrupt=interrupt)
