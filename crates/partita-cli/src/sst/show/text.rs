//! A report as text that is read at a glance.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::report::{Entries, Filter, Index, ReadableBy, Report, release_numbers};
use crate::columns::{self, Side};
use crate::units::{count, counted, exact_size, size};

/// Prints the report of one table.
pub(super) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}", report.file)?;
    let mut facts = Facts::default();
    facts.say("size", exact_size(report.file_bytes));
    facts.say("format", format_line(report));
    facts.say("readable by", report.readable_by.in_words.clone());
    reasons(&mut facts, &report.readable_by);
    entries(&mut facts, &report.entries);
    index(&mut facts, &report.index);
    filter(&mut facts, &report.filter);
    facts.write(out)?;
    writeln!(out)?;
    blocks(out, report)?;
    writeln!(out)?;
    properties(out, report)?;
    if !report.warnings.is_empty() {
        writeln!(out)?;
        for warning in &report.warnings {
            writeln!(out, "  warning: {warning}")?;
        }
    }
    Ok(())
}

/// Lines of a name and what is to be said about it.
#[derive(Default)]
struct Facts(Vec<[String; 2]>);

impl Facts {
    fn say(&mut self, name: &str, what: String) {
        self.0.push([name.to_owned(), what]);
    }

    fn more(&mut self, what: String) {
        self.0.push([String::new(), what]);
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for line in columns::lines(&[Side::Left, Side::Left], &self.0) {
            // A line without a name starts with spaces already.
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }
}

fn format_line(report: &Report) -> String {
    let format = &report.format;
    let checksum = match format.checksum {
        "kNoChecksum" => "no checksums".to_owned(),
        name => format!("{} checksums", name.strip_prefix('k').unwrap_or(name)),
    };
    match format.base_context {
        Some(base) => {
            format!("version {}, {checksum} bound to the file by {base:#010x}", format.version)
        }
        None => format!("version {}, {checksum}", format.version),
    }
}

/// Which release brought what the table uses, newest first; its filter can be done without.
fn reasons(facts: &mut Facts, readable_by: &ReadableBy) {
    let features = readable_by.because.iter().map(|why| (&why.release, why.feature.as_str()));
    let filter =
        readable_by.filter_used_since.iter().map(|since| (since, "needed to use its filter"));
    let mut reasons: Vec<_> = features.chain(filter).collect();
    reasons.sort_by_key(|(release, _)| Reverse(release_numbers(release)));
    for (release, feature) in reasons {
        facts.more(format!("{release:<5} {feature}"));
    }
}

fn entries(facts: &mut Facts, entries: &Entries) {
    let total = entries.total.map_or("not recorded".to_owned(), count);
    let parts = [
        (entries.deletions, "deletion"),
        (entries.merge_operands, "merge operand"),
        (entries.range_tombstones, "range tombstone"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(value, noun)| Some(counted(value.filter(|value| *value > 0)?, noun)))
        .collect();
    let among = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    facts.say("entries", format!("{total}{among}"));
    if let Some([first, last]) = &entries.keys_in_words {
        facts.say("first key", first.clone());
        facts.say("last key", last.clone());
    }
    if let (Some(smallest), Some(largest)) = (entries.smallest_seqno, entries.largest_seqno) {
        facts.say("seqnos", format!("{smallest} to {largest}"));
    }
    if let Some(global) = entries.global_seqno {
        let given = match global {
            0 => "given by the MANIFEST once the file is ingested".to_owned(),
            _ => format!("{global}, for all entries"),
        };
        facts.say("global seqno", given);
    }
}

fn index(facts: &mut Facts, index: &Index) {
    let keys = if index.keys_are_user_keys { "user keys" } else { "internal keys" };
    let values = if index.values_are_delta_encoded { ", delta-encoded" } else { "" };
    facts.say("index", format!("{}, {keys}{values}", index.index_type));
    facts.more(pieces(index.pieces, index.stored_bytes, index.largest_piece_bytes));
    if let Some(top_level) = index.top_level_bytes {
        facts.more(format!("top level of {}", size(top_level)));
    }
}

fn pieces(pieces: u64, bytes: u64, largest: u64) -> String {
    match pieces {
        1 => format!("1 piece of {}", exact_size(bytes)),
        _ => format!(
            "{} of {} in all, largest {}",
            counted(pieces, "piece"),
            size(bytes),
            size(largest)
        ),
    }
}

fn filter(facts: &mut Facts, filter: &Filter) {
    let policy = filter.policy.as_deref().unwrap_or_default();
    match filter.layout {
        "none" => {
            let asked =
                if policy.is_empty() { String::new() } else { format!(", policy {policy}") };
            return facts.say("filter", format!("none{asked}"));
        }
        "unknown" => return facts.say("filter", format!("of unknown policy {policy}: not used")),
        "obsolete" => {
            return facts.say("filter", format!("obsolete kind, policy {policy}: not used"));
        }
        _ => {}
    }
    let kinds: Vec<&str> = filter.kinds.iter().map(|kind| kind_in_words(kind)).collect();
    facts.say("filter", format!("{} {}, policy {policy}", filter.layout, kinds.join(" and ")));
    let holds = match (filter.whole_keys, filter.prefixes) {
        (true, true) => "whole keys and prefixes",
        (true, false) => "whole keys",
        (false, true) => "prefixes",
        (false, false) => "nothing",
    };
    let entries = filter.entries.map_or(String::new(), |entries| format!(" {}", count(entries)));
    let bits = filter.bits_per_entry.map_or(String::new(), |bits| format!(", {bits:.1} bits each"));
    facts.more(format!("holds{entries} {holds}{bits}"));
    facts.more(pieces(filter.pieces, filter.stored_bytes, filter.largest_piece_bytes));
    if let Some(top_level) = filter.top_level_bytes {
        facts.more(format!("top level of {}", size(top_level)));
    }
}

fn kind_in_words(kind: &str) -> &str {
    match kind {
        "bloom" => "Bloom filter",
        "legacy-bloom" => "legacy Bloom filter",
        "ribbon" => "Ribbon filter",
        "empty" => "empty filter",
        "always-true" => "filter that matches every key",
        other => other,
    }
}

fn blocks(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let header = ["blocks", "count", "stored", "uncompressed", "largest", "compression"];
    let mut rows = vec![header.map(str::to_owned)];
    for group in &report.blocks {
        let compression: Vec<String> = group
            .compression
            .iter()
            .map(|(name, blocks)| format!("{name} {}", count(*blocks)))
            .collect();
        rows.push([
            group.role.to_owned(),
            count(group.count),
            size(group.stored_bytes),
            group.uncompressed_bytes.map_or("?".to_owned(), size),
            size(group.largest_bytes),
            compression.join(", "),
        ]);
    }
    let sides = [Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Left];
    for line in columns::lines(&sides, &rows) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn properties(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "  properties")?;
    let rows: Vec<[String; 2]> = report
        .properties_in_words
        .iter()
        .map(|(name, value)| [name.clone(), value.clone()])
        .collect();
    for line in columns::lines(&[Side::Left, Side::Left], &rows) {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}
