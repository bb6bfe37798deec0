//! `partita db repair`: what is left of a database that does not open, in a new directory.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::Result;
use partita::db::{DbBuilder, Lost, RepairBasis, RepairOptions, RepairReport};
use partita::table::LostKeys;
use serde_json::{Value, json};

use crate::escape::Form;
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::progress::Progress;
use crate::units::{count, counted, size};

/// Make a new database of what is left of one that does not open.
///
/// Without --to nothing is written: it is told what would be kept, and what would be lost. DIR is only read, ever. It works from
/// what there is: a manifest up to damage, whatever CURRENT says, or else the tables themselves; logs up to damage; of damaged
/// tables all blocks that can be read. Tables that the manifest does not name stay out, since they may hold what was deleted.
/// A database that opens, and of which all tables and logs are whole, is refused, unless --force is given. No process may have
/// DIR open.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db repair /var/lib/db                       says what would be kept and lost
  partita db repair /var/lib/db --to /var/lib/db-repaired
  partita db repair --json db/ | jq '.lost[]'

--json prints one object.
  trouble, basis [manifest, records, damage], families [id, name, tables, bytes, log_records, merged], kept [table, family,
  level, bytes], salvaged [path, family, level, entries, damages], logs [path, bytes, batches], lost [what, path, …],
  unused [path, why], notes
Keys are hexadecimal there.

Exit code: 0 nothing is lost, or there is nothing to repair and no --to; 1 something is lost; 2 it failed, and there is no
NEW_DIR.")]
pub(crate) struct Repair {
    /// The directory of the database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The directory to be made.
    #[arg(long, value_name = "NEW_DIR", conflicts_with = "dry_run")]
    to: Option<PathBuf>,
    /// Write nothing, and say what would be kept and lost; so it is without --to, too.
    #[arg(long)]
    dry_run: bool,
    /// Write a database anew that opens.
    #[arg(long, requires = "to")]
    force: bool,
    /// Print keys in hexadecimal.
    #[arg(long)]
    hex: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long)]
    quiet: bool,
}

impl Repair {
    /// Repairs, or tells what would come of it. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let report = match self.repair() {
            Ok(report) => report,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &as_json(&report))?;
            out.write_all(b"\n")?;
        } else {
            self.write(&report, &mut out)?;
        }
        out.flush()?;
        Ok(if report.has_losses() { Outcome::Damage } else { Outcome::Clean })
    }

    fn repair(&self) -> Result<RepairReport> {
        let builder = DbBuilder::new(&self.dir);
        let mut progress = Progress::new(0, self.quiet);
        let mut seen = PathBuf::new();
        let mut watch = |path: &Path, bytes: u64| {
            if path != seen {
                path.clone_into(&mut seen);
                progress.next_file(path);
            }
            progress.tick(bytes);
        };
        match &self.to {
            None => builder.plan_repair(&mut watch),
            Some(to) => {
                let options = RepairOptions { force: self.force };
                builder.repair_to(to, &options, &mut watch)
            }
        }
    }

    fn write(&self, report: &RepairReport, out: &mut Out) -> io::Result<()> {
        match &report.trouble {
            Some(trouble) => writeln!(out, "{trouble}")?,
            None => {
                writeln!(out, "nothing to repair: it opens, and all tables and logs are whole")?;
            }
        }
        match &report.basis {
            RepairBasis::Manifest { number, records, .. } => {
                writeln!(out, "by MANIFEST-{number}, {}", counted(*records, "record"))?;
            }
            RepairBasis::Tables => writeln!(out, "by the tables themselves")?,
        }
        for family in &report.families {
            let merged = if family.merged { ", to be merged" } else { "" };
            writeln!(
                out,
                "column family {:?}: {}, {}, {} of logs{merged}",
                family.name,
                counted(family.tables, "table"),
                size(family.bytes),
                counted(family.log_records, "change"),
            )?;
        }
        for table in &report.salvaged {
            let (path, entries) = (table.path.display(), counted(table.entries, "entry"));
            writeln!(out, "salvaged: {path}: {entries}")?;
            for damage in &table.damages {
                writeln!(out, "  {damage}")?;
            }
        }
        for lost in &report.lost {
            writeln!(out, "lost: {}", self.lost(report, lost))?;
        }
        for unused in &report.unused {
            writeln!(out, "not used: {}: {}", unused.path.display(), unused.why)?;
        }
        for note in &report.notes {
            writeln!(out, "note: {note}")?;
        }
        if report.lost.is_empty() {
            writeln!(out, "nothing is lost")?;
        }
        if let (None, Some(_)) = (&self.to, &report.trouble) {
            writeln!(out, "nothing was written: --to NEW_DIR makes the repaired database")?;
        }
        Ok(())
    }

    fn lost(&self, report: &RepairReport, lost: &Lost) -> String {
        let form = Form::hex_if(self.hex);
        let name = |id: u32| {
            let family = report.families.iter().find(|family| family.id == id);
            family.map_or_else(|| id.to_string(), |family| format!("{:?}", family.name))
        };
        let path = lost.path().display();
        match lost {
            Lost::Table { family, range, why, .. } => {
                let family =
                    family.map_or(String::new(), |id| format!(" of column family {}", name(id)));
                let range = range.as_ref().map_or(String::new(), |(first, last)| {
                    format!(", keys {} to {}", form.text(first), form.text(last))
                });
                format!("{path}{family}{range}: {why}")
            }
            Lost::Keys { family, keys, .. } => {
                let LostKeys { after, up_to, blocks, .. } = keys;
                let after = after.as_ref().map_or_else(
                    || "from the first key".to_owned(),
                    |after| format!("behind {}", form.text(after)),
                );
                let blocks = counted(*blocks, "block");
                let (family, up_to) = (name(*family), form.text(up_to));
                format!("{path} of column family {family}: keys {after} up to {up_to}, {blocks}")
            }
            Lost::RangeTombstones { family, why, .. } => format!(
                "{path} of column family {}: range deletions, so that deleted keys may show again: {why}",
                name(*family)
            ),
            Lost::LogBytes { offset, bytes, families, why, torn_end, .. } => {
                let families: Vec<String> = families.iter().map(|id| name(*id)).collect();
                let families = match (&families[..], torn_end) {
                    (_, true) => ", a record that was being written".to_owned(),
                    ([], false) => ", of whichever column families".to_owned(),
                    (names, false) => format!(", of column families {} at least", names.join(", ")),
                };
                format!("{path}: {} bytes from {offset:#x} on{families}: {why}", count(*bytes))
            }
            _ => format!("{path}: the whole log"),
        }
    }
}

