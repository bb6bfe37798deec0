"""RocksDB 9.8.4's turn (the wheel rocksdict) at a database that others wrote.

usage: turn.py DIR FAMILY...

Standard input holds blocks, one after the other, each with its length before it (u64 LE):
for every family the rows expected now, then the changes to make, then for every family the rows expected after them,
then changes that stay in the log. Rows are those of ingest.py; a change is a row whose key begins with a byte for the
operation (p, d or r) and one for the family's place.
"""

import json
import os
import struct
import sys

from rocksdict import AccessType, Options, Rdict, ReadOptions


def block():
    (length,) = struct.unpack("<Q", sys.stdin.buffer.read(8))
    data = sys.stdin.buffer.read(length)
    rows, at = [], 0
    while at < len(data):
        key_len, value_len = struct.unpack_from("<II", data, at)
        at += 8
        rows.append((data[at : at + key_len], data[at + key_len : at + key_len + value_len]))
        at += key_len + value_len
    return rows


def total_order():
    options = ReadOptions()
    options.set_total_order_seek(True)
    return options


def check(family, expected, when):
    assert list(family.items(read_opt=total_order())) == expected, f"{when}: forward differs"
    backward = list(family.items(backwards=True, read_opt=total_order()))
    assert backward == expected[::-1], f"{when}: backward differs"
    present = dict(expected)
    for key, value in expected:
        assert family.get(key) == value, f"{when}: get {key!r}"
        absent = key + b"\0?"
        assert absent in present or family.get(absent) is None, f"{when}: get {absent!r}"


def change(families, changes):
    for at, (key, value) in enumerate(changes):
        operation, family, key = key[:1], families[key[1]], key[2:]
        if operation == b"p":
            family.put(key, value)
        elif operation == b"d":
            family.delete(key)
        else:
            family.delete_range(key, value)
        if at % 400 == 399:
            family.flush()


def main():
    path, names = sys.argv[1], sys.argv[2:]
    with open(os.path.join(path, "rocksdict-config.json"), "w") as config:
        json.dump({"raw_mode": True, "prefix_extractors": {}}, config)
    options, of_families = Options.load_latest(path)
    db = Rdict(path, options, column_families=of_families, access_type=AccessType.read_write())
    families = [db.get_column_family(name) for name in names]
    for family in families:
        check(family, block(), "before")
    change(families, block())
    after = [block() for _ in families]
    for family, rows in zip(families, after):
        check(family, rows, "after")
        family.compact_range(None, None)
        check(family, rows, "compacted")
    change(families, block())
    for family in families:
        family.close()
    db.close()


main()
