//! Who takes part in ping-pong here.

use std::path::Path;

use partita_compat_rocks::ping_pong::Engine;
use partita_compat_rocks::ping_pong::command::Company;
use partita_compat_rocks::ping_pong::partita::Partita;
use partita_compat_rocks::ping_pong::rocksdb::RocksDb;
use partita_proof::options::Readers;

use crate::late_player::Rocksdict;
use crate::{ldb, sst_dump};

/// Partita and RocksDB 7.8.3 always, and 9.8.4 in some histories.
pub fn company() -> Company<'static> {
    const REGULARS: &[&dyn Engine] = &[&Partita, &RocksDb];
    const GUESTS: &[&dyn Engine] = &[&Rocksdict];
    Company {
        regulars: REGULARS,
        guests: GUESTS,
        inspect: Some(inspect),
        readers: Readers::Rocks78,
    }
}

/// What `ldb` and `sst_dump` say of a database that nobody has open; how many tables there are.
///
/// * Errors: what they find wrong.
pub fn inspect(dir: &Path) -> Result<usize, String> {
    ldb::check_consistency(dir)?;
    sst_dump::verify_all(dir)
}
