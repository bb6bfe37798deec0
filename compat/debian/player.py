"""RocksDB 9.8.4 (the wheel rocksdict) takes turns at databases, as it is told on standard input.

Both ways go messages: a length (u64 LE), then rows as in row_format.py. The key of a message's first row is a command, or
"ok" or "error" in an answer; the rest depends on it.

What rocksdict lacks is done by what is equal in effect: a merge by a put of the value that comes of it, a single deletion
by a deletion, the deletion of files by nothing but the deletion of the range. Iterators of a snapshot show what is newer
(a bug of rocksdict's), so its rows are looked up one by one. Options are those of the OPTIONS file.
"""

import json
import os
import re
import struct
import sys

import row_format
from rocksdict import (
    BottommostLevelCompaction,
    Checkpoint,
    CompactOptions,
    IngestExternalFileOptions,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

LAST_LEVELS = {
    b"Skip": BottommostLevelCompaction.skip,
    b"IfFilter": BottommostLevelCompaction.if_have_compaction_filter,
    b"Rewrite": BottommostLevelCompaction.force,
}


def receive():
    length = sys.stdin.buffer.read(8)
    if len(length) < 8:
        return None
    data = sys.stdin.buffer.read(*struct.unpack("<Q", length))
    return row_format.decode(data)


def send(message):
    data = row_format.encode(message)
    sys.stdout.buffer.write(struct.pack("<Q", len(data)) + data)
    sys.stdout.buffer.flush()


def total_order():
    options = ReadOptions()
    options.set_total_order_seek(True)
    return options


def newest_options(path):
    names = [name for name in os.listdir(path) if re.fullmatch(r"OPTIONS-\d+", name)]
    with open(os.path.join(path, max(names))) as file:
        return file.read()


class Player:
    """A database that is open. Families are called by their names."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "rocksdict-config.json"), "w") as config:
            json.dump({"raw_mode": True, "prefix_extractors": {}}, config)
        options, of_families = Options.load_latest(path)
        self.db = Rdict(path, options, column_families=of_families)
        self.families = {name.encode(): self.db.get_column_family(name) for name in of_families}
        self.snapshots = {}
        # Where logs are recycled, RocksDB 9 has no writes without one.
        self.needs_log = "recycle_log_file_num=0" not in newest_options(path)

    def slots(self, _):
        return [(name, b"") for name in self.families]

    def close(self, _):
        self.snapshots.clear()
        for family in self.families.values():
            family.close()
        self.db.close()

    def write(self, args):
        options = WriteOptions()
        options.sync = args[0][1] == b"Synced"
        options.disable_wal = args[0][1] == b"Unlogged" and not self.needs_log
        handles = {name: self.db.get_column_family_handle(name.decode()) for name in self.families}
        batch = WriteBatch(raw_mode=True)
        # Two rows a change: operation and family, key and value.
        for (operation, name), (key, value) in zip(args[1::2], args[2::2]):
            if operation == b"put":
                batch.put(key, value, handles[name])
            elif operation == b"merge":
                # What stands in the batch counts.
                self.db.write(batch, options)
                batch = WriteBatch(raw_mode=True)
                before = self.families[name].get(key)
                batch.put(key, value if before is None else before + b"," + value, handles[name])
            elif operation == b"delete":
                batch.delete(key, handles[name])
            else:
                batch.delete_range(key, value, handles[name])
        self.db.write(batch, options)

    def sync_log(self, _):
        self.db.flush_wal(True)

    def flush(self, args):
        for name, _ in args:
            self.families[name].flush()

    def compact(self, args):
        (name, last_level), (has_from, start), (has_to, end) = args
        options = CompactOptions()
        options.set_bottommost_level_compaction(LAST_LEVELS[last_level]())
        bounds = (start if has_from else None, end if has_to else None)
        self.families[name].compact_range(*bounds, options)

    def ingest(self, args):
        for name, path in args:
            self.families[name].ingest_external_file([path.decode()])

    def ingest_behind(self, args):
        (name, _), *paths = args
        options = IngestExternalFileOptions()
        options.set_ingest_behind(True)
        self.families[name].ingest_external_file([path.decode() for path, _ in paths], options)

    def snapshot(self, args):
        # Nobody writes between one family and the next.
        self.snapshots[args[0][0]] = {
            name: (family.snapshot(), self.keys(family)) for name, family in self.families.items()
        }

    def release(self, args):
        self.snapshots.pop(args[0][0], None)

    def create(self, args):
        _, of_families = Options.load_latest(self.path)
        name = args[0][0]
        self.families[name] = self.db.create_column_family(name.decode(), of_families["default"])

    def drop(self, args):
        name = args[0][0]
        for seen in self.snapshots.values():
            seen.pop(name, None)
        self.families.pop(name).close()
        self.db.drop_column_family(name.decode())

    def checkpoint(self, args):
        Checkpoint(self.db).create_checkpoint(args[0][0].decode())

    def keys(self, family):
        return list(family.keys(read_opt=total_order()))

    def look_up(self, snapshot, key):
        try:
            return snapshot[key]
        except Exception as error:
            assert "key not found" in str(error), error
            return None

    def rows(self, args):
        (name, number), (backward, _) = args
        backward = backward == b"backward"
        if number:
            # Those that were there, and those that are there now.
            snapshot, keys = self.snapshots[number][name]
            later = [key for key in self.keys(self.families[name]) if key not in set(keys)]
            rows = [(key, self.look_up(snapshot, key)) for key in keys + later]
            rows = [(key, value) for key, value in rows if value is not None]
            return rows[::-1] if backward else rows
        return self.families[name].items(backwards=backward, read_opt=total_order())

    def get(self, args):
        (name, number), *keys = args
        if number:
            snapshot, _ = self.snapshots[number][name]
            values = [self.look_up(snapshot, key) for key, _ in keys]
        else:
            values = self.families[name].get([key for key, _ in keys])
        return [(b"-", b"") if value is None else (b"+", value) for value in values]

    def floor(self, args):
        (name, key), = args
        rows = self.families[name].iter(total_order())
        rows.seek_for_prev(key)
        return [(rows.key(), rows.value())] if rows.valid() else []

    def check_itself(self, _):
        for family in self.families.values():
            errors = family.property_int_value("rocksdb.background-errors")
            assert errors == 0, f"{errors} background errors"


def main():
    player = None
    while (message := receive()) is not None:
        (command, argument), *args = message
        try:
            if command == b"open":
                player, answer = Player(argument.decode()), None
            else:
                answer = getattr(player, command.decode())(args)
            if command == b"close":
                player = None
            send([(b"ok", b""), *(answer or [])])
        except Exception as error:  # rocksdict raises plain Exception
            send([(b"error", f"{command.decode()}: {error!r}".encode())])


main()