fn as_json(report: &RepairReport) -> Value {
    let basis = match &report.basis {
        RepairBasis::Manifest { number, records, damage } => {
            json!({ "manifest": number.get(), "records": records, "damage": damage })
        }
        RepairBasis::Tables => Value::Null,
    };
    let families: Vec<Value> = report
        .families
        .iter()
        .map(|family| {
            json!({
                "id": family.id, "name": family.name, "tables": family.tables,
                "bytes": family.bytes, "log_records": family.log_records, "merged": family.merged,
            })
        })
        .collect();
    let kept = report.kept.iter().map(|table| {
        json!({
            "table": table.number.get(), "family": table.family, "level": table.level,
            "bytes": table.bytes,
        })
    });
    let salvaged = report.salvaged.iter().map(|table| {
        json!({
            "path": table.path, "family": table.family, "level": table.level,
            "entries": table.entries, "damages": table.damages,
        })
    });
    let logs = report
        .logs
        .iter()
        .map(|log| json!({ "path": log.path, "bytes": log.bytes, "batches": log.batches }));
    let unused = report.unused.iter().map(|table| json!({ "path": table.path, "why": table.why }));
    json!({
        "trouble": report.trouble.as_ref().map(ToString::to_string),
        "basis": basis,
        "families": families,
        "kept": kept.collect::<Vec<_>>(),
        "salvaged": salvaged.collect::<Vec<_>>(),
        "logs": logs.collect::<Vec<_>>(),
        "lost": report.lost.iter().map(lost_as_json).collect::<Vec<_>>(),
        "unused": unused.collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn lost_as_json(lost: &Lost) -> Value {
    let hex = |bytes: &Vec<u8>| Form::hex_if(true).text(bytes);
    let path = lost.path();
    match lost {
        Lost::Table { family, range, why, .. } => json!({
            "what": "table", "path": path, "family": family,
            "first": range.as_ref().map(|range| hex(&range.0)),
            "last": range.as_ref().map(|range| hex(&range.1)), "why": why,
        }),
        Lost::Keys { family, keys, .. } => json!({
            "what": "keys", "path": path, "family": family,
            "after": keys.after.as_ref().map(hex), "up_to": hex(&keys.up_to),
            "blocks": keys.blocks, "why": keys.damage,
        }),
        Lost::RangeTombstones { family, why, .. } => {
            json!({ "what": "range deletions", "path": path, "family": family, "why": why })
        }
        Lost::LogBytes { offset, bytes, families, why, torn_end, .. } => json!({
            "what": "log bytes", "path": path, "offset": offset, "bytes": bytes,
            "families": families, "torn_end": torn_end, "why": why,
        }),
        _ => json!({ "what": "log", "path": path }),
    }
}
