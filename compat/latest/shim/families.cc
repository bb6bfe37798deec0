// A database of many column families with the options of Ozone's SSD profile, through RocksDB's public classes, behind a C
// interface: what an object store's metadata manager asks of it, by bytes. All families share one block cache.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"

#include "charged.h"

using namespace ROCKSDB_NAMESPACE;

namespace {

bool Fails(const Status& status, char* error, size_t error_len) {
  if (status.ok()) return false;
  std::strncpy(error, status.ToString().c_str(), error_len - 1);
  error[error_len - 1] = 0;
  return true;
}

// Where index and filter are.
enum Metadata : int { kInCache = 0, kOutside = 1, kPartitioned = 2 };

Options SsdProfile(int metadata, const std::shared_ptr<Cache>& cache) {
  BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 16 << 10;
  table.format_version = 5;
  table.filter_policy.reset(NewBloomFilterPolicy(10, false));
  table.cache_index_and_filter_blocks = metadata != kOutside;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  if (metadata == kPartitioned) {
    table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.metadata_block_size = 4096;
    table.pin_top_level_index_and_filter = true;
  }
  Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_background_compactions = 4;
  options.max_background_flushes = 2;
  options.bytes_per_sync = 1 << 20;
  options.WAL_ttl_seconds = 1200;
  options.WAL_size_limit_MB = 0;
  options.max_open_files = -1;
  options.write_buffer_size = 128 << 20;
  options.compression = kSnappyCompression;
  options.level_compaction_dynamic_level_bytes = true;
  options.statistics = CreateDBStatistics();
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  return options;
}

struct Database {
  std::shared_ptr<Cache> cache;
  std::shared_ptr<Statistics> statistics;
  std::unique_ptr<DB> db;
  std::vector<ColumnFamilyHandle*> families;
  // What was read last.
  PinnableSlice pinned;
  std::string copied;

