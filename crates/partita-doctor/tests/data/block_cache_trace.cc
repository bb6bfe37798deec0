// Writes a block-cache trace of RocksDB: 80 gets, every eighth of a key that is not there, a MultiGet of nine keys and a
// walk over 400. How the traces in block-cache-traces.tar.zst were made, with RocksDB 7.8.3, of the golden databases that
// they are named after:
//
//   g++ -std=c++17 block_cache_trace.cc -o block_cache_trace -lrocksdb && ./block_cache_trace DIR TRACE
#include <rocksdb/block_cache_trace_writer.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/system_clock.h>
#include <rocksdb/table.h>
#include <rocksdb/trace_reader_writer.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

using namespace rocksdb;

static void must(const Status& s) {
  if (!s.ok()) {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    std::exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  BlockBasedTableOptions table;
  table.cache_index_and_filter_blocks = true;
  table.block_cache = NewLRUCache(128 << 10, 0);
  table.filter_policy.reset(NewBloomFilterPolicy(10));
  Options options;
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  DB* db;
  must(DB::OpenForReadOnly(options, argv[1], &db));
  std::vector<std::string> keys;
  {
    std::unique_ptr<Iterator> walk(db->NewIterator(ReadOptions()));
    for (walk->SeekToFirst(); walk->Valid(); walk->Next()) keys.push_back(walk->key().ToString());
  }
  std::unique_ptr<TraceWriter> file;
  must(NewFileTraceWriter(Env::Default(), EnvOptions(), argv[2], &file));
  must(db->StartBlockCacheTrace(
      BlockCacheTraceOptions(),
      NewBlockCacheTraceWriter(SystemClock::Default().get(), BlockCacheTraceWriterOptions(), std::move(file))));
  uint64_t random = 7;
  std::string value;
  for (int i = 0; i < 80; i++) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    std::string key = keys[(random >> 33) % keys.size()];
    if (i % 8 == 7) key += "?";
    db->Get(ReadOptions(), key, &value).PermitUncheckedError();
  }
  std::vector<Slice> some;
  for (int i = 0; i < 8; i++) some.push_back(keys[i * keys.size() / 8]);
  some.push_back("absent");
  std::sort(some.begin(), some.end(), [](const Slice& a, const Slice& b) { return a.compare(b) < 0; });
  std::vector<PinnableSlice> values(some.size());
  std::vector<Status> statuses(some.size());
  db->MultiGet(ReadOptions(), db->DefaultColumnFamily(), some.size(), some.data(), values.data(), statuses.data(),
               true);
  {
    std::unique_ptr<Iterator> walk(db->NewIterator(ReadOptions()));
    int left = 400;
    for (walk->SeekToFirst(); walk->Valid() && left > 0; walk->Next()) left--;
  }
  must(db->EndBlockCacheTrace());
  delete db;
}
