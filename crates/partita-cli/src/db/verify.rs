//! `partita db verify`: every table that the manifest names, held against the manifest and checked block by block.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use partita::Error;
use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::{InternalKey, KeyOrder};
use partita::table::{ReaderOptions, verify_table};
use partita::version::{Family, FileName, TableFile, Version, VersionSet, VersionSetOptions};

use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::progress::Progress;
use crate::sst::open_file;
use crate::sst::verify::{FileResult, Total};
use crate::units::{count, counted};

/// Check a database: its manifest, and every block of every table.
///
/// Checked are the manifest as a whole; that each table it names is there and as long as it says; that the tables of the
/// levels below 0 come in the order of their keys without overlap; and of each table everything that `partita sst verify`
/// checks. Tables that the manifest does not name are listed: they are left by a crash, and do no harm. The logs are not
/// looked at.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db verify /var/lib/db
  partita db verify --json db/ | jq 'select(.status != \"clean\")'

--json prints one object a table, each on a line of its own, as partita sst verify prints it.

Exit code: 0 all is clean, 1 damage was found, 2 none was found, but something could not be looked at.")]
pub(crate) struct Verify {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Print JSON: one object a table, one table a line.
    #[arg(long)]
    json: bool,
    /// Print nothing but what is wrong: no progress, no line for clean tables, no sums.
    #[arg(long)]
    quiet: bool,
}

impl Verify {
    /// Checks the database. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
        let versions = match VersionSet::recover(Arc::new(DiskFileSystem), &self.dir, options) {
            Ok(versions) => versions,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::of_error(&error));
            }
        };
        let mut run = VerifyRun {
            asked: self,
            out: output::stdout(),
            progress: Progress::new(versions.live_tables().len(), self.quiet),
            outcome: Outcome::Clean,
            total: Total::default(),
        };
        for family in versions.families() {
            run.family(&family)?;
        }
        run.finish(&versions)
    }

    fn path_of(&self, file: &TableFile) -> PathBuf {
        let path = FileName::Table(file.number).in_dir(&self.dir);
        let of_leveldb = path.with_extension("ldb");
        if !path.exists() && of_leveldb.exists() { of_leveldb } else { path }
    }
}

/// A run over all tables.
struct VerifyRun<'v> {
    asked: &'v Verify,
    out: Out,
    progress: Progress,
    outcome: Outcome,
    total: Total,
}

impl VerifyRun<'_> {
    fn family(&mut self, family: &Family) -> io::Result<()> {
        let version = family.current();
        for (level, file) in version.files() {
            let path = self.asked.path_of(file);
            self.progress.next_file(&path);
            let mut result = self.table(&path);
            result.findings_of_manifest(&path, file);
            if let Some(error) = order_of_level(&version, level, file) {
                result.add_finding(error.in_file(&path));
            }
            self.total.add(&result);
            self.outcome.merge(result.outcome);
            self.progress.clear();
            if self.asked.json {
                result.write_json(&mut self.out)?;
            } else {
                result.write(&mut self.out, self.asked.quiet)?;
            }
            // Whoever watches a long run sees each table when it is done.
            self.out.flush()?;
        }
        if !self.asked.json && !self.asked.quiet {
            summary_of_family(family, &version, &mut self.out)?;
        }
        Ok(())
    }

    fn table<'p>(&mut self, path: &'p Path) -> FileResult<'p> {
        let file = match open_file(path) {
            Ok(file) => file,
            // The manifest wants it: its absence is damage.
            Err(_) if !path.exists() => {
                let error = Error::corruption("the manifest names this table, and it is not there");
                return FileResult::not_opened(path, error.in_file(path));
            }
            Err(error) => return FileResult::not_opened(path, error),
        };
        let progress = &mut self.progress;
        let report = verify_table(&file, &ReaderOptions::default(), &mut |block| {
            progress.tick(block.handle.size);
        });
        FileResult::new(path, report)
    }

    fn finish(mut self, versions: &VersionSet) -> io::Result<Outcome> {
        let quiet = self.asked.quiet || self.asked.json;
        match unnamed_tables(&self.asked.dir, versions) {
            Err(error) => {
                self.outcome.merge(Outcome::Unseen);
                output::complain(&error);
            }
            Ok(names) if !quiet => {
                for name in names {
                    let path = name.in_dir(&self.asked.dir);
                    writeln!(self.out, "{}: not in the manifest", path.display())?;
                }
            }
            Ok(_) => {}
        }
        if !quiet && self.total.files > 0 {
            self.total.write(&mut self.out)?;
        }
        self.out.flush()?;
        Ok(self.outcome)
    }
}

impl FileResult<'_> {
    /// What the manifest says about the table, held against the file.
    fn findings_of_manifest(&mut self, path: &Path, file: &TableFile) {
        // If it cannot be asked, that was told.
        let Ok(bytes) = DiskFileSystem.file_len(path) else { return };
        if bytes != file.file_bytes {
            let message =
                format!("the file has {bytes} bytes, the manifest says {}", file.file_bytes);
            self.add_finding(Error::corruption(message).in_file(path));
        }
    }
}

/// Whether a table of a sorted level stands in order: its first key is not behind its last one, and it starts behind the
/// end of the table before it.
fn order_of_level(version: &Version, level: usize, file: &TableFile) -> Option<Error> {
    let order = version.key_order();
    if !is_before(order, &file.smallest, &file.largest) && file.smallest != file.largest {
        return Some(Error::corruption("the manifest says that the table ends before it starts"));
    }
    let files = version.levels().get(level)?.files();
    let at = files.iter().position(|other| other.number == file.number)?;
    let before = files.get(at.checked_sub(1)?)?;
    let is_sorted = level == 0 || is_before(order, &before.largest, &file.smallest);
    (!is_sorted).then(|| {
        Error::corruption(format!(
            "the manifest says that the table starts before {}.sst, left of it on level {level}, ends",
            before.number
        ))
    })
}

fn is_before(order: &KeyOrder, a: &[u8], b: &[u8]) -> bool {
    let (Ok(a), Ok(b)) = (InternalKey::decode(a), InternalKey::decode(b)) else { return false };
    order.compare(a.user_key, b.user_key).then(b.packed().cmp(&a.packed())).is_lt()
}

fn summary_of_family(family: &Family, version: &Version, out: &mut Out) -> io::Result<()> {
    let levels = version.levels().iter().enumerate().filter(|(_, level)| !level.is_empty());
    let levels: Vec<String> = levels
        .map(|(number, level)| format!("{} on level {number}", count(level.len() as u64)))
        .collect();
    let tables = counted(version.file_count() as u64, "table");
    writeln!(
        out,
        "column family {:?}: {tables}: {}",
        family.name(),
        match &levels[..] {
            [] => "nothing to check".to_owned(),
            levels => levels.join(", "),
        }
    )
}

/// Tables in the directory that no family has.
fn unnamed_tables(dir: &Path, versions: &VersionSet) -> partita::Result<BTreeSet<FileName>> {
    let live = versions.live_tables();
    let names = DiskFileSystem.list(dir)?;
    let unnamed = names.iter().filter_map(|name| match FileName::parse(name)? {
        FileName::Table(number) if !live.contains(&number) => Some(FileName::Table(number)),
        _ => None,
    });
    Ok(unnamed.collect())
}