  ~Database() {
    pinned.Reset();
    for (ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
  }

  uint64_t Sum(const char* property) const {
    uint64_t sum = 0;
    for (ColumnFamilyHandle* family : families) {
      uint64_t value = 0;
      if (db->GetIntProperty(family, property, &value)) sum += value;
    }
    return sum;
  }
};

Database& Of(void* database) { return *static_cast<Database*>(database); }

}  // namespace

extern "C" {

// Opens a database with these families, the default one first; makes what is not there unless it is only read.
void* families_shim_open(const char* path, const char* const* names, size_t n, int metadata, uint64_t cache_bytes,
                         bool only_read, char* error, size_t error_len) {
  auto database = std::make_unique<Database>();
  database->cache = NewLRUCache(cache_bytes);
  const Options options = SsdProfile(metadata, database->cache);
  database->statistics = options.statistics;
  // A family that is opened with options of its own making has a cache of its own.
  std::vector<ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < n; ++i) families.emplace_back(names[i], ColumnFamilyOptions(options));
  const DBOptions db_options(options);
  const Status status = only_read
      ? DB::OpenForReadOnly(db_options, path, families, &database->families, &database->db)
      : DB::Open(db_options, path, families, &database->families, &database->db);
  if (Fails(status, error, error_len)) return nullptr;
  return database.release();
}

void families_shim_close(void* database) { delete static_cast<Database*>(database); }

// The number of a family, as batches have it.
uint32_t families_shim_id(void* database, size_t family) { return Of(database).families[family]->GetID(); }

// How many block caches the families have between them.
size_t families_shim_caches(void* database) {
  std::vector<const Cache*> caches;
  for (ColumnFamilyHandle* family : Of(database).families) {
    ColumnFamilyDescriptor descriptor;
    if (!family->GetDescriptor(&descriptor).ok()) continue;
    const auto* table = descriptor.options.table_factory->GetOptions<BlockBasedTableOptions>();
    const Cache* cache = table == nullptr ? nullptr : table->block_cache.get();
    bool is_known = false;
    for (const Cache* known : caches) is_known = is_known || known == cache;
    if (!is_known) caches.push_back(cache);
  }
  return caches.size();
}

// Looks a key up: 1 with its value, which stays until the next call; 0 if it is not there; -1 on an error.
int families_shim_get(void* database, size_t family, const char* key, size_t key_len, const char** value,
                      size_t* value_len, char* error, size_t error_len) {
  Database& it = Of(database);
  it.pinned.Reset();
  const Status status = it.db->Get(ReadOptions(), it.families[family], Slice(key, key_len), &it.pinned);
  if (status.IsNotFound()) return 0;
  if (Fails(status, error, error_len)) return -1;
  *value = it.pinned.data();
  *value_len = it.pinned.size();
  return 1;
}

// Whether a key may be there: 0 if not, 1 with its value, 2 if only files can tell.
int families_shim_may_exist(void* database, size_t family, const char* key, size_t key_len, const char** value,
                            size_t* value_len) {
  Database& it = Of(database);
  bool is_found = false;
  if (!it.db->KeyMayExist(ReadOptions(), it.families[family], Slice(key, key_len), &it.copied, &is_found)) return 0;
  // Where a table's index is not in the cache, RocksDB says that it found the value, and gives none. Rows are never empty.
  if (!is_found || it.copied.empty()) return 2;
  *value = it.copied.data();
  *value_len = it.copied.size();
  return 1;
}

// Writes a batch.
bool families_shim_write(void* database, const char* batch, size_t len, char* error, size_t error_len) {
  WriteBatch parsed(std::string(batch, len));
  return !Fails(Of(database).db->Write(WriteOptions(), &parsed), error, error_len);
}

// Walks from a key on, until `each` has enough.
bool families_shim_walk(void* database, size_t family, const char* from, size_t from_len, bool fill_cache, void* context,
                        bool (*each)(void* context, const char* key, size_t key_len, const char* value,
                                     size_t value_len),
                        char* error, size_t error_len) {
  ReadOptions options;
  options.fill_cache = fill_cache;
  const std::unique_ptr<Iterator> iter(Of(database).db->NewIterator(options, Of(database).families[family]));
  for (iter->Seek(Slice(from, from_len)); iter->Valid(); iter->Next()) {
    const Slice key = iter->key(), value = iter->value();
    if (!each(context, key.data(), key.size(), value.data(), value.size())) break;
  }
  return !Fails(iter->status(), error, error_len);
}

// Writes everything into tables and waits until no compaction is due.
bool families_shim_settle(void* database, char* error, size_t error_len) {
  Database& it = Of(database);
  if (Fails(it.db->Flush(FlushOptions(), it.families), error, error_len)) return false;
  return !Fails(it.db->WaitForCompact(WaitForCompactOptions()), error, error_len);
}

// Writes all tables anew, each family's as one sorted run.
bool families_shim_compact(void* database, char* error, size_t error_len) {
  CompactRangeOptions options;
  options.bottommost_level_compaction = BottommostLevelCompaction::kForceOptimized;
  for (ColumnFamilyHandle* family : Of(database).families) {
    if (Fails(Of(database).db->CompactRange(options, family, nullptr, nullptr), error, error_len)) return false;
  }
  return true;
}

// Figures since the database was opened, of data, index and filter blocks: hits, reads and bytes put into the cache.
void families_shim_lookups(void* database, uint64_t hits[3], uint64_t reads[3], uint64_t inserted[3]) {
  const Statistics& statistics = *Of(database).statistics;
  hits[0] = statistics.getTickerCount(BLOCK_CACHE_DATA_HIT);
  hits[1] = statistics.getTickerCount(BLOCK_CACHE_INDEX_HIT);
  hits[2] = statistics.getTickerCount(BLOCK_CACHE_FILTER_HIT);
  reads[0] = statistics.getTickerCount(BLOCK_CACHE_DATA_MISS);
  reads[1] = statistics.getTickerCount(BLOCK_CACHE_INDEX_MISS);
  reads[2] = statistics.getTickerCount(BLOCK_CACHE_FILTER_MISS);
  inserted[0] = statistics.getTickerCount(BLOCK_CACHE_DATA_BYTES_INSERT);
  inserted[1] = statistics.getTickerCount(BLOCK_CACHE_INDEX_BYTES_INSERT);
  inserted[2] = statistics.getTickerCount(BLOCK_CACHE_FILTER_BYTES_INSERT);
}

// Bytes charged to the cache, for data, index, filter and everything else.
void families_shim_charged(void* database, uint64_t charged[4]) { Charged(*Of(database).cache, charged); }

// Memtables, what table readers hold outside of the cache, compaction debt, tables, bytes of changes, bytes that flushes and
// compactions wrote, and microseconds that writers waited.
void families_shim_amounts(void* database, uint64_t amounts[7]) {
  const Database& it = Of(database);
  amounts[0] = it.Sum("rocksdb.cur-size-all-mem-tables");
  amounts[1] = it.Sum("rocksdb.estimate-table-readers-mem");
  amounts[2] = it.Sum("rocksdb.estimate-pending-compaction-bytes");
  amounts[3] = it.Sum("rocksdb.live-sst-files-size");
  amounts[4] = it.statistics->getTickerCount(BYTES_WRITTEN);
  amounts[5] = it.statistics->getTickerCount(FLUSH_WRITE_BYTES) + it.statistics->getTickerCount(COMPACT_WRITE_BYTES);
  amounts[6] = it.statistics->getTickerCount(STALL_MICROS);
}

}  // extern "C"
