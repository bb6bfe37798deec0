//! What the commands that read a database have in common: opening it, naming a family, keys on the command line.

use std::path::{Path, PathBuf};

use clap::Args;
use partita::cache::Cache;
use partita::db::{ColumnFamily, Db, DbBuilder, FamilyConfig, LostLogBytes};
use partita::merge::builtin;
use partita::version::DEFAULT_FAMILY_NAME;
use partita::wal::DropReason;
use partita::{Error, Result};

use crate::escape::Form;
use crate::output;

/// Memory that a command reads with.
const CACHE_BYTES: usize = 64 << 20;

/// Which database and which of its column families are read, and how.
#[derive(Args)]
pub(super) struct Reading {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The column family.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FAMILY_NAME)]
    cf: String,
    /// Print and take keys and values in hexadecimal.
    #[arg(long)]
    pub(super) hex: bool,
    /// Merge operands with RocksDB's operator of this name (StringAppendOperator, UInt64AddOperator, …), whatever the
    /// OPTIONS file names.
    #[arg(long, value_name = "NAME")]
    merge_operator: Option<String>,
    /// Do not tell what was left out of damaged logs; show no progress.
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

impl Reading {
    /// Opens the database; tells which bytes of its logs could not be used.
    pub(super) fn open(&self) -> Result<(Db, ColumnFamily)> {
        let mut builder = DbBuilder::new(&self.dir).cache(Cache::new(CACHE_BYTES));
        if let Some(name) = &self.merge_operator {
            let operator = builtin(name, b",").ok_or_else(|| {
                Error::invalid_argument(format!(
                    "--merge-operator {name:?}: no operator of this name is built in"
                ))
            })?;
            let merge_operator = Some(operator);
            builder = builder
                .family(&self.cf, FamilyConfig { merge_operator, ..FamilyConfig::default() });
        }
        let db = builder.open_read_only()?;
        let family = db.family(&self.cf)?;
        if !self.quiet {
            // What a recycled log held in its earlier life ends it in the ordinary way.
            let is_loss =
                |lost: &&LostLogBytes| !matches!(lost.dropped.reason, DropReason::OldRecord { .. });
            for lost in db.lost_log_bytes().iter().filter(is_loss) {
                let (path, dropped) = (lost.path.display(), &lost.dropped);
                output::complain(format_args!(
                    "note: {path}: {} bytes at {:#x} are not used: {}",
                    dropped.bytes, dropped.offset, dropped.reason
                ));
            }
        }
        Ok((db, family))
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// How keys and values are written.
    pub(super) fn form(&self) -> Form {
        Form::hex_if(self.hex)
    }

    /// A key from the command line, where it is called `what`.
    pub(super) fn key(&self, what: &str, text: &str) -> Result<Vec<u8>> {
        self.form()
            .parse(text)
            .map_err(|error| Error::invalid_argument(format!("{what} {text:?}: {error}")))
    }
}
