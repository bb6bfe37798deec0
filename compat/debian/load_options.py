"""Opens a database through rocksdict (RocksDB 9.8.4) with the options of its newest OPTIONS file."""

import sys

from rocksdict import Options, Rdict

path = sys.argv[1]
options, families = Options.load_latest(path)
db = Rdict(path, options, column_families=families)
db.close()
