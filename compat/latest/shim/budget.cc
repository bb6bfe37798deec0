// A database with a bookie's settings through RocksDB's public classes, behind a C interface: filled and shaped once,
// then read with a block cache of a given budget. The loops run on this side, so that a benchmark charges RocksDB for
// its own work only.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "rocksdb/write_batch.h"

#include "charged.h"

using namespace ROCKSDB_NAMESPACE;

namespace {

constexpr size_t kKeyLen = 16;
constexpr size_t kValueLen = 8;
constexpr size_t kFileBytes = 64 << 20;

bool Fails(const Status& status, char* error, size_t error_len) {
  if (status.ok()) return false;
  std::strncpy(error, status.ToString().c_str(), error_len - 1);
  error[error_len - 1] = 0;
  return true;
}

// What a bookie writes its entry locations with; `partitioned` is the one thing that it may choose.
Options BookieOptions(bool partitioned, BlockBasedTableOptions* table) {
  Options options;
  options.compression = kLZ4Compression;
  options.target_file_size_base = kFileBytes;
  table->block_size = 64 << 10;
  table->checksum = kxxHash;
  table->format_version = 5;
  table->filter_policy.reset(NewBloomFilterPolicy(10, false));
  table->cache_index_and_filter_blocks = true;
  if (partitioned) {
    table->index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table->partition_filters = true;
    table->metadata_block_size = 4096;
    table->pin_top_level_index_and_filter = true;
  }
  return options;
}

struct Database {
  std::shared_ptr<Cache> cache;
  std::unique_ptr<DB> db;
};

std::vector<LiveFileMetaData> LiveFiles(DB* db) {
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  return files;
}

}  // namespace

