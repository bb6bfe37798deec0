"""Makes the base directory of RocksDB 9.8.4 (the wheel rocksdict): two families, tables on two levels with range tombstones, a log
that is needed, and the LOG.

usage: make_rocksdb_9_8_4.py DIR    leaves DIR/db as a kill would; then: tar --zstd -cf rocksdb-9.8.4.tar.zst -C DIR db
"""

import shutil
import sys

from rocksdict import BlockBasedIndexType, BlockBasedOptions, DBCompressionType, Options, Rdict

FAMILIES = ("default", "more")


def options(partitioned):
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_write_buffer_size(1 << 20)
    options.set_target_file_size_base(1 << 10)
    options.set_disable_auto_compactions(True)
    table = BlockBasedOptions()
    table.set_block_size(256)
    table.set_bloom_filter(10, False)
    table.set_format_version(6 if partitioned else 5)
    if partitioned:
        table.set_metadata_block_size(64)
        table.set_index_type(BlockBasedIndexType.two_level_index_search())
        table.set_partition_filters(True)
    options.set_block_based_table_factory(table)
    options.set_compression_type(
        DBCompressionType.lz4() if partitioned else DBCompressionType.none()
    )
    return options


def put(families, round):
    for name, family in families:
        for number in range(round % 3, 24, 1 + round % 3):
            key = f"key{number:02}"
            value = f"{name}/{key}/{round}/" + "x" * (number + round)
            family.put(key.encode(), value.encode())


def main():
    holder = sys.argv[1]
    path = f"{holder}/open"
    of_families = {"default": options(False), "more": options(True)}
    db = Rdict(path, options(False), column_families=of_families)
    families = [(name, db.get_column_family(name)) for name in FAMILIES]
    put(families, 0)
    for _, family in families:
        family.flush()
        family.compact_range(None, None)
    put(families, 1)
    for _, family in families:
        family.delete(b"key04")
        family.delete_range(b"key10", b"key13")
        family.flush()
    put(families, 2)
    families[0][1].flush()
    put(families, 4)
    for _, family in families:
        family.delete(b"key20")
        family.delete_range(b"key15", b"key17")
    db.flush_wal(True)
    leave_out = shutil.ignore_patterns("LOCK", "rocksdict-config.json")
    shutil.copytree(path, f"{holder}/db", ignore=leave_out)


main()
