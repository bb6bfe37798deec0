// RocksDB's own filters behind a C interface, for side-by-side benchmarks and bit-for-bit comparison.
//
// The loops that are timed run on this side, so that no call across languages is charged to RocksDB. Their shape is
// the one that the Rust side has: a list of queries, each a filter's number and a key of fixed length; answers are
// counted. A dry run does everything but ask the filter.
//
// Compiled twice against the RocksDB sources that the librocksdb-sys crate ships: plainly, and for Haswell, since
// RocksDB's AVX2 code exists only when it is compiled for a processor that has it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/full_filter_block.h"
#include "table/block_based/mock_block_based_table.h"
#include "util/hash.h"

namespace {

using namespace ROCKSDB_NAMESPACE;

uint64_t Nanos() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// One filter in the three forms in which it can be asked.
struct BuiltFilter {
  std::unique_ptr<const char[]> owner;
  Slice block;
  std::unique_ptr<FilterBitsReader> bits;
  std::unique_ptr<FullFilterBlockReader> reader;
};

// As RocksDB's filter_bench: a table without a file lends the readers its options.
struct Bench : public mock::MockBlockBasedTableTester {
  std::unique_ptr<FilterBitsBuilder> builder;
  std::vector<BuiltFilter> filters;

  explicit Bench(std::shared_ptr<const FilterPolicy> policy)
      : MockBlockBasedTableTester(std::move(policy)) {
    table_options_.optimize_filters_for_memory = false;
    builder.reset(GetBuilder());
  }
};

}  // namespace

extern "C" {

// Mirrors `Queries` in the Rust code.
struct ShimQueries {
  const uint32_t* filters;  // one for each batch
  const char* keys;         // count * key_len bytes
  size_t key_len;
  size_t count;  // a multiple of batch_len
  size_t batch_len;
};

// Which loop to run; mirrors `Loop` in the Rust code.
enum ShimLoop { kDry = 0, kDryWithHash = 1, kBare = 2, kBareBatch = 3, kReader = 4 };

// `implementation` is a name that RocksDB gives its fixed policies. Null if it is unknown.
void* shim_new(const char* implementation, double bits_per_key) {
  auto policy = BloomLikeFilterPolicy::Create(implementation, bits_per_key);
  return policy ? new Bench(std::move(policy)) : nullptr;
}

void shim_free(void* bench) { delete static_cast<Bench*>(bench); }

// Builds a filter of `count` keys, stores it as the next one and returns the nanoseconds that building took.
uint64_t shim_build(void* handle, const char* keys, size_t key_len, size_t count) {
  Bench* bench = static_cast<Bench*>(handle);
  bench->filters.emplace_back();
  BuiltFilter& filter = bench->filters.back();
  const uint64_t start = Nanos();
  for (size_t i = 0; i < count; ++i) {
    bench->builder->AddKey(Slice(keys + i * key_len, key_len));
  }
  filter.block = bench->builder->Finish(&filter.owner);
  const uint64_t nanos = Nanos() - start;

  const FilterPolicy* policy = bench->table_options_.filter_policy.get();
  filter.bits.reset(policy->GetFilterBitsReader(filter.block));
  CachableEntry<ParsedFullFilterBlock> cached(
      new ParsedFullFilterBlock(policy, BlockContents(filter.block)), nullptr /* cache */,
      nullptr /* handle */, true /* own_value */);
  filter.reader.reset(new FullFilterBlockReader(bench->table_.get(), std::move(cached)));
  return nanos;
}

// The block of filter `index`.
const char* shim_block(const void* handle, size_t index, size_t* len) {
  const BuiltFilter& filter = static_cast<const Bench*>(handle)->filters[index];
  *len = filter.block.size();
  return filter.block.data();
}

// Runs one loop over the queries, counts the positive answers (a dry run: anything) and returns its nanoseconds.
uint64_t shim_query(void* handle, int loop, const ShimQueries* queries, uint64_t* positives) {
  Bench* bench = static_cast<Bench*>(handle);
  const std::vector<BuiltFilter>& filters = bench->filters;
  const size_t key_len = queries->key_len;
  const char* key = queries->keys;
  uint64_t sum = 0;
  const uint64_t start = Nanos();
  switch (loop) {
    case kDry:
      for (size_t i = 0; i < queries->count; ++i, key += key_len) {
        sum += static_cast<uint8_t>(key[3]) + queries->filters[i];
      }
      break;
    case kDryWithHash:
      for (size_t i = 0; i < queries->count; ++i, key += key_len) {
        sum += (GetSliceHash64(Slice(key, key_len)) & 0xff) + queries->filters[i];
      }
      break;
    case kBare:
      for (size_t i = 0; i < queries->count; ++i, key += key_len) {
        sum += filters[queries->filters[i]].bits->MayMatch(Slice(key, key_len));
      }
      break;
    case kBareBatch: {
      const size_t batch_len = queries->batch_len;
      std::vector<Slice> slices(batch_len);
      std::vector<Slice*> pointers;
      for (Slice& slice : slices) pointers.push_back(&slice);
      std::unique_ptr<bool[]> answers(new bool[batch_len]);
      for (size_t i = 0; i < queries->count; i += batch_len) {
        for (size_t j = 0; j < batch_len; ++j, key += key_len) {
          slices[j] = Slice(key, key_len);
          answers[j] = true;
        }
        const uint32_t filter = queries->filters[i / batch_len];
        filters[filter].bits->MayMatch(static_cast<int>(batch_len), pointers.data(), answers.get());
        for (size_t j = 0; j < batch_len; ++j) sum += answers[j];
      }
      break;
    }
    case kReader: {
      const ReadOptions read_options;
      for (size_t i = 0; i < queries->count; ++i, key += key_len) {
        sum += filters[queries->filters[i]].reader->KeyMayMatch(
            Slice(key, key_len), nullptr /* const_ikey_ptr */, nullptr /* get_context */,
            nullptr /* lookup_context */, read_options);
      }
      break;
    }
  }
  const uint64_t nanos = Nanos() - start;
  *positives = sum;
  return nanos;
}

}  // extern "C"
