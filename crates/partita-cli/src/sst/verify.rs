//! `partita sst verify`: every block of a table, read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::Error;
use partita::table::{PerRole, ReaderOptions, VerifyReport, verify_table};
use serde::Serialize;

use super::finding::Finding;
use super::{complain_about, open_file, outcome_of, report_inputs};
use crate::columns::{self, Side};
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::progress::Progress;
use crate::units::{count, counted, size};

/// Check every block of SST files.
///
/// Checked are the footer; the checksum, compression and structure of every block of every role; that keys ascend, within
/// blocks and across them, and keep to the separators of the index, of both levels; that the filter lets every key and
/// prefix pass; the range tombstones; and that the counts in the properties are right. Damage does not end the walk:
/// each is reported on a line of its own with file, role and offset, and everything that can still be reached is checked.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita sst verify 000012.sst
  partita sst verify /var/lib/db      all tables below a directory
  partita sst verify --json db/ | jq 'select(.status != \"clean\")'

--json prints one object a file, each on a line of its own.
  file, status (clean, damaged or unseen), complete (whether every block was reached)
  blocks (by role), blocks_total, bytes, entries, range_tombstones
  damage  [kind, role, offset, bytes, message]
A file that cannot be opened has an object, too: unseen, not complete, with the error as damage.
Complaints about such files, and about directories, go to standard error as well.

Exit code: 0 all is clean, 1 damage was found, 2 none was found, but a file could not be looked at.")]
pub(crate) struct Verify {
    /// SST files, and directories to search for them.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Print JSON: one object a file, one file a line.
    #[arg(long)]
    json: bool,
    /// Print nothing but what is wrong: no progress, no line for clean files, no sums.
    #[arg(long)]
    quiet: bool,
}

impl Verify {
    /// Checks all files. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let mut outcome = Outcome::Clean;
        let files = report_inputs(&self.paths, &mut outcome);
        let mut out = output::stdout();
        let mut progress = Progress::new(files.len(), self.quiet);
        let mut total = Total::default();
        for path in &files {
            progress.next_file(path);
            let file = match open_file(path) {
                Ok(file) => file,
                Err(error) => {
                    progress.clear();
                    complain_about(path, &error, &mut outcome);
                    total.count(Outcome::Unseen);
                    if self.json {
                        let result = FileResult::not_opened(path, error);
                        result.write_json(&mut out)?;
                        out.flush()?;
                    }
                    continue;
                }
            };
            let report = verify_table(&file, &ReaderOptions::default(), &mut |block| {
                progress.tick(block.handle.size);
            });
            let result = FileResult::new(path, report);
            total.add(&result);
            outcome.merge(result.outcome);
            progress.clear();
            if self.json {
                result.write_json(&mut out)?;
            } else {
                result.write(&mut out, self.quiet)?;
            }
            // Whoever watches a long run sees each file when it is done.
            out.flush()?;
        }
        if !self.json && !self.quiet && total.files > 0 {
            total.write(&mut out)?;
        }
        out.flush()?;
        Ok(outcome)
    }
}

/// What was found in one file.
pub(crate) struct FileResult<'f> {
    path: &'f Path,
    pub(crate) report: VerifyReport,
    /// What is wrong, damage or not: why the table does not open, if nothing else says so, stands among them.
    findings: Vec<Error>,
    pub(crate) outcome: Outcome,
}

impl<'f> FileResult<'f> {
    pub(crate) fn new(path: &'f Path, mut report: VerifyReport) -> Self {
        let mut findings = std::mem::take(&mut report.damages);
        // If there is damage, it is the reason.
        findings.extend(
            report.not_opened.take().filter(|error| !error.is_corruption() || findings.is_empty()),
        );
        let mut outcome = Outcome::Clean;
        findings.iter().for_each(|error| outcome.merge(outcome_of(path, error)));
        Self { path, report, findings, outcome }
    }

    pub(crate) fn not_opened(path: &'f Path, error: Error) -> Self {
        Self::new(path, VerifyReport { not_opened: Some(error), ..VerifyReport::default() })
    }

    /// Adds what is wrong with the file beside its blocks.
    pub(crate) fn add_finding(&mut self, error: Error) {
        self.outcome.merge(Outcome::of_error(&error));
        self.findings.push(error);
    }

