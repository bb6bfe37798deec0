//! From a bookie's configuration files to the options of an index.
//!
//! ```text
//! bk_server.conf ── entryLocationRocksdbConf ──> is that file there?
//!       │                                          │ yes: it alone counts, and the memory that it gives the cache
//!       └── dbStorage_rocksDB_* ───────────────────┘ no:  these count, over what a bookie has by default
//! ```

mod keys;

use std::path::PathBuf;
use std::time::Duration;

use partita::io::FileSystem;
use partita::options::file::{Finding, FindingKind, Mode, OptionsFile, Severity, nearest};
use partita::options::{ColumnFamilyOptions, DbOptions};

use crate::bookie_conf::{BookieConf, Statement};
use crate::error::Result;
use crate::options::{IndexOptions, TableLayout};
use keys::{KEYS, KeyEffect};

/// Which of a bookie's two kinds of settings an index is opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// That of an index in service.
    #[default]
    EntryLocation,
    /// That of the tool that builds an index anew: `default_rocksdb.conf`, or else format version and checksum of
    /// `bk_server.conf` and Partita's defaults. A bookie's tables have no filter then; these have.
    Default,
}

impl Profile {
    /// The name in `bk_server.conf` of the options file.
    const fn file_key(self) -> &'static str {
        match self {
            Self::EntryLocation => "entryLocationRocksdbConf",
            Self::Default => "defaultRocksdbConf",
        }
    }

    /// The name of the options file, if `bk_server.conf` does not say where it is.
    const fn file_name(self) -> &'static str {
        match self {
            Self::EntryLocation => "entry_location_rocksdb.conf",
            Self::Default => "default_rocksdb.conf",
        }
    }
}

/// The options of an index, made of a bookie's configuration, and what there is to tell of it.
///
/// A reader that never gives up: what it cannot take stands among the findings, and the default holds.
///
/// ```
/// use partita::io::MemoryFileSystem;
/// use partita::options::file::FindingKind;
/// use partita_ledger::{BookieConf, Profile, SettingsReport};
///
/// let conf = BookieConf::parse(
///     "ledgerDirectories=/data1,/data2\n\
///      dbStorage_rocksDB_blockSize=16384\n\
///      dbStorage_rocksDB_blokCacheSize=1000000\n",
/// );
/// let fs = MemoryFileSystem::new();
/// let report = SettingsReport::read(&conf, Profile::EntryLocation, 8 << 30, &fs)?;
/// assert_eq!(report.options.family.table.block_size, 16384);
/// assert_eq!(report.options.cache_bytes, (8 << 30) / 2 / 10);
/// let found = &report.findings[0];
/// assert_eq!((found.kind, found.line), (FindingKind::MisspeltOption, Some(3)));
/// assert!(found.message.contains("dbStorage_rocksDB_blockCacheSize"));
/// # Ok::<(), partita_ledger::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SettingsReport {
    /// The options.
    pub options: IndexOptions,
    /// Everything else there is to tell. A bookie passes over names that it does not know; here they are warnings. What keeps
    /// a bookie from starting is an error.
    pub findings: Vec<Finding>,
    /// The options file that counts, if there is one.
    pub options_file: Option<PathBuf>,
}

/// The section of findings that are about `bk_server.conf`.
const SECTION: &str = "bk_server.conf";
/// Cache of a database whose options file gives it none: RocksDB's default.
const CACHE_BYTES_OF_FILE: usize = 32 << 20;

impl SettingsReport {
    /// Makes options of a bookie's configuration.
    ///
    /// * `memory_bytes`: the memory that the process has for caches, a Java bookie's `MaxDirectMemorySize`. An index's cache
    ///   gets a tenth of its share for a ledger directory, if the configuration does not say how much.
    /// * `fs`: where options files are.
    /// * Errors: `Io` if the options file is there and cannot be read. All else is a finding.
    pub fn read(
        conf: &BookieConf,
        profile: Profile,
        memory_bytes: u64,
        fs: &dyn FileSystem,
    ) -> Result<Self> {
        let file = match conf.get(profile.file_key()) {
            Some(path) => PathBuf::from(path),
            None => conf.dir().join(profile.file_name()),
        };
        let file = Some(file).filter(|path| !path.as_os_str().is_empty());
        let file = match file {
            Some(path) if fs.exists(&path)? => Some(path),
            _ => None,
        };
        let mut report = Self {
            options: defaults(profile, conf, memory_bytes),
            findings: Vec::new(),
            options_file: file.clone(),
        };
        if let Some(path) = &file {
            report.take_options_file(&fs.read(path)?);
        }
        report.take_statements(conf, profile);
        report.take_interval(conf);
        report.judge();
        Ok(report)
    }

    /// The options, or the first error among the findings.
    pub fn into_result(self) -> Result<IndexOptions> {
        Finding::first_error(&self.findings)?;
        Ok(self.options)
    }

