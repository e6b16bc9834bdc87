"""Deletion vectors, written as docs/format.md describes them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
from block_sums import blake3, block_sums
from pyroaring import BitMap

SCHEMA = pyarrow.schema(
    [
        pyarrow.field("path", pyarrow.string(), nullable=False),
        pyarrow.field("rows", pyarrow.uint64(), nullable=False),
        pyarrow.field("bitmap", pyarrow.binary(), nullable=False),
        pyarrow.field(
            "rowGroups",
            pyarrow.list_(
                pyarrow.field(
                    "element",
                    pyarrow.struct(
                        [
                            pyarrow.field("number", pyarrow.uint64(), nullable=False),
                            pyarrow.field("firstDay", pyarrow.date32()),
                            pyarrow.field("lastDay", pyarrow.date32()),
                        ]
                    ),
                    nullable=False,
                )
            ),
            nullable=False,
        ),
    ]
)


def supersede(folder: Path, customers: set[tuple[str, str]]) -> None:
    """Publishes a version without the events of customers, given by account and `opportunityId`, which stay in their files."""
    manifest = json.loads(max(folder.glob("manifest-*.json")).read_text())
    vectors = []
    for path in sorted(folder.glob("events/*.parquet")):
        rows, row_groups, first = BitMap(), [], 0
        file = pyarrow.parquet.ParquetFile(path)
        for number in range(file.num_row_groups):
            events = file.read_row_group(number, columns=["account", "opportunityId", "date"]).to_pylist()
            gone = [(event["account"], event["opportunityId"]) in customers for event in events]
            rows.update(first + at for at, is_gone in enumerate(gone) if is_gone)
            left = [event["date"] for event, is_gone in zip(events, gone, strict=True) if not is_gone]
            if any(gone):
                days = {"firstDay": min(left, default=None), "lastDay": max(left, default=None)}
                row_groups.append({"number": number, **days})
            first += len(events)
        if rows:
            rows.run_optimize()
            name = f"events/{path.name}"
            vectors.append({"path": name, "rows": len(rows), "bitmap": rows.serialize(), "rowGroups": row_groups})
    stored = folder / "vectors" / f"vectors-{manifest['version'] + 1}.parquet"
    stored.parent.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(vectors, SCHEMA), stored, compression="none", use_dictionary=False)

    data = stored.read_bytes()
    entry = {
        "path": f"vectors/{stored.name}",
        "size": len(data),
        "rows": len(vectors),
        "blake3": blake3(data).hex(),
        "blocks": block_sums(data),
    }
    manifest["version"] += 1
    manifest["commit"]["time"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    manifest["deletionVectors"] = [*manifest.get("deletionVectors", []), entry]
    del manifest["blake3"]
    text = json.dumps(manifest, indent=2)
    checksum = blake3(text.encode()).hex()
    text = text.removesuffix("\n}") + f',\n  "blake3": "{checksum}"\n}}\n'
    (folder / f"manifest-{manifest['version']:08}.json").write_text(text)
