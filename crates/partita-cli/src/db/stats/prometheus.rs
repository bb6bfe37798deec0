//! Figures in Prometheus' text form.
//!
//! ```text
//! # HELP rocksdb_estimate_num_keys Keys, as far as entries less deletions tell.
//! # TYPE rocksdb_estimate_num_keys gauge
//! rocksdb_estimate_num_keys{family="default"} 4711
//! ```
//!
//! Properties that are numbers have RocksDB's names; what is told by level and by role has names of its own.

use std::io::{self, Write};

use partita::cache::Role;
use partita::db::Db;
use partita::statistics::{Property, PropertyKind};

use super::{Found, LevelStats};

/// Writes all figures.
pub(super) fn write(db: &Db, found: &Found, out: &mut impl Write) -> io::Result<()> {
    write_properties(db, out)?;
    write_levels(found, out)?;
    let cache = db.cache().stats();
    head(out, "partita_cache_bytes", "Bytes that are charged to the budget, by role.")?;
    for role in Role::ALL {
        let bytes = cache.role(role).bytes;
        writeln!(out, "partita_cache_bytes{{role=\"{}\"}} {bytes}", label(role.name()))?;
    }
    Ok(())
}

fn write_properties(db: &Db, out: &mut impl Write) -> io::Result<()> {
    let families = db.families();
    let numbers = Property::PLAIN.iter().filter(|property| property.kind() == PropertyKind::Number);
    for property in numbers {
        let name = property.to_string();
        let answers: Vec<(&str, u64)> = families
            .iter()
            .filter_map(|family| Some((family.name(), db.int_property(family, &name)?)))
            .collect();
        if answers.is_empty() {
            continue;
        }
        let metric = name.replace(['.', '-'], "_");
        head(out, &metric, property.doc().trim())?;
        for (family, answer) in answers {
            writeln!(out, "{metric}{{family=\"{}\"}} {answer}", label(family))?;
        }
    }
    Ok(())
}

/// One figure of a level.
type Figure = fn(&LevelStats) -> u64;

fn write_levels(found: &Found, out: &mut impl Write) -> io::Result<()> {
    let figures: [(&str, &str, Figure); 6] = [
        ("files", "Tables of a level.", |level| level.files),
        ("bytes", "Bytes of the tables of a level.", |level| level.bytes),
        ("entries", "Entries in the tables of a level.", |level| level.entries),
        ("deletions", "Deletions among them.", |level| level.deletions),
        ("merge_operands", "Merge operands among them.", |level| level.merge_operands),
        ("range_deletions", "Range deletions among them.", |level| level.range_deletions),
    ];
    for (name, help, of) in figures {
        let metric = format!("partita_level_{name}");
        head(out, &metric, help)?;
        for family in &found.families {
            for level in &family.levels {
                let (name, number) = (label(&family.name), level.level);
                writeln!(out, "{metric}{{family=\"{name}\",level=\"{number}\"}} {}", of(level))?;
            }
        }
    }
    Ok(())
}

fn head(out: &mut impl Write, metric: &str, help: &str) -> io::Result<()> {
    writeln!(out, "# HELP {metric} {help}\n# TYPE {metric} gauge")
}

/// The value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn values_of_labels_are_escaped() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
