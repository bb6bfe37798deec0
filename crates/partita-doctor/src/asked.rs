//! What the user asked for: an options file, or a bookie's `bk_server.conf`.
//!
//! A file is read twice: as it was meant, and as RocksDB reads it, which leaves out a last line without a line end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use partita::io::FileSystem;
use partita::options::SectionKind;
use partita::options::file::{EffectiveOption, Finding, Mode, OptionsFile, ReadReport};
use partita_ledger::{BookieConf, Profile, SettingsReport};

/// A file of settings, and what is made of it.
#[derive(Debug)]
pub(crate) struct AskedFile {
    /// The options file: the one that was named, or the one that `bk_server.conf` leads to.
    pub(crate) options: Option<AskedOptions>,
    /// What there is to tell of `bk_server.conf`.
    pub(crate) bookie: Option<AskedBookie>,
}

/// An options file.
#[derive(Debug)]
pub(crate) struct AskedOptions {
    pub(crate) path: PathBuf,
    /// What there is to tell of it.
    pub(crate) findings: Vec<Finding>,
    /// What it asks for, option by option, as it was meant.
    pub(crate) meant: Vec<EffectiveOption>,
    /// The last line, if RocksDB leaves it out.
    pub(crate) dropped: Option<DroppedLine>,
    /// The names of its column families.
    pub(crate) families: Vec<String>,
}

/// A line that RocksDB leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DroppedLine {
    pub(crate) number: u32,
    pub(crate) text: String,
    /// The option that it sets, with RocksDB's default for it.
    pub(crate) option: Option<(&'static str, &'static str)>,
}

/// A bookie's configuration.
#[derive(Debug)]
pub(crate) struct AskedBookie {
    pub(crate) path: PathBuf,
    pub(crate) findings: Vec<Finding>,
    /// The cache's size, if it says one.
    pub(crate) cache_bytes: Option<u64>,
}

impl AskedFile {
    /// Reads a file. One without sections is taken for a bookie's.
    ///
    /// * Errors: `Io` if it cannot be read.
    pub(crate) fn read(fs: &dyn FileSystem, path: &Path) -> partita::Result<Self> {
        let text = fs.read(path)?;
        if has_sections(&text) {
            let options = Some(AskedOptions::new(path, &text));
            return Ok(Self { options, bookie: None });
        }
        let conf = BookieConf::load(fs, path).map_err(|error| of_ledger(&error))?;
        // How much memory the process has stands in no file; only what depends on it is not known then.
        let report = SettingsReport::read(&conf, Profile::EntryLocation, 0, fs)
            .map_err(|error| of_ledger(&error))?;
        let options = match &report.options_file {
            Some(file) => Some(AskedOptions::new(file, &fs.read(file)?)),
            None => None,
        };
        let bookie = AskedBookie {
            path: path.to_owned(),
            cache_bytes: conf
                .get("dbStorage_rocksDB_blockCacheSize")
                .filter(|_| options.is_none())
                .and_then(|bytes| bytes.trim().parse().ok()),
            // Those of the options file are told with it.
            findings: match options.is_some() {
                true => Vec::new(),
                false => report.findings,
            },
        };
        Ok(Self { options, bookie: Some(bookie) })
    }

    /// The size of the cache that was asked for.
    pub(crate) fn cache_bytes(&self, family: &str) -> Option<u64> {
        let of_file = self.options.as_ref().and_then(|options| {
            let value = options.value(Some(family), "block_cache")?;
            value.parse().ok()
        });
        of_file.or_else(|| self.bookie.as_ref()?.cache_bytes)
    }
}

fn of_ledger(error: &partita_ledger::Error) -> partita::Error {
    partita::Error::invalid_argument(error.to_string())
}

fn has_sections(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines().any(|line| line.trim_start().starts_with('['))
}

impl AskedOptions {
    fn new(path: &Path, text: &[u8]) -> Self {
        let report = OptionsFile::read(text, Mode::Strict);
        Self {
            path: path.to_owned(),
            dropped: dropped_line(text, &report),
            families: report.options.families.iter().map(|family| family.name.clone()).collect(),
            meant: report.effective().into_iter().filter(|option| option.asked.is_some()).collect(),
            findings: report.findings,
        }
    }

    /// What the file asks for an option to be; `None` of the family is the database.
    pub(crate) fn value(&self, family: Option<&str>, name: &str) -> Option<&str> {
        self.option(family, name)?.asked.as_deref()
    }

    pub(crate) fn option(&self, family: Option<&str>, name: &str) -> Option<&EffectiveOption> {
        self.meant.iter().find(|option| option.family.as_deref() == family && option.name == name)
    }

    /// Whether the option stands in the line that RocksDB leaves out.
    pub(crate) fn is_dropped(&self, option: &EffectiveOption) -> bool {
        self.dropped.as_ref().is_some_and(|dropped| option.line == Some(dropped.number))
    }
}

fn dropped_line(text: &[u8], report: &ReadReport) -> Option<DroppedLine> {
    let start = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = String::from_utf8_lossy(&text[start..]).trim().to_owned();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let number = text.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1;
    let set = report.effective().into_iter().find(|option| option.line == Some(number));
    let option = set.map(|option| (option.name, default_of(option.section, option.name)));
    Some(DroppedLine { number, text: line, option })
}

/// RocksDB's default of an option.
pub(crate) fn default_of(section: SectionKind, name: &str) -> &'static str {
    section.spec(name).map_or("", |spec| spec.rocksdb_default)
}

/// What an OPTIONS file says, by family and option; those of the database stand under an empty name.
pub(crate) fn by_family(text: &[u8]) -> HashMap<String, HashMap<String, String>> {
    let mut all = HashMap::<String, HashMap<String, String>>::new();
    for option in OptionsFile::read(text, Mode::Lenient).effective() {
        if let Some(asked) = option.asked {
            let family = option.family.unwrap_or_default();
            all.entry(family).or_default().insert(option.name.to_owned(), asked);
        }
    }
    all
}
