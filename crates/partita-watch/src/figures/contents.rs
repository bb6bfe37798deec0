//! What only reading the tables' properties tells, and RocksDB's properties: for whoever opens a database, looks once and goes.

use partita::Result;
use partita::db::{Db, TableSums};
use partita::statistics::{Property, PropertyKind};

use super::read::Sample;

/// What the tables of a level hold, by their own properties.
#[derive(Clone, Debug)]
pub(crate) struct LevelContents {
    pub(crate) family: String,
    pub(crate) level: usize,
    pub(crate) sums: TableSums,
}

/// Of all levels that have tables. Those that are not open yet are opened.
pub(crate) fn contents(db: &Db) -> Result<Vec<LevelContents>> {
    let mut found = Vec::new();
    for family in db.families() {
        let stats = db.family_stats(&family);
        for level in stats.levels.iter().filter(|level| level.files > 0) {
            let (family_name, level) = (stats.name.clone(), level.level);
            let sums = db.table_sums(&family, Some(level))?;
            found.push(LevelContents { family: family_name, level, sums });
        }
    }
    Ok(found)
}

/// RocksDB's properties that are numbers, under its names with `_` for what Prometheus does not take.
pub(crate) fn properties(db: &Db) -> Vec<(Property, Vec<Sample>)> {
    let families = db.families();
    let numbers = Property::PLAIN.iter().filter(|property| property.kind() == PropertyKind::Number);
    let of_each = numbers.map(|&property| {
        let name = property.to_string();
        let answer = |family| db.int_property(family, &name);
        let samples = families.iter().filter_map(|family| {
            let labels = vec![family.name().to_owned()];
            Some(Sample { labels, value: answer(family)?.into() })
        });
        (property, samples.collect())
    });
    of_each.collect()
}
