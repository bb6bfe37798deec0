// What a block cache is charged with.
#pragma once

#include <cstdint>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"

// Bytes charged to the cache, for data, index, filter and everything else, which is its own bookkeeping for the most.
inline void Charged(rocksdb::Cache& cache, uint64_t charged[4]) {
  using rocksdb::Cache;
  using rocksdb::CacheEntryRole;
  charged[0] = charged[1] = charged[2] = charged[3] = 0;
  const auto add = [charged](const rocksdb::Slice&, Cache::ObjectPtr, size_t charge,
                             const Cache::CacheItemHelper* helper) {
    switch (helper->role) {
      case CacheEntryRole::kDataBlock:
        charged[0] += charge;
        break;
      case CacheEntryRole::kIndexBlock:
        charged[1] += charge;
        break;
      case CacheEntryRole::kFilterBlock:
      case CacheEntryRole::kFilterMetaBlock:
        charged[2] += charge;
        break;
      default:
        break;
    }
  };
  cache.ApplyToAllEntries(add, {});
  const uint64_t all = cache.GetUsage(), known = charged[0] + charged[1] + charged[2];
  charged[3] = all > known ? all - known : 0;
}