extern "C" {

// Creates a database that is filled as a bookie's is: with compactions, and with its write buffers.
void* budget_shim_create_bookie(const char* path, bool partitioned, uint64_t block_bytes, int restart_interval,
                                uint64_t budget, char* error, size_t error_len) {
  constexpr uint64_t kWriteBuffer = 64 << 20, kWriteBuffers = 4;
  if (budget <= kWriteBuffer * kWriteBuffers) {
    std::strncpy(error, "the budget has no room for the write buffers", error_len - 1);
    return nullptr;
  }
  auto database = std::make_unique<Database>();
  database->cache = NewLRUCache(budget - kWriteBuffer * kWriteBuffers);
  BlockBasedTableOptions table;
  Options options = BookieOptions(partitioned, &table);
  table.block_size = block_bytes;
  table.index_block_restart_interval = restart_interval;
  table.block_cache = database->cache;
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.write_buffer_size = kWriteBuffer;
  options.max_write_buffer_number = kWriteBuffers;
  options.level0_file_num_compaction_trigger = 4;
  options.max_bytes_for_level_base = 256 << 20;
  options.level_compaction_dynamic_level_bytes = true;
  options.max_background_jobs = 32;
  options.IncreaseParallelism(32);
  options.max_total_wal_size = 512 << 20;
  options.max_open_files = -1;
  if (Fails(DB::Open(options, path, &database->db), error, error_len)) return nullptr;
  return database.release();
}

// Merges all tables into one sorted run, each written anew.
bool budget_shim_compact_all(void* database, char* error, size_t error_len) {
  CompactRangeOptions options;
  options.bottommost_level_compaction = BottommostLevelCompaction::kForceOptimized;
  return !Fails(static_cast<Database*>(database)->db->CompactRange(options, nullptr, nullptr), error, error_len);
}

// Waits until no compaction is due.
bool budget_shim_settle(void* database, char* error, size_t error_len) {
  const WaitForCompactOptions options;
  return !Fails(static_cast<Database*>(database)->db->WaitForCompact(options), error, error_len);
}

// Creates a database to be filled. Nothing is flushed or compacted unless asked.
void* budget_shim_create(const char* path, bool partitioned, char* error, size_t error_len) {
  BlockBasedTableOptions table;
  Options options = BookieOptions(partitioned, &table);
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.disable_auto_compactions = true;
  options.write_buffer_size = size_t{4} << 30;
  options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1 << 20;
  auto database = std::make_unique<Database>();
  if (Fails(DB::Open(options, path, &database->db), error, error_len)) return nullptr;
  return database.release();
}

// Writes `n` entries as one batch: synced, or without a log.
bool budget_shim_write(void* database, const uint8_t* keys, const uint8_t* values, size_t n, bool synced, char* error,
                       size_t error_len) {
  WriteOptions options;
  options.sync = synced;
  options.disableWAL = !synced;
  WriteBatch batch;
  Status status;
  for (size_t i = 0; i < n && status.ok(); ++i) {
    status = batch.Put(Slice(reinterpret_cast<const char*>(keys) + i * kKeyLen, kKeyLen),
                       Slice(reinterpret_cast<const char*>(values) + i * kValueLen, kValueLen));
  }
  if (status.ok()) status = static_cast<Database*>(database)->db->Write(options, &batch);
  return !Fails(status, error, error_len);
}

// Makes a level 0 file of what was written.
bool budget_shim_flush(void* database, char* error, size_t error_len) {
  return !Fails(static_cast<Database*>(database)->db->Flush(FlushOptions()), error, error_len);
}

// Merges all files of level 0 into one sorted run at `level`.
bool budget_shim_compact(void* database, int level, char* error, size_t error_len) {
  DB* db = static_cast<Database*>(database)->db.get();
  std::vector<std::string> inputs;
  for (const LiveFileMetaData& file : LiveFiles(db)) {
    if (file.level == 0) inputs.push_back(file.relative_filename);
  }
  CompactionOptions options;
  options.output_file_size_limit = kFileBytes;
  return !Fails(db->CompactFiles(options, inputs, level), error, error_len);
}

// Calls `each` with every live file: name, level, first and last key, entries, bytes, newest sequence number.
void budget_shim_files(void* database, void* context,
                       void (*each)(void* context, const char* name, int level, const uint8_t* smallest,
                                    const uint8_t* largest, uint64_t entries, uint64_t bytes, uint64_t newest)) {
  for (const LiveFileMetaData& file : LiveFiles(static_cast<Database*>(database)->db.get())) {
    each(context, file.relative_filename.c_str(), file.level,
         reinterpret_cast<const uint8_t*>(file.smallestkey.data()),
         reinterpret_cast<const uint8_t*>(file.largestkey.data()), file.num_entries, file.size,
         file.largest_seqno);
  }
}

// Opens a filled database for reading, with an LRUCache (default shards: what a bookie has) or a HyperClockCache that
// sizes itself. The directory belongs to the caller alone: opening writes to it, as a bookie's does. Reads are direct if
// wanted, past the system's cache of files.
void* budget_shim_open(const char* path, bool partitioned, bool hyper_clock, bool direct_reads, uint64_t budget,
                       char* error, size_t error_len) {
  auto database = std::make_unique<Database>();
  database->cache = hyper_clock ? HyperClockCacheOptions(budget, 0).MakeSharedCache() : NewLRUCache(budget);
  BlockBasedTableOptions table;
  Options options = BookieOptions(partitioned, &table);
  table.block_cache = database->cache;
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  options.disable_auto_compactions = true;
  options.use_direct_reads = direct_reads;
  if (Fails(DB::Open(options, path, &database->db), error, error_len)) return nullptr;
  return database.release();
}

// The version of RocksDB, as text that stays.
const char* budget_shim_version() {
  static const std::string version = GetRocksVersionAsString();
  return version.c_str();
}

void budget_shim_close(void* database) { delete static_cast<Database*>(database); }

// Looks `n` keys up; `*found` counts those that are there, `*sum` adds their values as big-endian numbers.
bool budget_shim_get(void* database, const uint8_t* keys, size_t n, uint64_t* found, uint64_t* sum, char* error,
                     size_t error_len) {
  DB* db = static_cast<Database*>(database)->db.get();
  ColumnFamilyHandle* family = db->DefaultColumnFamily();
  const ReadOptions options;
  PinnableSlice value;
  *found = *sum = 0;
  for (size_t i = 0; i < n; ++i) {
    value.Reset();
    const Slice key(reinterpret_cast<const char*>(keys) + i * kKeyLen, kKeyLen);
    const Status status = db->Get(options, family, key, &value);
    if (status.IsNotFound()) continue;
    if (Fails(status, error, error_len)) return false;
    *found += 1;
    uint64_t word = 0;
    std::memcpy(&word, value.data(), sizeof word);
    *sum += __builtin_bswap64(word);
  }
  return true;
}

// Looks the last entries of `n` ledgers up, as a bookie does: an iterator each, from the ledger's end on backward. The
// keys' entries are of no account. `*found` counts ledgers that have one, `*sum` adds the entries.
bool budget_shim_last(void* database, const uint8_t* keys, size_t n, uint64_t* found, uint64_t* sum, char* error,
                      size_t error_len) {
  constexpr size_t kLedgerLen = 8;
  DB* db = static_cast<Database*>(database)->db.get();
  ColumnFamilyHandle* family = db->DefaultColumnFamily();
  *found = *sum = 0;
  for (size_t i = 0; i < n; ++i) {
    char end[kKeyLen];
    std::memcpy(end, keys + i * kKeyLen, kLedgerLen);
    std::memset(end + kLedgerLen, 0xff, kKeyLen - kLedgerLen);
    end[kLedgerLen] = 0x7f;
    const Slice bound(end, kKeyLen);
    ReadOptions options;
    options.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> iter(db->NewIterator(options, family));
    iter->SeekToLast();
    if (!iter->Valid()) {
      if (Fails(iter->status(), error, error_len)) return false;
      continue;
    }
    const Slice key = iter->key();
    if (std::memcmp(key.data(), end, kLedgerLen) != 0) continue;
    *found += 1;
    uint64_t word = 0;
    std::memcpy(&word, key.data() + kLedgerLen, sizeof word);
    *sum += __builtin_bswap64(word);
  }
  return true;
}

// Switches the calling thread's counters on (from 0) or off.
void budget_shim_count(bool on) {
  SetPerfLevel(on ? PerfLevel::kEnableCount : PerfLevel::kDisable);
  get_perf_context()->Reset();
}

// The calling thread's counters, for data, index, filter and other blocks: blocks read, bytes read, cache hits.
void budget_shim_counters(uint64_t reads[4], uint64_t bytes[4], uint64_t hits[4]) {
  const PerfContext& perf = *get_perf_context();
  reads[1] = perf.index_block_read_count;
  reads[2] = perf.filter_block_read_count;
  reads[3] = perf.compression_dict_block_read_count;
  reads[0] = perf.block_read_count - reads[1] - reads[2] - reads[3];
  bytes[0] = perf.data_block_read_byte;
  bytes[1] = perf.index_block_read_byte;
  bytes[2] = perf.filter_block_read_byte;
  bytes[3] = perf.compression_dict_block_read_byte + perf.metadata_block_read_byte;
  hits[1] = perf.block_cache_index_hit_count;
  hits[2] = perf.block_cache_filter_hit_count;
  hits[3] = 0;
  hits[0] = perf.block_cache_hit_count - hits[1] - hits[2];
}

// Bytes charged to the cache, for data, index, filter and everything else.
void budget_shim_charged(void* database, uint64_t charged[4]) {
  Charged(*static_cast<Database*>(database)->cache, charged);
}

}  // extern "C"
