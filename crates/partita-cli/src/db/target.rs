//! What the commands on the entries of a database have in common: opening it, naming a family, keys on the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use partita::cache::Cache;
use partita::db::{ColumnFamily, Db, DbBuilder, FamilyConfig, LostLogBytes};
use partita::merge::{MergeOperator, builtin};
use partita::options::DbOptions;
use partita::version::DEFAULT_FAMILY_NAME;
use partita::wal::DropReason;
use partita::{Error, Result};

use crate::escape::Form;
use crate::output;

/// Memory that a command reads with.
const READ_CACHE_BYTES: usize = 64 << 20;
/// Memory that a command writes with: memtables are charged to it.
const WRITE_CACHE_BYTES: usize = 256 << 20;

/// A column family of a database, and how its keys and values are written.
#[derive(Args)]
pub(super) struct Target {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The column family.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FAMILY_NAME)]
    cf: String,
    /// Keys and values are hexadecimal.
    #[arg(long)]
    hex: bool,
    /// Merge operands with RocksDB's operator of this name (StringAppendOperator, UInt64AddOperator, …), whatever the
    /// OPTIONS file names.
    #[arg(long, value_name = "NAME")]
    merge_operator: Option<String>,
    /// Do not tell what was left out of damaged logs; show no progress.
    #[arg(long)]
    pub(super) quiet: bool,
}

impl Target {
    /// Opens the database to be read; tells which bytes of its logs could not be used.
    pub(super) fn open_to_read(&self) -> Result<(Db, ColumnFamily)> {
        let mut builder = DbBuilder::new(&self.dir).cache(Cache::new(READ_CACHE_BYTES));
        if let Some(config) = self.config()? {
            builder = builder.family(&self.cf, config);
        }
        let db = builder.open_read_only()?;
        let family = db.family(&self.cf)?;
        // Sooner told than after half of the output.
        if let Some(name) = family.missing_merge_operator() {
            return Err(Error::not_supported(format!(
                "column family {:?} has merge operator {name:?}, which is not built in; --merge-operator names another",
                self.cf
            )));
        }
        self.tell_lost_bytes(&db);
        Ok((db, family))
    }

    /// Opens the database to be written; tells which bytes of its logs could not be used.
    ///
    /// * `create`: makes the database and the family if they are not there.
    pub(super) fn open_to_write(&self, create: bool) -> Result<(Db, ColumnFamily)> {
        let mut builder = DbBuilder::new(&self.dir).cache(Cache::new(WRITE_CACHE_BYTES));
        let config = self.config()?;
        let families = builder.families_on_disk()?;
        let exists = !families.is_empty();
        if !exists && !create {
            let error = Error::invalid_argument("there is no database; --create makes one");
            return Err(error.in_file(&self.dir));
        }
        if !exists {
            // Of a database that is there, its own options hold.
            let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
            builder = builder.options(options);
        }
        let is_missing = create && !(families.contains(&self.cf) || self.is_default());
        if let Some(config) = config.clone().filter(|_| !is_missing) {
            builder = builder.family(&self.cf, config);
        }
        let db = builder.open()?;
        self.tell_lost_bytes(&db);
        let family = match is_missing {
            true => db.create_family(&self.cf, config.unwrap_or_default())?,
            false => db.family(&self.cf)?,
        };
        Ok((db, family))
    }

    fn is_default(&self) -> bool {
        self.cf == DEFAULT_FAMILY_NAME
    }

    /// The family's configuration, if the command line says something about it.
    fn config(&self) -> Result<Option<FamilyConfig>> {
        let Some(name) = &self.merge_operator else { return Ok(None) };
        let operator: Arc<dyn MergeOperator> = builtin(name, b",").ok_or_else(|| {
            Error::invalid_argument(format!(
                "--merge-operator {name:?}: no operator of this name is built in"
            ))
        })?;
        Ok(Some(FamilyConfig { merge_operator: Some(operator), ..FamilyConfig::default() }))
    }

    fn tell_lost_bytes(&self, db: &Db) {
        if !self.quiet {
            tell_lost_bytes(db);
        }
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// How keys and values are written.
    pub(super) fn form(&self) -> Form {
        Form::hex_if(self.hex)
    }

    /// A key or value from the command line, where it is called `what`.
    pub(super) fn bytes(&self, what: &str, text: &str) -> Result<Vec<u8>> {
        self.form()
            .parse(text)
            .map_err(|error| Error::invalid_argument(format!("{what} {text:?}: {error}")))
    }
}

/// Opens a database to be written, for what concerns all of it; tells which bytes of its logs could not be used.
pub(super) fn open_whole_to_write(dir: &Path, quiet: bool) -> Result<Db> {
    let db = DbBuilder::new(dir).cache(Cache::new(WRITE_CACHE_BYTES)).open()?;
    if !quiet {
        tell_lost_bytes(&db);
    }
    Ok(db)
}

fn tell_lost_bytes(db: &Db) {
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
