"""Makes the files of this folder. README.md says what they are for.

Needs Python 3 with pyarrow and openpyxl, and the program zstd. The files are committed; run this only to add some.
"""

import bz2
import datetime
import gzip
import io
import json
import subprocess
import zipfile
from pathlib import Path

import openpyxl
import pyarrow
import pyarrow.parquet

HERE = Path(__file__).parent
HEADER = ["account", "opportunityId", "type", "date", "eventId", "total", "city"]
ROWS = [
    ["acme", "1", "lead-originated", "2025-01-30", "e1", "", "Zürich"],
    ["acme", "1", "sold", "2025-02-03", "e2", "1250.50", "Zürich"],
    ["bolt", "7", "booked", "2025-02-04", "e3", "", "Austin, TX"],
]


def write(name, content):
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def delimited(separator, rows=ROWS):
    cell = lambda text: f'"{text}"' if separator in text or "," in text else text
    return "".join(separator.join(map(cell, row)) + "\n" for row in [HEADER, *rows])


def objects():
    return [{name: cell for name, cell in zip(HEADER, row) if cell} for row in ROWS]


def zipped(name, text):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr(zipfile.ZipInfo(name), text)
    return archive.getvalue()


def zstd(text):
    return subprocess.run(["zstd", "-q", "-19", "-c"], input=text.encode(), capture_output=True, check=True).stdout


def text_files():
    csv = delimited(",")
    ndjson = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects())
    write("events.csv.gz", gzip.compress(csv.encode(), mtime=0))
    write("events.csv.zst", zstd(csv))
    write("events.csv.bz2", bz2.compress(csv.encode()))
    write("events.zip", zipped("events.csv", csv))
    write("events.ndjson.gz", gzip.compress(ndjson.encode(), mtime=0))
    write("events.ndjson.zst", zstd(ndjson))
    write("events.ndjson.bz2", bz2.compress(ndjson.encode()))
    # Two members, as `cat a.gz b.gz` writes them.
    half = len(csv) // 2
    write("two-members.csv.gz", b"".join(gzip.compress(part.encode(), mtime=0) for part in (csv[:half], csv[half:])))
    write("cut-short.csv.gz", gzip.compress(csv.encode(), mtime=0)[:-20])
    write("not-compressed.csv.gz", csv)
    write("bomb.csv.zst", bomb())
    write("tab.tsv", delimited("\t"))
    write("tab.txt", delimited("\t"))
    write("semicolon.csv", delimited(";"))
    write("bar.csv", delimited("|"))
    for name, encoding in [("utf-16le", "utf-16-le"), ("utf-16be", "utf-16-be"), ("windows-1252", "cp1252")]:
        write(f"{name}.csv", csv.encode(encoding))
    write("utf-16-mark.csv", csv.encode("utf-16"))
    write("utf-8-mark.csv", csv.encode("utf-8-sig"))


def json_files():
    """The same objects as a list, as most programs write them."""
    compact, pretty = json.dumps(objects(), separators=(",", ":")), json.dumps(objects(), indent=2, ensure_ascii=False)
    write("list.json", compact)
    write("list-on-many-lines.json", pretty + "\n")
    write("list.json.gz", gzip.compress(pretty.encode(), mtime=0))
    write("lines.json", "".join(json.dumps(one) + "\n" for one in objects()))
    write("cut-short.json", compact[:-1])
    write("comma-at-the-end.json", compact[:-1] + ",]")
    write("two-lists.json", compact + "\n" + compact)
    write("not-an-object.json", compact[:-1] + ",\n 7]")


def bomb():
    """Rows that are all the same: 300 MB in a few kilobytes."""
    make = ["sh", "-c", "(echo account,opportunityId,type,date; yes acme,1,sold,2025-02-03 | head -c 300000000) | zstd -q -19 -c"]
    return subprocess.run(make, capture_output=True, check=True).stdout


def folders():
    """One event in each file, in folders as object stores have them."""
    for month, row in zip(["2025-01", "2025-02", "2025-02"], ROWS):
        write(f"folder/{month}/{row[4]}.csv", delimited(",", [row]))
    write("folder/_SUCCESS", "")
    write("folder/.hidden.csv", "not,read")
    write("other-files/events.csv", delimited(","))
    write("other-files/notes.md", "Not a table.")


def hive():
    """The account and the date are in the names of the folders alone."""
    for row in ROWS:
        rest = [row[at] for at in (1, 2, 4, 5, 6)]
        name = f"hive/account={row[0]}/date={row[3].replace('-', '%2D')}/{row[4]}"
        table = {"opportunityId": [row[1]], "type": [row[2]], "eventId": [row[4]], "total": [row[5]], "city": [row[6]]}
        kinds = {
            "acme": lambda: write(f"{name}.csv", "opportunityId,type,eventId,total,city\n" + ",".join(rest) + "\n"),
            "bolt": lambda: write_parquet(f"{name}.parquet", pyarrow.table(table)),
        }
        kinds[row[0]]()
    lines = json.dumps({"opportunityId": "7", "type": "booked", "city": "x", "note": {"nested": 1}}) + "\n"
    write("hive-ndjson/account=bolt/date=2025-02-04/day=__HIVE_DEFAULT_PARTITION__/events.ndjson", lines)
    write("hive-twice/account=acme/events.csv", delimited(",", ROWS[:1]))


def table():
    return {name: [row[at] or None for row in ROWS] for at, name in enumerate(HEADER)}


def write_parquet(name, table, **options):
    (HERE / name).parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, HERE / name, **options)


def parquet_files():
    for codec in ["brotli", "gzip", "lz4", "snappy", "zstd", "none"]:
        write_parquet(f"{codec}.parquet", pyarrow.table(table()), compression=codec)
    uuids = pyarrow.array([bytes(range(16)), None, bytes(16)], pyarrow.uuid())
    times = pyarrow.array([datetime.time(9, 5), datetime.time(23, 59, 59, 250000), None], pyarrow.time64("us"))
    write_parquet("uuid-and-time.parquet", pyarrow.table({**table(), "visit": uuids, "called": times}))
    unfit = {"photo": pyarrow.array([b"x", b"y", None], pyarrow.binary()), "tags": pyarrow.array([["a"], [], None])}
    unfit["address"] = pyarrow.array([{"zip": "02134"}, None, None])
    write_parquet("unfit.parquet", pyarrow.table({**unfit, **table()}))


def mixed_sheet():
    """Dates and amounts, some of which the sheet has as text."""
    book = openpyxl.Workbook()
    rows = [
        ["id", "day", "sum"],
        [1, "13.04.2024", 1234.5],
        [2, datetime.date(2024, 4, 5), "€ 1.234,50"],
        [3, datetime.datetime(2024, 4, 6, 9, 30), 1000],
        [4, "14.04.2024", "99,99"],
    ]
    for row in rows:
        book.active.append(row)
    book.save(HERE / "mixed.xlsx")


if __name__ == "__main__":
    text_files()
    mixed_sheet()
    json_files()
    folders()
    hive()
    parquet_files()
