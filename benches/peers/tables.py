"""The tables that peers hold in memory, built once from the dataset's files, with what can be computed before a range is known."""

import glob
import hashlib
import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

STAGES = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"]

# The number of an event's stage, in SQL.
STAGE_NUMBER = "CASE type " + " ".join(f"WHEN '{name}' THEN {stage}" for stage, name in enumerate(STAGES)) + " END"

# Texts that the suite reads and that repeat often; they are held as dictionaries. The suite also reads `opportunityId`,
# but only of one account, in which it hardly repeats.
FEW = [
    "account", "attributionCategory", "attributionChannel", "campaign", "conversionDetailedLabel", "customerStatus",
    "normalizedBusinessUnit", "opportunityAgent", "technician",
]  # fmt: skip

# The day of the next cancellation if there is none: after all other days, in days since 1970-01-01.
NEVER = 65_536


def newest_manifest(dataset):
    """Returns the bytes of the newest manifest."""
    with open(max(glob.glob(os.path.join(dataset, "manifest-*.json"))), "rb") as file:
        return file.read()


def folder_name(dataset):
    """Returns a name for the folder of the tables, which no other dataset and no other version of this one has."""
    name = os.path.basename(dataset)
    digest = hashlib.sha256(name.encode() + newest_manifest(dataset)).hexdigest()
    return f"tables-{name}-{digest[:12]}"


def files(dataset, table):
    """Returns the files of a table that the newest manifest names, itself or in lists of files (docs/format.md), sorted by path."""
    manifest = json.loads(newest_manifest(dataset))
    if table in manifest["lists"]:
        paths = [path for one in manifest["lists"][table] for path in listed(dataset, one)]
    else:
        paths = [entry["path"] for entry in manifest[table]]
    assert paths, f"no files of {table}"
    return sorted(os.path.join(dataset, path) for path in paths)


def listed(dataset, one):
    """Returns the files of a list, without what the version no longer has."""
    paths = pq.read_table(os.path.join(dataset, one["file"]["path"]), columns=["path"]).column(0).to_pylist()
    removed = set(one.get("removed", ()))
    return [path for number, path in enumerate(paths) if number not in removed]


def numbered(dataset):
    """Yields for each file of events its path, what to add to its customer numbers, and the number of its first row. Rows count from 1."""
    customers = rows = 0
    for path in files(dataset, "events"):
        yield path, customers, rows + 1
        rows += pq.ParquetFile(path).metadata.num_rows
        numbers = pq.read_table(path, columns=["trueup.customer"]).column(0)
        customers += pc.max(numbers).as_py() + 1


def micros(amounts):
    """Returns decimals with at most six digits after the point as whole millionths."""
    narrow = amounts.combine_chunks().cast(pa.decimal128(19, 6))
    # The low half of a 128-bit decimal, because all amounts fit into 64 bits.
    halves = np.frombuffer(narrow.buffers()[1], np.int64)[2 * narrow.offset : 2 * (narrow.offset + len(narrow))]
    return pa.array(halves[::2], mask=np.asarray(narrow.is_null()))


def events(dataset):
    """Returns the events in narrow types, with customer and row numbers, and the columns that do not depend on the range."""
    parts = []
    for path, customer_offset, row_offset in numbered(dataset):
        table = pq.read_table(path, columns=["trueup.customer", "type", "date", "total", "opportunityId", *FEW])
        k = np.asarray(table.column("trueup.customer")).astype(np.int32) + np.int32(customer_offset)
        stage = pc.index_in(table.column("type"), pa.array(STAGES)).combine_chunks()
        columns = {
            "k": pa.array(k),
            "ord": pa.array(np.arange(row_offset, row_offset + table.num_rows, dtype=np.int32)),
            "stage": stage.cast(pa.int8()),
            "date": table.column("date"),
            "total": micros(table.column("total")),
            "opportunityId": table.column("opportunityId"),
        }
        for name in FEW:
            columns[name] = table.column(name)
        parts.append(pa.table(columns))
    table = pa.concat_tables(parts).combine_chunks()
    for name in FEW:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).dictionary_encode().combine_chunks())
    for name, column in precomputed(table).items():
        table = table.append_column(name, column)
    return table


def precomputed(table):
    """Returns the columns that do not depend on a range. `first`: whether the event is its customer's first. `first_of_stage`: whether it
    is its customer's first of its stage. `reached`: a bit for each stage that the customer ever reaches. `last_cancel`: the number of the
    customer's last cancellation, 0 without one. `next_cancel`: the day of the customer's next cancellation after the event."""
    k, order, stage = (np.asarray(table.column(name)) for name in ("k", "ord", "stage"))
    days = np.asarray(table.column("date").cast(pa.int32()))
    first = np.concatenate([[True], k[1:] != k[:-1]])
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(k)))
    reached = np.repeat(np.bitwise_or.reduceat((1 << stage.astype(np.int64)).astype(np.uint8), starts), lengths)
    last_cancel = np.repeat(np.maximum.reduceat(np.where(stage == 5, order, 0), starts), lengths)
    first_of_stage = np.zeros(len(k), bool)
    for number in range(6):
        at = np.flatnonzero(stage == number)
        if len(at):
            first_of_stage[at[np.concatenate([[True], k[at][1:] != k[at][:-1]])]] = True
    canceled = np.flatnonzero(stage == 5)
    next_cancel = np.full(len(k), NEVER, np.int32)
    if len(canceled):
        place = np.searchsorted(canceled, np.arange(len(k)), side="right")
        follows = canceled[np.minimum(place, len(canceled) - 1)]
        is_own = (place < len(canceled)) & (k[follows] == k)
        next_cancel[is_own] = days[follows[is_own]]
    return {
        "first": pa.array(first),
        "first_of_stage": pa.array(first_of_stage),
        "reached": pa.array(reached.astype(np.int8)),
        "last_cancel": pa.array(last_cancel.astype(np.int32)),
        "next_cancel": pa.array(next_cancel).cast(pa.date32()),
    }


def spend(dataset):
    """Returns the rows of spend, money in millionths."""
    parts = [pq.read_table(path) for path in files(dataset, "spend")]
    table = pa.concat_tables(parts).combine_chunks()
    for name in ("adSpend", "managementFee"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, micros(table.column(name)))
    for name in ("account", "attributionCategory", "attributionChannel", "campaign"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).dictionary_encode().combine_chunks())
    return table


def accounts(dataset):
    return pa.concat_tables([pq.read_table(path) for path in files(dataset, "accounts")])


def write(dataset, folder):
    """Writes the tables as Arrow files unless they exist."""
    os.makedirs(folder, exist_ok=True)
    for name, make in (("events", events), ("spend", spend), ("accounts", accounts)):
        path = os.path.join(folder, name + ".arrow")
        if not os.path.exists(path):
            table = make(dataset)
            with pa.OSFile(path + ".part", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
            os.rename(path + ".part", path)


def read(folder, name):
    """Returns a table that `write` wrote."""
    with pa.memory_map(os.path.join(folder, name + ".arrow")) as file:
        return pa.ipc.open_file(file).read_all()


if __name__ == "__main__":
    write(*sys.argv[1:])
