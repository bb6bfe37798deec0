// Databases that are written, read, compacted and opened by the database benchmark, through RocksDB's public classes
// behind a C interface. The loops run on this side, so that a benchmark charges RocksDB for its own work only.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"

using namespace ROCKSDB_NAMESPACE;

namespace {

constexpr size_t kKeyLen = 16;

bool Fails(const Status& status, char* error, size_t error_len) {
  if (status.ok()) return false;
  std::strncpy(error, status.ToString().c_str(), error_len - 1);
  error[error_len - 1] = 0;
  return true;
}

DB* Db(void* database) { return static_cast<DB*>(database); }

Slice Key(const uint8_t* keys, size_t i) {
  return Slice(reinterpret_cast<const char*>(keys) + i * kKeyLen, kKeyLen);
}

Slice Value(const uint8_t* values, size_t value_len, size_t i) {
  return Slice(reinterpret_cast<const char*>(values) + i * value_len, value_len);
}

}  // namespace

extern "C" {

// As `rocks_database.rs` has it.
struct DatabaseShimOptions {
  uint64_t cache_bytes;
  uint64_t write_buffer_bytes;
  uint64_t file_bytes;
  uint64_t block_bytes;
  bool auto_compactions;
};

// Opens a database, creating it if it is not there. What is not named here is RocksDB's default.
void* database_shim_open(const char* path, const DatabaseShimOptions* shape, char* error, size_t error_len) {
  BlockBasedTableOptions table;
  table.block_size = shape->block_bytes;
  table.format_version = 5;
  table.filter_policy.reset(NewBloomFilterPolicy(10, false));
  table.block_cache = HyperClockCacheOptions(shape->cache_bytes, 0).MakeSharedCache();
  table.cache_index_and_filter_blocks = true;
  Options options;
  options.create_if_missing = true;
  options.compression = kLZ4Compression;
  options.write_buffer_size = shape->write_buffer_bytes;
  options.target_file_size_base = shape->file_bytes;
  options.max_background_jobs = 2;
  options.max_subcompactions = 1;
  options.max_open_files = -1;
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  if (!shape->auto_compactions) {
    options.disable_auto_compactions = true;
    options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1 << 20;
    options.soft_pending_compaction_bytes_limit = options.hard_pending_compaction_bytes_limit = 0;
  }
  std::unique_ptr<DB> db;
  if (Fails(DB::Open(options, path, &db), error, error_len)) return nullptr;
  return db.release();
}

void database_shim_close(void* database) { delete Db(database); }

// Puts `n` records: as one batch, or each by itself.
bool database_shim_write(void* database, const uint8_t* keys, const uint8_t* values, size_t value_len, size_t n,
                         bool one_batch, bool log, char* error, size_t error_len) {
  WriteOptions options;
  options.disableWAL = !log;
  Status status;
  if (one_batch) {
    WriteBatch batch;
    for (size_t i = 0; i < n && status.ok(); ++i) status = batch.Put(Key(keys, i), Value(values, value_len, i));
    if (status.ok()) status = Db(database)->Write(options, &batch);
  } else {
    for (size_t i = 0; i < n && status.ok(); ++i) {
      status = Db(database)->Put(options, Key(keys, i), Value(values, value_len, i));
    }
  }
  return !Fails(status, error, error_len);
}

// Looks `n` keys up; `*found` counts those that are there.
bool database_shim_get(void* database, const uint8_t* keys, size_t n, uint64_t* found, char* error,
                       size_t error_len) {
  DB* db = Db(database);
  ColumnFamilyHandle* family = db->DefaultColumnFamily();
  const ReadOptions options;
  PinnableSlice value;
  *found = 0;
  for (size_t i = 0; i < n; ++i) {
    value.Reset();
    const Status status = db->Get(options, family, Key(keys, i), &value);
    if (status.IsNotFound()) continue;
    if (Fails(status, error, error_len)) return false;
    *found += 1;
  }
  return true;
}

// Walks over all rows; `*rows` counts them, `*sum` adds the last bytes of keys and values.
bool database_shim_scan(void* database, bool reverse, uint64_t* rows, uint64_t* sum, char* error, size_t error_len) {
  const std::unique_ptr<Iterator> iter(Db(database)->NewIterator(ReadOptions()));
  *rows = *sum = 0;
  const auto take = [&] {
    const Slice key = iter->key(), value = iter->value();
    *rows += 1;
    *sum += uint8_t(key[key.size() - 1]) + uint64_t{uint8_t(value[value.size() - 1])};
  };
  if (reverse) {
    for (iter->SeekToLast(); iter->Valid(); iter->Prev()) take();
  } else {
    for (iter->SeekToFirst(); iter->Valid(); iter->Next()) take();
  }
  return !Fails(iter->status(), error, error_len);
}

// Flushes, and waits until no compaction is due.
bool database_shim_settle(void* database, char* error, size_t error_len) {
  WaitForCompactOptions options;
  options.flush = true;
  return !Fails(Db(database)->WaitForCompact(options), error, error_len);
}

bool database_shim_flush(void* database, char* error, size_t error_len) {
  return !Fails(Db(database)->Flush(FlushOptions()), error, error_len);
}

bool database_shim_compact(void* database, char* error, size_t error_len) {
  return !Fails(Db(database)->CompactRange(CompactRangeOptions(), nullptr, nullptr), error, error_len);
}

// Has the operating system forget the contents of the directory's files.
bool database_shim_forget(const char* path) {
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const int fd = open(entry.path().c_str(), O_RDONLY);
    if (fd < 0) return false;
    const bool done = fdatasync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    close(fd);
    if (!done) return false;
  }
  return true;
}

}  // extern "C"
