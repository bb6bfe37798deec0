//! The shape of a database as a table: levels of each family, and how its tables are made.

use std::io::{self, Write};

use partita_doctor::compatibility::{Compatibility, Need};
use partita_doctor::model::Verified;
use partita_doctor::shape::{FamilyShape, Make, Shape, Sums};

use crate::columns::{self, Side};
use crate::units::{count, counted, share, size};

/// Families that are told one by one: those with the most bytes.
const FAMILIES_MAX: usize = 8;
/// Makes of tables that are told.
const MAKES_MAX: usize = 4;

/// Prints it.
pub(super) fn write(out: &mut impl Write, shape: &Shape) -> io::Result<()> {
    if shape.total.files == 0 {
        return writeln!(out, "  no tables");
    }
    let mut families: Vec<&FamilyShape> = shape.families.iter().collect();
    families.sort_by_key(|family| std::cmp::Reverse(family.total.bytes));
    write_levels(out, shape, &families)?;
    write_makes(out, &families)?;
    write_metadata(out, shape)
}

fn write_levels(out: &mut impl Write, shape: &Shape, families: &[&FamilyShape]) -> io::Result<()> {
    let mut rows = vec![header()];
    for family in families.iter().take(FAMILIES_MAX) {
        for (at, level) in family.levels.iter().enumerate() {
            let name = if at == 0 { family.name.clone() } else { String::new() };
            rows.push(row(name, format!("L{}", level.level), &level.total));
        }
    }
    if families.len() > 1 || families.first().is_some_and(|family| family.levels.len() > 1) {
        let name = match families.len() - families.len().min(FAMILIES_MAX) {
            0 => "all".to_owned(),
            more => format!("all, with {more} more"),
        };
        rows.push(row(name, String::new(), &shape.total));
    }
    leave_out_empty_columns(&mut rows);
    let sides: Vec<Side> = (0..rows[0].len())
        .map(|column| if column < 2 { Side::Left } else { Side::Right })
        .collect();
    for line in columns::lines(&sides, &rows) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn header() -> Vec<String> {
    [
        "family",
        "level",
        "tables",
        "bytes",
        "entries",
        "deletions",
        "ranges",
        "merges",
        "data",
        "filter",
        "index",
        "top levels",
        "dictionaries",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn row(family: String, level: String, sums: &Sums) -> Vec<String> {
    let counts = [sums.deletions, sums.range_deletions, sums.merge_operands];
    let sizes = [
        sums.data_bytes,
        sums.filter_bytes,
        sums.index_bytes,
        sums.top_level_bytes,
        sums.dictionary_bytes,
    ];
    let mut row = vec![family, level, count(sums.files), size(sums.bytes), count(sums.entries)];
    row.extend(counts.map(|number| some(number, count)));
    row.extend(sizes.map(|bytes| some(bytes, size)));
    row
}

fn some(value: u64, text: fn(u64) -> String) -> String {
    if value == 0 { String::new() } else { text(value) }
}

/// A column in which no row has anything says nothing.
fn leave_out_empty_columns(rows: &mut [Vec<String>]) {
    for column in (2..rows[0].len()).rev() {
        if rows[1..].iter().all(|row| row[column].is_empty()) {
            for row in rows.iter_mut() {
                row.remove(column);
            }
        }
    }
}

fn write_makes(out: &mut impl Write, families: &[&FamilyShape]) -> io::Result<()> {
    let makes = makes(families);
    for (make, names) in makes.iter().take(MAKES_MAX) {
        let whose = match names.as_slice() {
            _ if families.len() < 2 => String::new(),
            [one] => format!(" (family {one})"),
            names => format!(" ({})", counted(names.len() as u64, "family")),
        };
        writeln!(out, "  {}{whose}", make_in_words(make))?;
    }
    let more = makes.len().saturating_sub(MAKES_MAX) as u64;
    if more > 0 {
        writeln!(out, "  … and {}", counted(more, "more make"))?;
    }
    Ok(())
}

/// The makes of all families, that with the most bytes first, with the families that have it.
fn makes<'f>(families: &[&'f FamilyShape]) -> Vec<(Make, Vec<&'f str>)> {
    let mut makes = Vec::<(Make, Vec<&str>)>::new();
    for family in families {
        for make in &family.makes {
            match makes.iter_mut().find(|(known, _)| known.make == make.make) {
                Some((known, names)) => {
                    known.files += make.files;
                    known.bytes += make.bytes;
                    names.push(&family.name);
                }
                None => makes.push((make.clone(), vec![&family.name])),
            }
        }
    }
    makes.sort_by_key(|(make, _)| std::cmp::Reverse(make.bytes));
    makes
}

fn make_in_words(make: &Make) -> String {
    let of = &make.make;
    let policy = match &of.policy {
        Some(policy) if of.filter.as_str() != "no filter" => format!(" ({policy})"),
        _ => String::new(),
    };
    let filter = match of.filter.as_str() {
        "no filter" => "no filter".to_owned(),
        shape => format!("{shape} filter"),
    };
    format!(
        "{} with {filter}{policy}, index {}, format version {}, {}",
        counted(make.files, "table"),
        of.index,
        of.format_version,
        of.checksum
    )
}

fn write_metadata(out: &mut impl Write, shape: &Shape) -> io::Result<()> {
    let need = &shape.metadata;
    let filters = match shape.total.filter_bytes {
        0 => "no filters".to_owned(),
        _ => format!(
            "{} of it filters, {} of these on the last level",
            share(need.filter_share),
            share(need.last_level_filter_share)
        ),
    };
    writeln!(
        out,
        "  metadata: {} in memory ({filters}); twice the data needs {} more",
        size(need.now_bytes),
        size(need.next_doubling_adds_bytes)
    )
}

/// Reasons that are told.
const NEEDS_MAX: usize = 3;

/// Prints who can read the tables.
pub(super) fn write_compatibility(out: &mut impl Write, found: &Compatibility) -> io::Result<()> {
    if found.needs.is_empty() {
        return Ok(());
    }
    let readers = match (&found.oldest, &found.before) {
        (None, None) => "every RocksDB".to_owned(),
        (None, Some(end)) => format!("RocksDB before {end}"),
        (Some(oldest), None) => format!("RocksDB {oldest} and later"),
        (Some(oldest), Some(end)) => format!("RocksDB {oldest} and later, before {end}"),
    };
    let needs = found.needs.iter().filter(|need| need.release.is_some()).take(NEEDS_MAX);
    let needs: Vec<String> = needs.map(need_in_words).collect();
    let because = if needs.is_empty() { String::new() } else { format!(" ({})", needs.join("; ")) };
    let partita = if found.opens_in_partita() { "; Partita opens it" } else { "" };
    writeln!(out, "  read by: {readers}{because}{partita}")
}

fn need_in_words(need: &Need) -> String {
    format!(
        "{}: {} in {}",
        need.release.as_deref().unwrap_or_default(),
        need.because.join(", "),
        counted(need.tables, "table")
    )
}

/// Prints what was verified.
pub(super) fn write_verified(out: &mut impl Write, found: &Verified) -> io::Result<()> {
    let result = match found.damaged_tables {
        0 => "all of them whole".to_owned(),
        damaged => format!("{} damaged", counted(damaged, "table")),
    };
    writeln!(
        out,
        "  verified: {} in {} of {}, {result}",
        size(found.bytes),
        counted(found.blocks, "block"),
        counted(found.tables, "table")
    )?;
    if let Some(why) = &found.why_unordered {
        let tables = counted(found.unordered_tables, "table");
        writeln!(out, "  the order of keys was not checked in {tables}: {why}")?;
    }
    Ok(())
}
