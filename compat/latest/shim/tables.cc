// One table (SST, LZ4) through RocksDB's public classes, behind a C interface: written by SstFileWriter, read by
// SstFileReader. The loops run on this side, so that a benchmark charges RocksDB for its own work only.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"

using namespace ROCKSDB_NAMESPACE;

namespace {

using Clock = std::chrono::steady_clock;

uint64_t NanosSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

bool Fails(const Status& status, char* error, size_t error_len) {
  if (status.ok()) return false;
  std::strncpy(error, status.ToString().c_str(), error_len - 1);
  error[error_len - 1] = 0;
  return true;
}

struct Table {
  explicit Table(const Options& options) : reader(options) {}
  SstFileReader reader;
};

// `text` sets BlockBasedTableOptions. The factory is made from them at once: one that is made first and configured
// later keeps the block cache it started with, whatever `no_block_cache` says.
Status OptionsOf(const char* text, Options* options) {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  BlockBasedTableOptions table;
  const Status status = GetBlockBasedTableOptionsFromString(config, BlockBasedTableOptions(), text, &table);
  options->compression = kLZ4Compression;
  options->table_factory.reset(NewBlockBasedTableFactory(table));
  return status;
}

}  // namespace

extern "C" {

// Writes `n` keys of `key_len` bytes, each with `value_len` bytes of `values`. Returns nanoseconds, 0 on failure.
uint64_t table_shim_write(const char* path, const char* options_text, const uint8_t* keys, size_t key_len,
                          const uint8_t* values, size_t value_len, size_t n, char* error, size_t error_len) {
  Options options;
  if (Fails(OptionsOf(options_text, &options), error, error_len)) return 0;
  const auto start = Clock::now();
  SstFileWriter writer(EnvOptions(), options);
  if (Fails(writer.Open(path), error, error_len)) return 0;
  for (size_t i = 0; i < n; ++i) {
    const Slice key(reinterpret_cast<const char*>(keys + i * key_len), key_len);
    const Slice value(reinterpret_cast<const char*>(values + i * value_len), value_len);
    if (Fails(writer.Put(key, value), error, error_len)) return 0;
  }
  if (Fails(writer.Finish(), error, error_len)) return 0;
  return NanosSince(start);
}

void* table_shim_open(const char* path, const char* options_text, char* error, size_t error_len) {
  Options options;
  if (Fails(OptionsOf(options_text, &options), error, error_len)) return nullptr;
  auto table = std::make_unique<Table>(options);
  if (Fails(table->reader.Open(path), error, error_len)) return nullptr;
  return table.release();
}

void table_shim_close(void* table) { delete static_cast<Table*>(table); }

// Looks `n` keys up. Returns nanoseconds; `*found` counts those that are there.
uint64_t table_shim_get(void* table, const uint8_t* keys, size_t key_len, size_t n, uint64_t* found) {
  auto& reader = static_cast<Table*>(table)->reader;
  ReadOptions options;
  PinnableSlice value;
  *found = 0;
  const auto start = Clock::now();
  for (size_t i = 0; i < n; ++i) {
    const Slice key(reinterpret_cast<const char*>(keys + i * key_len), key_len);
    value.Reset();
    *found += reader.Get(options, key, &value).ok();
  }
  return NanosSince(start);
}

// Seeks each of `n` keys with one iterator. Returns nanoseconds; `*sum` adds the lengths of the values found.
uint64_t table_shim_seek(void* table, const uint8_t* keys, size_t key_len, size_t n, uint64_t* sum) {
  auto& reader = static_cast<Table*>(table)->reader;
  std::unique_ptr<Iterator> iterator(reader.NewIterator(ReadOptions()));
  *sum = 0;
  const auto start = Clock::now();
  for (size_t i = 0; i < n; ++i) {
    iterator->Seek(Slice(reinterpret_cast<const char*>(keys + i * key_len), key_len));
    if (iterator->Valid()) *sum += iterator->value().size();
  }
  return NanosSince(start);
}

// Walks over all entries. Returns nanoseconds; `*count` and `*sum` count entries and bytes.
uint64_t table_shim_scan(void* table, uint64_t* count, uint64_t* sum) {
  auto& reader = static_cast<Table*>(table)->reader;
  *count = *sum = 0;
  const auto start = Clock::now();
  std::unique_ptr<Iterator> iterator = reader.NewTableIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    *count += 1;
    *sum += iterator->key().size() + iterator->value().size();
  }
  return NanosSince(start);
}

// Verifies every block's checksum. Returns nanoseconds, 0 on failure.
uint64_t table_shim_verify(void* table, char* error, size_t error_len) {
  auto& reader = static_cast<Table*>(table)->reader;
  const auto start = Clock::now();
  if (Fails(reader.VerifyChecksum(), error, error_len)) return 0;
  return NanosSince(start);
}

}  // extern "C"
