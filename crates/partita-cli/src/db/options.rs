//! `partita db options`: what an options file asks for, what holds, and what is wrong with it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::db::DbBuilder;
use partita::io::DiskFileSystem;
use partita::options::file::{
    self, EffectiveOption, Finding, Mode, OptionsFile, ReadReport, Severity,
};
use partita::{Error, Result};
use partita_store::{Profile, SettingsReport};
use serde::Serialize;

use crate::columns::{self, Side};
use crate::outcome::Outcome;
use crate::output::{self, Out};

/// Read and judge an options file: RocksDB's, or one written by hand.
///
/// Told is, by line, everything that is not taken as it stands: unknown and misspelt names, values that are none,
/// duplicates, options that come to nothing together, options on which nothing acts, and a last line without an end. Then
/// come the options that are not as RocksDB has them by default, or with --effective all of them.
///
/// With --profile the file is judged as that of a typed store: it is read over the profile, its sections may be few, and
/// whatever in it comes to nothing is an error.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db options /var/lib/db                     its newest OPTIONS file
  partita db options conf/entry_location_rocksdb.conf
  partita db options --profile ssd --store /data/om.db --effective /etc/ozone/om.db.ini
  partita db options --effective --json db/ | jq '.options[] | select(.asked and .why != \"as asked\")'

--json prints one object.
  file, rocksdb_version
  findings  [severity (note, warning, error), code, line, section, option, message]
  findings_left_out  how many there are beyond the first thousand
  options   [section, family, name, asked, line, holds, effect, why]

Exit code: 0 nothing is wrong, 1 there are findings of severity \"error\", 2 the file could not be read.")]
pub(crate) struct Options {
    /// An options file, or the directory of a database.
    #[arg(value_name = "DIR|FILE", required_unless_present = "profile")]
    path: Option<PathBuf>,
    /// Show every option: what the file asks for, what holds, and why.
    #[arg(long)]
    effective: bool,
    /// Judge as a database does when it opens: what RocksDB would refuse is a warning, and left out.
    #[arg(long, conflicts_with = "profile")]
    lenient: bool,
    /// Read FILE over a store's profile: partita, ssd, disk or test. Without FILE: show the profile.
    #[arg(long, value_name = "NAME")]
    profile: Option<Profile>,
    /// The store that the file is for: sections are about its tables. Default: any name is taken for a table's.
    #[arg(long, value_name = "DIR", requires = "profile")]
    store: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Options {
    /// Reads the file and tells. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let (path, report) = match self.read() {
            Ok(read) => read,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::Unseen);
            }
        };
        let options: Vec<EffectiveOption> = report
            .effective()
            .into_iter()
            .filter(|option| self.effective || is_worth_telling(option))
            .collect();
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &Told::new(&path, &report, &options))?;
            writeln!(out)?;
        } else {
            let by = match (&report.options.rocksdb_version, &self.path) {
                (Some(version), _) => format!("by RocksDB {version}"),
                (None, Some(_)) => "written by hand".to_owned(),
                (None, None) => "built in".to_owned(),
            };
            write_text(&mut out, &path, &by, &report, &options)?;
        }
        out.flush()?;
        Ok(match report.worst() {
            Some(Severity::Error) => Outcome::Damage,
            _ => Outcome::Clean,
        })
    }
}

impl Options {
    /// What is judged, and how it was read.
    fn read(&self) -> Result<(PathBuf, ReadReport)> {
        let mode = if self.lenient { Mode::Lenient } else { Mode::Strict };
        match (self.profile, &self.path) {
            (Some(profile), path) => self.read_over(profile, path.as_deref()),
            (None, Some(path)) => read(path, mode),
            (None, None) => Err(Error::invalid_argument("neither a file nor a profile is given")),
        }
    }

    fn read_over(&self, profile: Profile, path: Option<&Path>) -> Result<(PathBuf, ReadReport)> {
        let tables = match (&self.store, path) {
            (Some(dir), _) => DbBuilder::new(dir).families_on_disk()?,
            (None, Some(path)) => tables_in(path)?,
            (None, None) => Vec::new(),
        };
        let tables = tables.iter().map(String::as_str);
        let settings = SettingsReport::read(profile, tables, &[], path, &DiskFileSystem)
            .map_err(partita_store::Error::into_cause)?;
        let shown = path.map_or_else(|| format!("profile {profile}").into(), Path::to_owned);
        Ok((shown, settings.into_report()))
    }
}

/// The column families that a file has sections of.
fn tables_in(path: &Path) -> Result<Vec<String>> {
    let text = fs::read(path).map_err(|error| Error::io("read", error).in_file(path))?;
    let text = String::from_utf8_lossy(&text);
    let name = |line: &str| {
        let (_, name) = line.trim().strip_prefix('[')?.strip_suffix(']')?.split_once(' ')?;
        Some(name.trim().trim_matches('"').to_owned())
    };
    Ok(text.lines().filter_map(name).collect())
}

