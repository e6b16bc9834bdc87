#!/usr/bin/env python3
"""Compares the encodings of the columns of event files with the alternatives in Parquet; README.md explains how.

Each column is taken from whole event files of a dataset, in their order, and written alone in row groups of the same rows, one page
each, in every encoding of its type and with every compression. One reader (pyarrow, one thread, from memory) reads the original and all
alternatives; texts that trueup writes with a dictionary are read into codes, because a scan needs codes.
"""

import argparse
import os
import platform
import statistics
import time

import compare

COMPRESSIONS = ["none", "lz4", "zstd"]
NUMBERS = ["PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
TEXTS = ["PLAIN", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]

# Larger than any row group or page.
NO_LIMIT = 1 << 30

# Figures that differ by less than this factor count as equal.
NOISE = 1.03


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("--files", type=int, default=1, help="how many event files to take, spread over all")
    parser.add_argument("--column", action="append", help="compare only this column; repeat the option for several")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--bandwidth", type=float, default=1.0, help="GB a second at which bytes are read and checked")
    parser.add_argument("--all", action="store_true", help="show every alternative, cheapest first")
    parser.add_argument("--work", default=os.path.join(compare.ROOT, "target", "peers"), help="where the environment is kept")
    return parser.parse_args()


class Written:
    """A column in some files: its encoding, its bytes per event, and the times of reading it in nanoseconds per event. With
    `into_codes`, texts are read into codes, otherwise as they are."""

    def __init__(self, name, files, into_codes):
        import pyarrow.parquet as pq

        self.name = name
        self.footers = [pq.read_metadata(file) for file in files]
        at = self.footers[0].schema.names.index(name)
        groups = [(footer, group) for footer in self.footers for group in range(footer.num_row_groups)]
        self.chunks = [footer.row_group(group).column(at) for footer, group in groups]
        self.rows = sum(footer.num_rows for footer in self.footers)
        self.bytes = sum(chunk.total_compressed_size for chunk in self.chunks) / self.rows
        self.times = []
        # The reader turns texts in these encodings into codes by itself.
        is_coded = into_codes and {"RLE_DICTIONARY", "PLAIN"} >= {encoding_of(chunk) for chunk in self.chunks}
        self.is_coded_after = into_codes and not is_coded
        coded = [name] if is_coded else None
        self.files = [pq.ParquetFile(file, metadata=footer, read_dictionary=coded) for file, footer in zip(files, self.footers)]

    def shown(self):
        ways = {f"{encoding_of(chunk)} {compression_of(chunk)}" for chunk in self.chunks}
        return ", ".join(sorted(ways))

    def read(self):
        for file in self.files:
            column = file.read_row_groups(list(range(file.num_row_groups)), columns=[self.name], use_threads=False).column(0)
            yield column.dictionary_encode() if self.is_coded_after else column

    def time(self):
        begun = time.process_time_ns()
        for _ in self.read():
            pass
        self.times.append((time.process_time_ns() - begun) / self.rows)

    def nanoseconds(self):
        return statistics.median(self.times)

    def cells(self):
        return [self.shown(), f"{self.bytes:.2f}", f"{self.nanoseconds():.1f}"]

    def cost(self, bandwidth):
        """Returns the nanoseconds per event for decoding and for transferring the bytes; `bandwidth` is in GB a second."""
        return self.nanoseconds() + self.bytes / bandwidth


def encoding_of(chunk):
    """Returns the encoding of a column chunk's values."""
    # Levels are RLE; the texts of a dictionary are PLAIN.
    values = [encoding for encoding in chunk.encodings if encoding != "RLE"]
    return "RLE_DICTIONARY" if "RLE_DICTIONARY" in values else values[0]


def compression_of(chunk):
    return "none" if chunk.compression == "UNCOMPRESSED" else chunk.compression.lower()


def alternatives(name, tables, rows, into_codes):
    """Writes the column in every encoding that its type allows; `rows` are the rows per row group, by file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    is_text = pa.types.is_string(tables[0].schema.field(name).type)
    for encoding in TEXTS if is_text else NUMBERS:
        for compression in COMPRESSIONS:
            files = []
            for table, groups in zip(tables, rows):
                sink = pa.BufferOutputStream()
                is_dictionary = encoding == "RLE_DICTIONARY"
                way = {
                    "compression": compression,
                    "compression_level": 1 if compression == "zstd" else None,
                    "use_dictionary": is_dictionary,
                    "column_encoding": None if is_dictionary else {name: encoding},
                    "store_decimal_as_integer": True,
                    "dictionary_pagesize_limit": NO_LIMIT,
                    "data_page_size": NO_LIMIT,
                    "max_rows_per_page": NO_LIMIT,
                }
                column = table.select([name])
                with pq.ParquetWriter(sink, column.schema, **way) as writer:
                    start = 0
                    for count in groups:
                        writer.write_table(column.slice(start, count), row_group_size=count)
                        start += count
                files.append(sink.getvalue())
            yield Written(name, files, into_codes)


def compare_encodings(name, files, tables, options):
    """Returns the column as trueup wrote it, and its alternatives from the cheapest on, all checked and then timed in turns."""
    ours = Written(name, files, into_codes=False)
    into_codes = all(encoding_of(chunk) == "RLE_DICTIONARY" for chunk in ours.chunks)
    into_codes = into_codes and ours.chunks[0].physical_type == "BYTE_ARRAY"
    ours = Written(name, files, into_codes)
    rows = [[footer.row_group(group).num_rows for group in range(footer.num_row_groups)] for footer in ours.footers]
    others = list(alternatives(name, tables, rows, into_codes))
    for written in [ours, *others]:
        for table, found in zip(tables, written.read()):
            expected = table.column(name)
            assert found.cast(expected.type).equals(expected), f"{name} in {written.shown()} reads otherwise"
    for _ in range(options.rounds):
        for written in [ours, *others]:
            written.time()
    for other in others:
        # Takes the times of an equal copy alone in a file, because the footer of a file with many columns takes a little time per
        # row group.
        if other.shown() == ours.shown() and ours.bytes / NOISE < other.bytes < ours.bytes * NOISE:
            ours.times = other.times
    others.sort(key=lambda written: written.cost(options.bandwidth))
    return ours, others


def line(ours, others):
    """Returns a row of the table in Markdown: ours, the cheapest alternative, and the cheapest that is smaller and no slower."""
    others = [other for other in others if other.shown() != ours.shown()]
    is_better = lambda other: other.bytes * NOISE < ours.bytes and other.nanoseconds() < ours.nanoseconds() * NOISE
    better = next(filter(is_better, others), None)
    cells = [ours.name, *ours.cells(), *others[0].cells(), "" if better is None else ", ".join(better.cells())]
    return f"| {' | '.join(cells)} |"


def main():
    options = arguments()
    compare.enter_environment(os.path.abspath(options.work))
    import pyarrow as pa
    import pyarrow.parquet as pq
    import tables

    paths = tables.files(options.dataset, "events")
    # Divides the files into `options.files` equal parts, and takes the file in the middle of each.
    taken = paths[len(paths) // (2 * options.files) :: max(1, len(paths) // options.files)][: options.files]
    files = [pa.py_buffer(open(path, "rb").read()) for path in taken]
    contents = [pq.read_table(pa.BufferReader(file)) for file in files]
    names = options.column or contents[0].schema.names
    groups = sum(pq.read_metadata(pa.BufferReader(file)).num_row_groups for file in files)
    print(f"{sum(table.num_rows for table in contents):,} events in {groups} row groups of {len(files)} of {len(paths)} files; "
          f"{platform.machine()}, pyarrow {pa.__version__}; bytes and nanoseconds of one thread per event")  # fmt: skip
    print("\n| column | written as | bytes | ns | cheapest other | bytes | ns | smaller and no slower |")
    print("|---|---|---:|---:|---|---:|---:|---|")
    for name in names:
        ours, others = compare_encodings(name, files, contents, options)
        print(line(ours, others), flush=True)
        for written in others if options.all else []:
            print(f"| | | | | {' | '.join(written.cells())} | |", flush=True)


if __name__ == "__main__":
    main()
