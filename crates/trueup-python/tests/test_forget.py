"""Customers that are forgotten."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

import trueup

ANN = "ann-7c1f"
NOW = datetime.timedelta(0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    header = "account,opportunityId,type,date\n"
    rows = (
        f"acme,2,lead-originated,2025-01-02\nacme,{ANN}0,sold,2025-01-02\n",
        f"acme,{ANN},sold,2025-01-02\nother,{ANN},sold,2025-01-02\nacme,3,sold,soon\nacme,{ANN},sold,soon\n",
    )
    for version, text in enumerate(rows):
        (tmp_path / "events.csv").write_text(header + text)
        rejects = tmp_path / f"rejects-{version}.ndjson"
        trueup.ingest(tmp_path / "ds", events=tmp_path / "events.csv", rejects=rejects)
    return tmp_path / "ds"


def customers(folder: Path) -> list[tuple[object, object]]:
    answer = trueup.open(folder).query(["account", "opportunityId", "eventCount"], month="2025-01")
    return [(row["account"], row["opportunityId"]) for row in answer.to_dicts()]


def test_customers_are_forgotten(folder: Path, tmp_path: Path) -> None:
    before = customers(folder)
    forgotten = trueup.forget(folder, [("acme", ANN), ("acme", "nobody")], rejects=tmp_path / "rejects-1.ndjson")
    assert (forgotten.version, forgotten.customers, forgotten.events) == (3, 1, 1)
    assert (forgotten.absent, forgotten.expired, forgotten.rejected_rows) == ([("acme", "nobody")], [], 1)
    assert repr(forgotten) == "<ForgetReport: version 3, 1 customers, 1 events>"
    assert customers(folder) == [customer for customer in before if customer != ("acme", ANN)]
    assert len((tmp_path / "rejects-1.ndjson").read_text().splitlines()) == 1
    assert trueup.open(folder).versions()[-1].operation == "forget"
    (tmp_path / "again.csv").write_text(f"account,opportunityId,type,date\nacme,{ANN},sold,2025-01-03\n")
    again = trueup.ingest(folder, events=tmp_path / "again.csv")
    assert (again.events.taken, again.events.forgotten, forgotten.recorded) == (0, 1, 2)
    assert repr(again.events) == "<RowCounts: 0 rows taken, 1 of forgotten customers left out>"
    assert customers(folder) == [customer for customer in before if customer != ("acme", ANN)]
    assert ("acme", ANN) in [(row["account"], row["opportunityId"]) for row in events_of(folder, 2)]

    waiting = trueup.forget(folder, iter([("acme", ANN)]), purge=True)
    assert waiting.expired == [2, 3, 4] and waiting.removed.files == 0 and waiting.waiting.files > 0
    (tmp_path / "requests.csv").write_text(f"account,opportunityId\nacme,{ANN}\nother,{ANN}\n")
    purged = trueup.forget(folder, tmp_path / "requests.csv", purge=True, grace=NOW)
    assert purged.waiting.files == 0 and purged.removed.files >= waiting.waiting.files
    assert customers(folder) == [("acme", "2"), ("acme", f"{ANN}0")]
    assert [version.version for version in trueup.open(folder).versions()] == [1, purged.version]


def events_of(folder: Path, version: int) -> list[dict[str, object]]:
    answer = trueup.open(folder, as_of=version).query(["account", "opportunityId", "eventCount"], month="2025-01")
    return answer.to_dicts()


def test_an_exception_of_the_customers_is_raised(folder: Path) -> None:
    def failing() -> Iterator[tuple[str, str]]:
        yield "acme", ANN
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        trueup.forget(folder, failing())
    assert [version.version for version in trueup.open(folder).versions()] == [1, 2]


def test_faulty_calls_are_refused(folder: Path, tmp_path: Path) -> None:
    for value in (17, [17], ["ab"], [("acme", 17)]):
        with pytest.raises(TypeError, match="`customers`: expected pairs of account and opportunityId"):
            trueup.forget(folder, value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`rejects`: expected paths of files"):
        trueup.forget(folder, [("acme", ANN)], rejects=17)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'purges'"):
        trueup.forget(folder, [("acme", ANN)], purges=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="`grace` is how long files of a purge stay; `purge=True` asks for one"):
        trueup.forget(folder, [("acme", ANN)], grace=NOW)
    with pytest.raises(trueup.DatasetError, match="nobody to forget"):
        trueup.forget(folder, [])
    with pytest.raises(trueup.DatasetError, match="absent.csv"):
        trueup.forget(folder, tmp_path / "absent.csv")
    with pytest.raises(trueup.DatasetError, match="holds no dataset"):
        trueup.forget(tmp_path / "nothing", [("acme", ANN)])
    interrupt = trueup.Interrupt()
    interrupt.cancel()
    with pytest.raises(trueup.Cancelled):
        trueup.forget(folder, [("acme", ANN)], interrupt=interrupt)
    assert [version.version for version in trueup.open(folder).versions()] == [1, 2]