    /// An options file replaces all settings of the database. What it does not say is Partita's default, but that the last
    /// level is compressed like the others.
    fn take_options_file(&mut self, text: &[u8]) {
        let mut defaults = OptionsFile::default();
        defaults.families[0].options.bottommost_compression = None;
        let report = defaults.read_over("", text, Mode::Strict);
        self.options.family = report.options.families[0].options.clone();
        self.options.db = report.options.db;
        self.options.cache_bytes = self
            .options
            .family
            .table
            .get("block_cache")
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or(CACHE_BYTES_OF_FILE);
        // That is what becomes of it here: the cache has that many bytes.
        let is_taken = |finding: &Finding| {
            finding.kind == FindingKind::RuntimeObject
                && finding.option.as_deref() == Some("block_cache")
        };
        self.findings.extend(report.findings.into_iter().filter(|finding| !is_taken(finding)));
    }

    fn take_statements(&mut self, conf: &BookieConf, profile: Profile) {
        for statement in conf.statements() {
            let Some(key) = KEYS.iter().find(|key| key.name == statement.name) else {
                self.miss(statement);
                continue;
            };
            if conf.statement(key.name) != Some(statement) {
                let message = format!("{} stands twice; the first counts", key.name);
                self.tell(FindingKind::DuplicateOption, Severity::Warning, statement, message);
                continue;
            }
            let effect = match self.options_file.as_ref().filter(|_| key.yields_to_file()) {
                Some(path) => Ok(KeyEffect::None(format!("{} counts instead", path.display()))),
                None if !key.is_of(profile) => {
                    Ok(KeyEffect::None("it is not for this profile".to_owned()))
                }
                None => key.apply(&mut self.options, &statement.value),
            };
            match effect {
                Ok(KeyEffect::Taken) => {}
                Ok(KeyEffect::None(why)) => {
                    let message = format!("{}={}: {why}", key.name, statement.value);
                    self.tell(FindingKind::NoEffect, Severity::Note, statement, message);
                }
                Err(expected) => self.refuse(statement, &expected),
            }
        }
    }

    /// A name that is meant for a bookie's RocksDB, and not known. What else a bookie has settings for is not looked at.
    fn miss(&mut self, statement: &Statement) {
        let name = &statement.name;
        let prefix = name.get(..keys::PREFIX.len());
        if !prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(keys::PREFIX)) {
            return;
        }
        match nearest(name, KEYS.iter().map(|key| key.name)) {
            Some(meant) => {
                let message = format!("{name} is not known; is {meant} meant?");
                self.tell(FindingKind::MisspeltOption, Severity::Warning, statement, message);
            }
            None => {
                let message = format!("{name} is not known");
                self.tell(FindingKind::UnknownOption, Severity::Warning, statement, message);
            }
        }
    }

    /// The interval must not be shorter than that at which a bookie looks whether it has passed.
    fn take_interval(&mut self, conf: &BookieConf) {
        let Some(statement) = conf.statement(keys::COMPACTION_INTERVAL) else { return };
        let Some(interval) = self.options.compaction_interval else { return };
        let round_millis = match conf.get(keys::GC_WAIT_TIME) {
            Some(text) => text.parse().unwrap_or(0),
            None => keys::GC_WAIT_MILLIS,
        };
        if interval < Duration::from_millis(round_millis) {
            self.options.compaction_interval = None;
            self.refuse(statement, &format!("not less than {}", keys::GC_WAIT_TIME));
        }
    }

    /// Options that are senseless together.
    fn judge(&mut self) {
        let judged = self.options.db.validate().and_then(|()| self.options.family.validate());
        let Err(error) = judged else { return };
        if self.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return;
        }
        self.findings.push(Finding {
            kind: FindingKind::Conflict,
            severity: Severity::Error,
            line: None,
            section: SECTION.to_owned(),
            option: None,
            message: error.message().to_owned(),
        });
    }

    fn refuse(&mut self, statement: &Statement, expected: &str) {
        let message = format!("{}={}: expected {expected}", statement.name, statement.value);
        self.tell(FindingKind::BadValue, Severity::Error, statement, message);
    }

    fn tell(
        &mut self,
        kind: FindingKind,
        severity: Severity,
        statement: &Statement,
        message: String,
    ) {
        self.findings.push(Finding {
            kind,
            severity,
            line: Some(statement.line),
            section: SECTION.to_owned(),
            option: Some(statement.name.clone()),
            message,
        });
    }
}

/// What holds where the configuration says nothing.
fn defaults(profile: Profile, conf: &BookieConf, memory_bytes: u64) -> IndexOptions {
    let directories = conf.get(keys::LEDGER_DIRECTORIES).unwrap_or_default();
    let directories = directories.split(',').filter(|dir| !dir.trim().is_empty()).count().max(1);
    let share = memory_bytes / directories as u64 / 10;
    let mut options = IndexOptions::new(usize::try_from(share).unwrap_or(usize::MAX));
    if profile == Profile::Default {
        let mut family = ColumnFamilyOptions { bottommost_compression: None, ..Default::default() };
        family.table.format_version = options.family.table.format_version;
        family.table.checksum = options.family.table.checksum;
        options.family = family;
        options.db = DbOptions { create_if_missing: true, ..DbOptions::default() };
        options.cache_bytes = CACHE_BYTES_OF_FILE;
    }
    TableLayout::default().apply(&mut options.family.table);
    options
}

#[cfg(test)]
mod tests;