/// Reads an options file, or the newest one of a directory.
fn read(path: &Path, mode: Mode) -> Result<(PathBuf, ReadReport)> {
    let path = if path.is_dir() { newest_in(path)? } else { path.to_owned() };
    let text = fs::read(&path).map_err(|error| Error::io("read", error).in_file(&path))?;
    Ok((path, OptionsFile::read(&text, mode)))
}

fn newest_in(dir: &Path) -> Result<PathBuf> {
    let listed = |error| Error::io("list", error).in_file(dir);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(listed)? {
        names.extend(entry.map_err(listed)?.file_name().into_string());
    }
    match file::newest(names.iter().map(String::as_str)) {
        Some(number) => Ok(dir.join(file::file_name(number))),
        None => Err(Error::invalid_argument("no OPTIONS file in this directory").in_file(dir)),
    }
}

/// Whether the option is set to something that RocksDB does not have by default, or comes to something else.
fn is_worth_telling(option: &EffectiveOption) -> bool {
    let default = option.section.spec(option.name).map_or("", |spec| spec.rocksdb_default);
    option.asked.as_ref().is_some_and(|asked| asked != default || option.holds != *asked)
}

fn write_text(
    out: &mut Out,
    path: &Path,
    by: &str,
    report: &ReadReport,
    options: &[EffectiveOption],
) -> io::Result<()> {
    writeln!(out, "{}: {by}, {}", path.display(), families(report.options.families.len()))?;
    for finding in &report.findings {
        writeln!(out, "{}: {finding}", path.display())?;
    }
    if report.findings_left_out > 0 {
        writeln!(out, "… and {} more findings", report.findings_left_out)?;
    }
    let mut section = String::new();
    let mut rows: Vec<[String; 4]> = Vec::new();
    for option in options {
        let title = match &option.family {
            Some(family) => format!("[{} \"{family}\"]", option.section.title()),
            None => format!("[{}]", option.section.title()),
        };
        if title != section {
            write_rows(out, &section, &mut rows)?;
            section = title;
        }
        rows.push(row(option));
    }
    write_rows(out, &section, &mut rows)
}

fn families(number: usize) -> String {
    match number {
        1 => "1 column family".to_owned(),
        number => format!("{number} column families"),
    }
}

fn row(option: &EffectiveOption) -> [String; 4] {
    let asked = match (&option.asked, option.line) {
        (Some(asked), Some(line)) if *asked != option.holds => {
            format!("asked {asked} in line {line}")
        }
        (Some(_), Some(line)) => format!("line {line}"),
        _ => "-".to_owned(),
    };
    [option.name.to_owned(), option.holds.clone(), asked, option.why.clone()]
}

fn write_rows(out: &mut Out, section: &str, rows: &mut Vec<[String; 4]>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{section}")?;
    for line in columns::lines(&[Side::Left; 4], rows) {
        writeln!(out, "  {line}")?;
    }
    rows.clear();
    Ok(())
}

/// The report as JSON.
#[derive(Serialize)]
struct Told<'r> {
    file: String,
    rocksdb_version: Option<&'r str>,
    findings: Vec<ToldFinding<'r>>,
    findings_left_out: usize,
    options: Vec<ToldOption<'r>>,
}

#[derive(Serialize)]
struct ToldFinding<'r> {
    severity: &'static str,
    code: &'static str,
    line: Option<u32>,
    section: &'r str,
    option: Option<&'r str>,
    message: &'r str,
}

#[derive(Serialize)]
struct ToldOption<'r> {
    section: &'static str,
    family: Option<&'r str>,
    name: &'static str,
    asked: Option<&'r str>,
    line: Option<u32>,
    holds: &'r str,
    effect: &'static str,
    why: &'r str,
}

impl<'r> Told<'r> {
    fn new(path: &Path, report: &'r ReadReport, options: &'r [EffectiveOption]) -> Self {
        Self {
            file: path.display().to_string(),
            rocksdb_version: report.options.rocksdb_version.as_deref(),
            findings: report.findings.iter().map(ToldFinding::new).collect(),
            findings_left_out: report.findings_left_out,
            options: options.iter().map(ToldOption::new).collect(),
        }
    }
}

impl<'r> ToldFinding<'r> {
    fn new(finding: &'r Finding) -> Self {
        Self {
            severity: finding.severity.as_str(),
            code: finding.kind.code(),
            line: finding.line,
            section: &finding.section,
            option: finding.option.as_deref(),
            message: &finding.message,
        }
    }
}

impl<'r> ToldOption<'r> {
    fn new(option: &'r EffectiveOption) -> Self {
        Self {
            section: option.section.title(),
            family: option.family.as_deref(),
            name: option.name,
            asked: option.asked.as_deref(),
            line: option.line,
            holds: &option.holds,
            effect: option.effect.as_str(),
            why: &option.why,
        }
    }
}
