"""Prints properties of a database's column families as RocksDB 9.8.4 (the wheel rocksdict) answers them.

usage: properties.py DIR NAME...    one answer a line: family, tab, name, tab, answer
"""

import sys

from rocksdict import AccessType, Options, Rdict


def main() -> None:
    path, names = sys.argv[1], sys.argv[2:]
    options = Options(raw_mode=True)
    families = {name: options for name in Rdict.list_cf(path, options)}
    db = Rdict(path, options, column_families=families, access_type=AccessType.read_only())
    for family in families:
        column = db.get_column_family(family)
        for name in names:
            answer = column.property_value(name)
            print(f"{family}\t{name}\t{'none' if answer is None else answer.splitlines()[0]}")


main()
