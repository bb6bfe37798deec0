// Single tables through RocksDB's SstFileReader, behind a C interface.
//
// Errors come back as malloc'ed strings, rows as "key length u32 LE | value length u32 LE | key | value" in one
// malloc'ed buffer.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"

namespace {

using ROCKSDB_NAMESPACE::ConfigOptions;
using ROCKSDB_NAMESPACE::Iterator;
using ROCKSDB_NAMESPACE::Options;
using ROCKSDB_NAMESPACE::ReadOptions;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::SstFileReader;
using ROCKSDB_NAMESPACE::Status;

char* Copy(const std::string& bytes) {
  char* copy = static_cast<char*>(malloc(bytes.size() + 1));
  memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = 0;
  return copy;
}

char* Message(const Status& status) { return status.ok() ? nullptr : Copy(status.ToString()); }

void AppendLength(std::string* out, size_t len) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(len >> shift));
}

Status Open(const char* path, const char* options_text, std::unique_ptr<SstFileReader>* reader) {
  Options options;
  Status status = GetOptionsFromString(ConfigOptions(), Options(), options_text, &options);
  if (!status.ok()) return status;
  reader->reset(new SstFileReader(options));
  return (*reader)->Open(path);
}

}  // namespace

extern "C" {

// Verifies all checksums and the number of entries.
char* sst_reader_shim_verify(const char* path, const char* options) {
  std::unique_ptr<SstFileReader> reader;
  Status status = Open(path, options, &reader);
  if (status.ok()) status = reader->VerifyChecksum();
  if (status.ok()) status = reader->VerifyNumEntries(ReadOptions());
  return Message(status);
}

// All point entries: encoded internal keys with values.
char* sst_reader_shim_scan(const char* path, const char* options, char** rows, size_t* len) {
  std::unique_ptr<SstFileReader> reader;
  Status status = Open(path, options, &reader);
  if (!status.ok()) return Message(status);
  std::string out;
  std::unique_ptr<Iterator> iter = reader->NewTableIterator();
  for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
    AppendLength(&out, iter->key().size());
    AppendLength(&out, iter->value().size());
    out.append(iter->key().data(), iter->key().size());
    out.append(iter->value().data(), iter->value().size());
  }
  *rows = Copy(out);
  *len = out.size();
  return Message(iter->status());
}

}  // extern "C"
