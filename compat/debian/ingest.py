"""Reads tables through rocksdict (RocksDB 9.8.4) and compares them with expected rows.

Each line of standard input names a table and a file of expected rows, separated by a tab. The table is ingested into
a new database, iterated forward and backward, and asked for each key and for keys that are not there, with filters
in use. One line of output answers for each table: "ok <number of rows>" or what is wrong.

Rows are those of row_format.py.
"""

import sys
import tempfile

import row_format
from rocksdict import BlockBasedOptions, Options, Rdict


def read_rows(path):
    with open(path, "rb") as file:
        return row_format.decode(file.read())


def options():
    table = BlockBasedOptions()
    # A policy is needed for filters to be used at all; which one does not matter for reading.
    table.set_bloom_filter(10, False)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    return options


def difference(table, expected):
    with tempfile.TemporaryDirectory() as directory:
        db = Rdict(directory, options())
        try:
            db.ingest_external_file([table])
            if list(db.items()) != expected:
                return "forward iteration differs"
            if list(db.items(backwards=True)) != expected[::-1]:
                return "backward iteration differs"
            for key, value in expected:
                if db.get(key) != value:
                    return f"get of {key.hex()} does not find its value"
            present = {key for key, _ in expected}
            for key in present:
                absent = key + b"\x00?"
                if absent not in present and db.get(absent) is not None:
                    return f"get of {absent.hex()} finds a value"
        finally:
            db.close()
    return None


def main():
    for line in sys.stdin:
        table, rows = line.rstrip("\n").split("\t")
        expected = read_rows(rows)
        try:
            wrong = difference(table, expected)
        except Exception as error:  # rocksdict raises plain Exception
            wrong = str(error).replace("\n", " ")
        print(wrong or f"ok {len(expected)}", flush=True)


main()
