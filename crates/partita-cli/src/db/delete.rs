//! `partita db delete`: removes a key.

use std::io;

use clap::Args;
use partita::batch::WriteBatch;
use partita::db::WriteOptions;

use super::target::Target;
use crate::outcome::Outcome;
use crate::output;

/// Remove a key, whether it is there or not.
///
/// The database is opened to be written: what its logs hold goes into tables, and RocksDB can open it again afterwards. The
/// key is escaped as `partita db scan` prints it, or hexadecimal with --hex.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db delete /var/lib/db apple
  partita db delete --cf keys --hex db/ 6170706c65

Exit code: 0 the key is not there any more, 2 something failed.")]
pub(crate) struct Delete {
    #[command(flatten)]
    target: Target,
    /// The key.
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,
}

impl Delete {
    /// Removes the key.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        Ok(output::outcome_of(self.delete()))
    }

    fn delete(&self) -> partita::Result<()> {
        let key = self.target.bytes("KEY", &self.key)?;
        let (db, family) = self.target.open_to_write(false)?;
        let mut batch = WriteBatch::new();
        batch.delete_cf(family.id(), &key)?;
        db.write(batch, &WriteOptions::SYNC)?;
        db.close()
    }
}
