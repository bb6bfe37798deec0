//! Who takes part in ping-pong here.

use partita_compat_rocks::ping_pong::Engine;
use partita_compat_rocks::ping_pong::command::Company;
use partita_compat_rocks::ping_pong::partita::Partita;
use partita_compat_rocks::ping_pong::rocksdb::RocksDb;
use partita_proof::options::Readers;

/// Partita and RocksDB 11.8.1, which verifies all checksums at each comparison.
pub fn company() -> Company<'static> {
    const REGULARS: &[&dyn Engine] = &[&Partita, &RocksDb];
    Company { regulars: REGULARS, guests: &[], inspect: None, readers: Readers::Rocks11 }
}
