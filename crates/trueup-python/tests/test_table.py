"""Answers as Arrow, without a copy, and as Python values."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest

import trueup
from trueup import Dataset, Table

FIELDS = ["attributionChannel", "leads", "closedRevenue", "bookRate"]


@pytest.fixture
def table(demo: Dataset) -> Table:
    return demo.query(FIELDS, year=2025, interval="month")


def buffers(table: pyarrow.Table) -> list[int]:
    """The addresses of the values of each column."""
    addresses = []
    for column in table.columns:
        assert column.num_chunks == 1
        chunk = column.chunk(0)
        values = chunk.indices if isinstance(chunk, pyarrow.DictionaryArray) else chunk
        addresses.append(values.buffers()[1].address)
    return addresses


def test_columns_have_types_of_arrow(table: Table) -> None:
    schema = pyarrow.schema(table)
    assert schema.names == ["start", "end", *FIELDS]
    assert schema.types == [
        pyarrow.date32(),
        pyarrow.date32(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        pyarrow.uint64(),
        pyarrow.decimal128(38, 6),
        pyarrow.float64(),
    ]
    assert pyarrow.table(table).schema == schema


def test_pyarrow_reads_without_a_copy(table: Table) -> None:
    first = pyarrow.table(table)
    assert buffers(first) == buffers(pyarrow.table(table)) == buffers(table.to_pyarrow())
    rows = table.to_dicts()
    assert first.to_pylist() == rows
    del table
    assert first.to_pylist() == rows


def test_polars_reads_the_memory_of_pyarrow(table: Table) -> None:
    frame = table.to_polars()
    assert frame.equals(polars.DataFrame(table))
    assert frame["leads"].to_list() == table["leads"]
    # polars has the counts at the address at which pyarrow has them.
    assert frame["leads"].to_arrow().buffers()[1].address == buffers(pyarrow.table(table))[3]
    assert frame["closedRevenue"].dtype == polars.Decimal(38, 6)
    assert frame["closedRevenue"].sum() == sum(table["closedRevenue"])


def test_pandas_reads_it(table: Table) -> None:
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == table.columns
    assert frame["leads"].tolist() == table["leads"]
    assert frame["closedRevenue"].sum() == sum(table["closedRevenue"])
    typed = table.to_pandas(types_mapper=pandas.ArrowDtype)
    assert typed["closedRevenue"].dtype == pandas.ArrowDtype(pyarrow.decimal128(38, 6))


def test_duckdb_reads_it(table: Table) -> None:
    answer = duckdb.connect().from_arrow(table)
    sums = answer.aggregate("sum(leads), sum(closedRevenue)").fetchall()
    assert sums == [(sum(table["leads"]), sum(table["closedRevenue"]))]


def test_rows_are_values_of_python(table: Table) -> None:
    row = table.to_dicts()[0]
    assert list(row) == table.columns
    assert row["start"] == datetime.date(2025, 1, 1) and row["end"] == datetime.date(2025, 1, 31)
    kinds = {name: type(value) for name, value in row.items()}
    assert kinds == {
        "start": datetime.date,
        "end": datetime.date,
        "attributionChannel": str,
        "leads": int,
        "closedRevenue": Decimal,
        "bookRate": float,
    }
    assert table.shape == (len(table), 6) and len(table) == len(table.to_dicts())
    assert "leads" in table and "clicks" not in table
    with pytest.raises(KeyError, match="no column \"clicks\"; it has start, end, attributionChannel"):
        table["clicks"]


def test_an_empty_answer_has_columns(demo: Dataset) -> None:
    table = demo.query(["campaign", "leads"], month="2025-01", where="leads > 1000000")
    assert (len(table), table.to_dicts(), table.to_json()) == (0, [], "[]")
    assert pyarrow.table(table).shape == (0, 2)
    assert table.to_polars().shape == (0, 2)


def test_an_answer_shows_itself(demo: Dataset) -> None:
    table = demo.query(["campaign", "leads"], month="2025-05", sort="leads:desc")
    text = repr(table).splitlines()
    assert text[0].split() == ["campaign", "leads"]
    assert text[-1] == f"{len(table)} rows × 2 columns, the first 20 shown"
    assert len(text) == 22
    html = table._repr_html_()
    assert html.count("<tr>") == 21 and "<th>campaign</th>" in html and "the first 20 shown" in html
    assert repr(demo.query("leads", month="2025-05")).endswith("1 row × 1 column")


def test_a_ratio_over_nothing_is_shown_as_a_dash(worked_example: Dataset) -> None:
    options: dict[str, Any] = {"start": "2025-01-01", "end": "2025-03-31", "where": "type = closed"}
    table = worked_example.query("campaign,leads,avgCostPerLead", **options)
    assert repr(table).splitlines()[1].split() == ["(none)", "0", "–"]
    assert table.to_dicts()[0] == {"campaign": "", "leads": 0, "avgCostPerLead": 0.0}


def test_html_is_escaped(tmp_path: object, demo: Dataset) -> None:
    events = pyarrow.table(
        {
            "account": ["a"],
            "opportunityId": ["1"],
            "type": ["lead-originated"],
            "date": ["2025-01-03"],
            "campaign": ["<script>alert('&')</script>\n"],
        }
    )
    trueup.ingest(f"{tmp_path}/dataset", events)
    table = trueup.open(f"{tmp_path}/dataset").query("campaign,leads", month="2025-01")
    assert "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt; </td>" in table._repr_html_()
    assert table["campaign"] == ["<script>alert('&')</script>\n"]


def test_a_missing_package_is_named(demo_folder: object) -> None:
    script = f"""
import sys
sys.modules["polars"] = sys.modules["pyarrow"] = None
import trueup
table = trueup.open({str(demo_folder)!r}).query("leads", month="2025-05")
for method, package in [("to_polars", "polars"), ("to_pyarrow", "pyarrow"), ("to_pandas", "pyarrow")]:
    try:
        getattr(table, method)()
    except ImportError as error:
        assert str(error).startswith(f"Table.{{method}}() needs the package `{{package}}`"), error
    else:
        raise AssertionError(method)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
