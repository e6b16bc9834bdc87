"""Splits and partial results go from process to process, and lead to the answer of the query, or to an error."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from conftest import WORKED_EXAMPLE

import trueup
from trueup import Dataset, Partial, Query, Split, Table, col

OPTIONS: dict[str, Any] = {"year": 2025, "interval": "month", "totals": True, "allow_long_total": True, "where": col("total") != 500}


@pytest.fixture
def query(demo: Dataset) -> Query:
    return demo.prepare("attributionChannel,leads,bookRate,closedRevenue,spend", **OPTIONS)


@pytest.fixture
def partials(demo: Dataset, query: Query) -> list[Partial]:
    return [demo.run_split(query, split) for split in demo.plan_splits(query, 4)]


def run_elsewhere(arguments: tuple[Dataset, Query, Split]) -> Partial:
    dataset, query, split = arguments
    return dataset.run_split(query, split)


def test_splits_of_other_processes_give_the_answer(demo: Dataset, query: Query) -> None:
    splits = demo.plan_splits(query, 4)
    assert 1 < len(splits) <= 4 and all(split.rows > 0 for split in splits)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        partials = list(processes.map(run_elsewhere, [(demo, query, split) for split in splits]))
    table = Partial.merge_all(partials[::-1]).finish(demo, query)
    answer = demo.query(query)
    assert table.to_json() == answer.to_json()
    assert table.totals is not None and answer.totals is not None
    assert table.totals.to_json() == answer.totals.to_json()


def test_merging_makes_a_new_value(demo: Dataset, query: Query, partials: list[Partial]) -> None:
    merged = partials[0]
    for partial in partials[1:]:
        merged = merged.merge(partial)
    assert merged.rows_read == sum(partial.rows_read for partial in partials)
    assert merged.row_groups == sum(partial.row_groups for partial in partials)
    assert merged.dataset_version == demo.version
    again = Partial.merge_all(iter(partials))
    for whole in (merged, again, merged):
        assert whole.finish(demo, query).to_json() == demo.query(query).to_json()


def test_queries_splits_and_partials_are_pickled(demo: Dataset, query: Query, partials: list[Partial]) -> None:
    copy = pickle.loads(pickle.dumps(query))
    assert copy == query and Query.from_json(query.to_json()) == query
    assert demo.query(copy).to_json() == demo.query(query).to_json()
    split = demo.plan_splits(query, 2)[0]
    assert pickle.loads(pickle.dumps(split)) == split and Split.from_json(split.to_json()) == split
    assert pickle.loads(pickle.dumps(partials[0])).to_bytes() == partials[0].to_bytes()
    assert repr(split) == f"<Split of {split.rows} rows>"
    assert repr(partials[0]).startswith(f"<Partial of {partials[0].rows_read} rows in ")


def test_what_does_not_cover_the_query_once_is_refused(demo: Dataset, query: Query, partials: list[Partial]) -> None:
    with pytest.raises(trueup.PartialError, match="row groups (is|are) not covered"):
        Partial.merge_all(partials[1:]).finish(demo, query)
    with pytest.raises(trueup.PartialError, match="is covered twice"):
        partials[0].merge(partials[0])
    with pytest.raises(trueup.PartialError, match="another query"):
        Partial.merge_all(partials).finish(demo, demo.prepare("leads", month="2025-01"))
    with pytest.raises(ValueError, match="expected at least one partial result"):
        Partial.merge_all([])


def test_what_was_altered_is_refused(query: Query, partials: list[Partial]) -> None:
    data = bytearray(partials[0].to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(trueup.PartialError, match="the bytes are not those of a partial result"):
        Partial.from_bytes(bytes(data))
    with pytest.raises(trueup.QueryError, match="the text is not a query"):
        Query.from_json(query.to_json()[:-1])
    with pytest.raises(trueup.QueryError, match="the text is not a split"):
        Split.from_json("{}")


def test_no_split_at_all_is_refused(demo: Dataset, query: Query) -> None:
    with pytest.raises(ValueError, match="`splits`: expected a number above 0, but found 0"):
        demo.plan_splits(query, 0)


def test_another_version_is_refused(tmp_path: Path) -> None:
    trueup.ingest(tmp_path / "dataset", WORKED_EXAMPLE / "events.csv")
    first = trueup.open(tmp_path / "dataset")
    trueup.ingest(tmp_path / "dataset", spend=WORKED_EXAMPLE / "spend.csv")
    second = trueup.open(tmp_path / "dataset")
    assert (first.version, second.version) == (1, 2)
    query = first.prepare("leads,spend", month="2025-01")
    partial = first.run_split(query, first.plan_splits(query, 1)[0])
    with pytest.raises(trueup.PartialError, match="version 1"):
        partial.finish(second, query)
    with pytest.raises(trueup.PartialError, match="version"):
        second.run_split(query, first.plan_splits(query, 1)[0])


def test_somebody_else_can_answer_what_the_search_for_unseen_values_asks(demo: Dataset) -> None:
    asked: list[Query] = []

    def answer(query: Query, max_rows: int) -> Table | None:
        asked.append(query)
        partials = [demo.run_split(query, split, max_rows=max_rows) for split in demo.plan_splits(query, 3)]
        return Partial.merge_all(partials).finish(demo, query, max_rows=max_rows)

    for where in ["campaign = Drian", "week = 2031-01-06", ["technician = Bob", "attributionChannel = direct"]]:
        query = demo.prepare("leads", month="2025-01", where=where)
        found = demo.unseen_values(query, answer=answer)
        assert found and found == demo.unseen_values(query)
    assert len(asked) == 4 * 3
    assert demo.unseen_values(demo.prepare("leads", month="2025-01", where="attributionChannel = Direct"), answer=answer) == []
    assert len(asked) == 4 * 3
    # Without an answer, because it would be too long, nothing is said about a value.
    assert demo.unseen_values(query, answer=lambda query, max_rows: None) == []


def test_an_answer_that_is_too_long_is_refused(demo: Dataset) -> None:
    query = demo.prepare("zip,leads", month="2025-01")
    rows = len(demo.query(query, max_rows=1_000_000))
    assert len(demo.query(query, max_rows=rows)) == rows
    for run in [
        lambda: demo.query(query, max_rows=rows - 1),
        lambda: demo.run_split(query, demo.plan_splits(query, 1)[0], max_rows=rows - 1),
        lambda: demo.run_split(query, demo.plan_splits(query, 1)[0]).finish(demo, query, max_rows=rows - 1),
    ]:
        with pytest.raises(trueup.TooManyRowsError, match=f"more than {rows - 1} rows"):
            run()
