"""Reads keys of db_bench at random through a HyperClock cache of RocksDB 9.8.4 (the wheel rocksdict) whose table grows.

usage: growing.py DIR CACHE_BYTES KEYS LOOKUPS SEED
Prints misses of filter, index and data blocks after LOOKUPS lookups, and after as many again.
"""

import random
import re
import sys

from rocksdict import BlockBasedOptions, Cache, Options, Rdict


def main() -> None:
    path, (cache_bytes, keys, lookups, seed) = sys.argv[1], map(int, sys.argv[2:])
    table = BlockBasedOptions()
    # An estimate of 0 stands for a table that grows.
    table.set_block_cache(Cache.new_hyper_clock_cache(cache_bytes, 0))
    table.set_cache_index_and_filter_blocks(True)
    table.set_bloom_filter(10, False)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    options.set_disable_auto_compactions(True)
    options.enable_statistics()
    db = Rdict(path, options, column_families={"default": options})
    draw = random.Random(seed)
    for _ in range(2):
        for _ in range(lookups):
            number = draw.randrange(keys)
            assert db.get(number.to_bytes(8, "big") + b"0" * 8) is not None, number
        statistics = options.get_statistics()
        misses = [re.search(rf"rocksdb\.block\.cache\.{role}\.miss COUNT : (\d+)", statistics) for role in ("filter", "index", "data")]
        print(*(int(miss.group(1)) for miss in misses))
    db.close()


main()
