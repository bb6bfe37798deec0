"""Opens databases with RocksDB 9.8.4 (the wheel rocksdict) and prints the rows of some of their column families.

usage: open.py scan|compact DIR FAMILY...    one row a line: place of the family, tab, key, tab, value, in hexadecimal
"""

import sys

from rocksdict import AccessType, Options, Rdict


def main() -> None:
    command, path, *names = sys.argv[1:]
    options = Options(raw_mode=True)
    families = {name: options for name in Rdict.list_cf(path, options)}
    db = Rdict(path, options, column_families=families, access_type=AccessType.read_write())
    opened = [db.get_column_family(name) for name in names]
    for place, family in enumerate(opened):
        if command == "compact":
            family.compact_range(None, None)
        for key, value in family.items():
            print(f"{place}\t{key.hex()}\t{value.hex()}")
        family.close()
    db.close()


main()
