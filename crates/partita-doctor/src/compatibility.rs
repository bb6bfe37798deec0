//! Compatibility: which releases of RocksDB can read the tables, and whether Partita opens them.

use std::collections::BTreeMap;

use partita::key::KeyOrder;
use partita::table::Release;
use serde::Serialize;

use crate::model::{Database, Table, TableLayout};

/// Who can read the tables of a database, as their metadata shows. Types of entries are not looked at.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compatibility {
    /// The oldest release of RocksDB that reads all of them: `6.27`; none if every release does.
    pub oldest: Option<String>,
    /// The first release that does not read all of them any more, if one is known.
    pub before: Option<String>,
    /// Tables by the release that they need and why, the newest first.
    pub needs: Vec<Need>,
    /// What keeps Partita from opening tables or families.
    pub refused: Vec<Refusal>,
}

/// Tables that need the same release for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The release; none if every one reads them.
    pub release: Option<String>,
    /// What they have that older ones do not read.
    pub because: Vec<String>,
    /// How many there are.
    pub tables: u64,
    /// One of them.
    pub example: String,
}

/// A reason for which Partita does not open tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// In words.
    pub because: String,
    /// How many tables it concerns.
    pub tables: u64,
}

impl Compatibility {
    /// Whether Partita opens all of it.
    pub fn opens_in_partita(&self) -> bool {
        self.refused.is_empty()
    }
}

/// What the tables of a database need.
pub fn compatibility(database: &Database) -> Compatibility {
    let mut needs = BTreeMap::<(Option<Release>, Vec<String>), (u64, String)>::new();
    let mut before: Option<Release> = None;
    for (table, layout) in database.layouts() {
        let oldest = layout.readers.oldest();
        let because = layout.readers.required.iter().filter(|one| Some(one.release) == oldest);
        let because = because.map(|one| one.feature.clone()).collect();
        let need = needs.entry((oldest, because)).or_insert_with(|| (0, table.name()));
        need.0 += 1;
        if let Some(end) = layout.readers.first_without() {
            before = Some(before.map_or(end, |before| before.min(end)));
        }
    }
    let oldest = needs.keys().filter_map(|(release, _)| *release).max();
    let text = |release: Option<Release>| release.map(|release| release.to_string());
    Compatibility {
        oldest: text(oldest),
        before: text(before),
        needs: needs
            .into_iter()
            .rev()
            .map(|((release, because), (tables, example))| Need {
                release: text(release),
                because,
                tables,
                example,
            })
            .collect(),
        refused: refused(database),
    }
}

fn refused(database: &Database) -> Vec<Refusal> {
    let mut reasons = BTreeMap::<String, u64>::new();
    let unsupported = |(_, layout): (&Table, &TableLayout)| {
        let problem = layout.refused.as_ref().filter(|problem| problem.is_unsupported)?;
        Some(problem.reason.clone())
    };
    for reason in database.layouts().filter_map(unsupported) {
        *reasons.entry(reason).or_default() += 1;
    }
    // A family may have no tables yet, and an order all the same.
    for family in &database.families {
        let is_empty = !database.tables.iter().any(|table| table.family == family.id);
        if is_empty && KeyOrder::builtin(&family.comparator).is_none() {
            let reason = format!(
                "comparator {:?} of family {:?}, which the program has to register",
                family.comparator, family.name
            );
            reasons.entry(reason).or_default();
        }
    }
    reasons.into_iter().map(|(because, tables)| Refusal { because, tables }).collect()
}
