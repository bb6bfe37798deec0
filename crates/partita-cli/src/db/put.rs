//! `partita db put`: sets a value.

use std::io;

use clap::Args;
use partita::batch::WriteBatch;
use partita::db::WriteOptions;

use super::target::Target;
use crate::outcome::Outcome;
use crate::output;

/// Set the value of a key.
///
/// The database is opened to be written: what its logs hold goes into tables, and RocksDB can open it again afterwards.
/// Key and value are escaped as `partita db scan` prints them, or hexadecimal with --hex.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db put /var/lib/db apple red
  partita db put --create --cf keys --hex db/ 6170706c65 726564

Exit code: 0 the value was written, 2 something failed.")]
pub(crate) struct Put {
    #[command(flatten)]
    target: Target,
    /// The key.
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,
    /// The value.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// Make the database and the column family if they are not there.
    #[arg(long)]
    create: bool,
}

impl Put {
    /// Writes the value.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        Ok(output::outcome_of(self.put()))
    }

    fn put(&self) -> partita::Result<()> {
        let key = self.target.bytes("KEY", &self.key)?;
        let value = self.target.bytes("VALUE", &self.value)?;
        let (db, family) = self.target.open_to_write(self.create)?;
        let mut batch = WriteBatch::new();
        batch.put_cf(family.id(), &key, &value)?;
        db.write(batch, &WriteOptions::SYNC)?;
        db.close()
    }
}