    /// Blocks that at least one finding lies in.
    fn damaged_blocks(&self) -> usize {
        let is_block = |part| self.report.blocks.iter().any(|(role, _)| role.as_str() == part);
        let damages = self.findings.iter().filter(|error| error.is_corruption());
        let in_blocks = damages.filter(|error| error.part().is_some_and(is_block));
        in_blocks.filter_map(Error::offset).collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn write(&self, out: &mut Out, quiet: bool) -> io::Result<()> {
        let path = self.path.display();
        for error in &self.findings {
            writeln!(out, "{path}: {}", finding_line(error))?;
        }
        let VerifyReport { entries, range_tombstones, bytes, complete, .. } = self.report;
        let tombstones = match range_tombstones {
            0 => String::new(),
            _ => format!("{}, ", counted(range_tombstones, "range tombstone")),
        };
        let damaged = match self.damaged_blocks() {
            0 => String::new(),
            blocks => format!("{} of them damaged, ", count(blocks as u64)),
        };
        let found = format!(
            "{} checked, {damaged}{}, {tombstones}{}",
            counted(self.report.blocks_total(), "block"),
            entries_in_words(entries),
            size(bytes),
        );
        let reached = if complete { "" } else { "; not all blocks could be reached" };
        match self.outcome {
            Outcome::Clean | Outcome::Absent if quiet => Ok(()),
            Outcome::Clean | Outcome::Absent => writeln!(out, "{path}: clean: {found}"),
            Outcome::Damage => writeln!(out, "{path}: DAMAGED: {found}{reached}"),
            Outcome::Unseen => writeln!(out, "{path}: not looked at as a whole: {found}{reached}"),
        }
    }

    pub(crate) fn write_json(&self, out: &mut Out) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &self.to_json())?;
        writeln!(out)
    }

    fn to_json(&self) -> Json {
        let report = &self.report;
        Json {
            file: self.path.display().to_string(),
            status: match self.outcome {
                Outcome::Clean | Outcome::Absent => "clean",
                Outcome::Damage => "damaged",
                Outcome::Unseen => "unseen",
            },
            complete: report.complete,
            blocks: counts_by_role(&report.blocks),
            blocks_total: report.blocks_total(),
            bytes: report.bytes,
            entries: report.entries,
            range_tombstones: report.range_tombstones,
            damage: self.findings.iter().map(Finding::new).collect(),
        }
    }
}

/// `corruption: data block at 0x1000 (4096 bytes): …`, without the file, which stands before it.
fn finding_line(error: &Error) -> String {
    let mut line = format!("{}: ", error.kind());
    if let Some(part) = error.part() {
        line += part;
        if let Some(offset) = error.offset() {
            line += &format!(" at {offset:#x}");
        }
        if let Some(len) = error.byte_len() {
            line += &format!(" ({len} bytes)");
        }
        line += ": ";
    }
    line + error.message()
}

fn entries_in_words(entries: u64) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", count(entries)) }
}

fn counts_by_role(blocks: &PerRole<u64>) -> BTreeMap<&'static str, u64> {
    blocks
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(role, count)| (role.as_str(), *count))
        .collect()
}

#[derive(Serialize)]
struct Json {
    file: String,
    status: &'static str,
    complete: bool,
    blocks: BTreeMap<&'static str, u64>,
    blocks_total: u64,
    bytes: u64,
    entries: u64,
    range_tombstones: u64,
    damage: Vec<Finding>,
}

/// All files together.
#[derive(Default)]
pub(crate) struct Total {
    pub(crate) files: u64,
    damaged: u64,
    unseen: u64,
    bytes: u64,
    blocks: PerRole<u64>,
}

impl Total {
    fn count(&mut self, outcome: Outcome) {
        self.files += 1;
        self.damaged += u64::from(outcome == Outcome::Damage);
        self.unseen += u64::from(outcome == Outcome::Unseen);
    }

    pub(crate) fn add(&mut self, result: &FileResult<'_>) {
        self.count(result.outcome);
        self.bytes += result.report.bytes;
        for (role, count) in result.report.blocks.iter() {
            self.blocks[role] += count;
        }
    }

    pub(crate) fn write(&self, out: &mut Out) -> io::Result<()> {
        let mut rows: Vec<[String; 2]> = self
            .blocks
            .iter()
            .filter(|(_, blocks)| **blocks > 0)
            .map(|(role, blocks)| [role.to_string(), count(*blocks)])
            .collect();
        if !rows.is_empty() {
            writeln!(out)?;
            let all = self.blocks.iter().map(|(_, blocks)| blocks).sum();
            rows.push(["all blocks".to_owned(), count(all)]);
        }
        for line in columns::lines(&[Side::Left, Side::Right], &rows) {
            writeln!(out, "  {line}")?;
        }
        writeln!(
            out,
            "{} of {}: {} damaged, {} not looked at",
            counted(self.files, "file"),
            size(self.bytes),
            count(self.damaged),
            count(self.unseen),
        )
    }
}
