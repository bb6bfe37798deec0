"""Opens databases with RocksDB 9.8.4 (the wheel rocksdict) and prints the rows of their default families.

usage: open.py scan|compact DIR    one row a line: key, tab, value, in hexadecimal
"""

import sys

from rocksdict import AccessType, Options, Rdict


def main() -> None:
    command, path = sys.argv[1:]
    options = Options(raw_mode=True)
    families = {name: options for name in Rdict.list_cf(path, options)}
    db = Rdict(path, options, column_families=families, access_type=AccessType.read_write())
    if command == "compact":
        db.compact_range(None, None)
    for key, value in db.items():
        print(f"{key.hex()}\t{value.hex()}")
    db.close()


main()
