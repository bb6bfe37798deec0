//! Options files: RocksDB's `OPTIONS-nnnnnn`, and those that people write.
//!
//! ```text
//! [Version]                                  who wrote it; not in files that people write
//!   rocksdb_version=11.8.1
//! [DBOptions]                                once
//!   max_open_files=-1
//! [CFOptions "default"]                      first of the column families, then the others
//!   compaction_options_fifo={allow_compaction=false;max_table_files_size=1073741824;}
//! [TableOptions/BlockBasedTable "default"]   after its column family
//!   filter_policy=bloomfilter:10:false
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `lines` | the grammar |
//! | `read`, `nearest`, `finding` | what is made of it, and what there is to tell |
//! | `effective` | what was asked for, and what holds |
//! | `given` | what there is to tell of options that are in no file |
//! | `write` | the text for RocksDB |
//! | `names`, `store` | file names, which file is the newest, and how it gets into its directory |
//!
//! Objects of the running program (the cache, comparators, merge operators) are named in files and never made from them.

mod effective;
mod finding;
mod given;
mod lines;
mod names;
mod nearest;
mod read;
mod store;
mod write;

pub use effective::EffectiveOption;
pub use finding::{Finding, FindingKind, Severity};
pub(crate) use given::{db_findings, family_findings};
pub use names::{file_name, file_number, newest, obsolete};
pub use nearest::nearest;
use read::Base;
pub use read::{Mode, ReadReport};

use super::{ColumnFamilyOptions, DbOptions, SectionKind};

/// Options of a database and its column families.
///
/// ```
/// use partita::options::file::{FindingKind, Mode, OptionsFile, Severity};
///
/// let text = b"[DBOptions]\n  max_open_file=100\n[CFOptions \"default\"]\n  write_buffer_size=1m\n";
/// let report = OptionsFile::read(text, Mode::Strict);
/// assert_eq!(report.options.families[0].options.write_buffer_size, 1 << 20);
/// assert_eq!(report.findings[0].kind, FindingKind::MisspeltOption);
/// assert_eq!(report.findings[0].line, Some(2));
/// assert!(report.findings[0].message.contains("max_open_files"));
/// assert!(report.into_result().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OptionsFile {
    /// The RocksDB version that wrote the file, if it says so.
    pub rocksdb_version: Option<String>,
    /// Options of the database.
    pub db: DbOptions,
    /// Options of its column families; the first is `default`.
    pub families: Vec<FamilyOptions>,
}

/// Options of one column family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyOptions {
    /// The column family's name.
    pub name: String,
    /// Its options.
    pub options: ColumnFamilyOptions,
}

impl FamilyOptions {
    /// The name of the column family that every database has.
    pub const DEFAULT: &'static str = "default";
}

impl Default for OptionsFile {
    fn default() -> Self {
        let default = FamilyOptions {
            name: FamilyOptions::DEFAULT.to_owned(),
            options: ColumnFamilyOptions::default(),
        };
        Self { rocksdb_version: None, db: DbOptions::default(), families: vec![default] }
    }
}

impl OptionsFile {
    /// The newest major version of RocksDB whose options are known.
    pub const NEWEST_MAJOR: u32 = 11;

    /// Reads an options file; whatever is not taken from it stands in the report.
    ///
    /// * `text`: the whole file.
    pub fn read(text: &[u8], mode: Mode) -> ReadReport {
        read::read(Base::default(), text, mode)
    }

    /// Reads an options file that says where options differ from these.
    ///
    /// * `name`: what these are called in reports (`profile ssd`).
    /// * A column family that the file brings in has the options of the first of these, where the file says nothing.
    ///
    /// ```
    /// use partita::options::file::{FamilyOptions, Mode, OptionsFile};
    ///
    /// let mut ours = OptionsFile::default();
    /// ours.families[0].options.write_buffer_size = 8 << 20;
    /// ours.families.push(FamilyOptions { name: "keys".to_owned(), ..ours.families[0].clone() });
    ///
    /// let text = b"[TableOptions/BlockBasedTable \"keys\"]\n  block_size=16k\n";
    /// let report = ours.read_over("ours", text, Mode::Exact);
    /// let keys = report.options.family("keys").unwrap();
    /// assert_eq!((keys.write_buffer_size, keys.table.block_size), (8 << 20, 16 << 10));
    ///
    /// let text = b"[CFOptions \"kyes\"]\n[DBOptions]\n  use_fsync=true\n";
    /// let told = ours.read_over("ours", text, Mode::Exact).findings;
    /// assert!(told[0].message.contains("perhaps keys is meant"));
    /// assert!(told[1].to_error().to_string().contains("line 3, [DBOptions]: use_fsync=true has no effect"));
    /// ```
    pub fn read_over(&self, name: &str, text: &[u8], mode: Mode) -> ReadReport {
        read::read(Base { options: self.clone(), name: name.to_owned() }, text, mode)
    }

    /// The file for RocksDB 7.8 and later, and for [`OptionsFile::read`].
    pub fn to_text(&self) -> String {
        write::print(self)
    }

    /// Options of the column family `name`.
    pub fn family(&self, name: &str) -> Option<&ColumnFamilyOptions> {
        self.families.iter().find(|family| family.name == name).map(|family| &family.options)
    }

    /// The value of an option as text; empty if there is no such option.
    fn value(&self, section: SectionKind, family: usize, name: &str) -> String {
        let options = &self.families[family].options;
        let value = match section {
            SectionKind::Db => self.db.get(name),
            SectionKind::ColumnFamily => options.get(name),
            SectionKind::Table => options.table.get(name),
        };
        value.unwrap_or_default()
    }
}
