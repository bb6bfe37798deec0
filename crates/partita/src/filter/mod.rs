//! Filters over sets of keys: bits only, no files and no caches.
