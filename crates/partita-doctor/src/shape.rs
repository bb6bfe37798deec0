//! Shape: what a database is made of, by family and level, and what its metadata needs of memory.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{Database, FilterShape, Table, TableLayout, TableState};

/// Sums over tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Tables that the manifest names.
    pub files: u64,
    /// Those of them that could not be looked at: they count with their files and bytes only.
    pub unseen_files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Entries, tombstones of single keys among them.
    pub entries: u64,
    /// Tombstones of single keys.
    pub deletions: u64,
    /// Range tombstones.
    pub range_deletions: u64,
    /// Merge operands.
    pub merge_operands: u64,
    /// Data blocks as they are stored.
    pub data_bytes: u64,
    /// Filter blocks or partitions.
    pub filter_bytes: u64,
    /// Index blocks or partitions, before compression.
    pub index_bytes: u64,
    /// Top levels of both.
    pub top_level_bytes: u64,
    /// Compression dictionaries.
    pub dictionary_bytes: u64,
    /// Blocks of range tombstones.
    pub range_deletion_bytes: u64,
}

impl Sums {
    fn add(&mut self, table: &Table) {
        self.files += 1;
        self.bytes += table.file_bytes;
        let Some(layout) = table.layout() else {
            self.unseen_files += 1;
            return;
        };
        self.entries += layout.entries;
        self.deletions += layout.deletions;
        self.range_deletions += layout.range_deletions;
        self.merge_operands += layout.merge_operands;
        self.data_bytes += layout.data.bytes;
        self.filter_bytes += layout.filter.pieces.bytes;
        self.index_bytes += layout.index.pieces.bytes;
        self.top_level_bytes += layout.filter.top_level_bytes + layout.index.top_level_bytes;
        self.dictionary_bytes += layout.dictionary_bytes;
        self.range_deletion_bytes += layout.range_deletion_bytes;
    }

    /// All that is no data: what memory is needed for to read any key without reading metadata.
    pub fn metadata_bytes(&self) -> u64 {
        self.filter_bytes
            + self.index_bytes
            + self.top_level_bytes
            + self.dictionary_bytes
            + self.range_deletion_bytes
    }
}

/// A database.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Shape {
    /// All families together.
    pub total: Sums,
    /// What metadata needs of memory.
    pub metadata: MetadataNeed,
    /// Each family that has tables.
    pub families: Vec<FamilyShape>,
    /// Families without tables.
    pub empty_families: u64,
}

/// A column family.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FamilyShape {
    /// Its name.
    pub name: String,
    /// The name of its comparator.
    pub comparator: String,
    /// All levels together.
    pub total: Sums,
    /// Each level that has tables.
    pub levels: Vec<LevelShape>,
    /// Its tables by their make, the one with the most bytes first.
    pub makes: Vec<Make>,
}

/// A level of a family.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LevelShape {
    /// Its number.
    pub level: u32,
    /// Its tables.
    pub total: Sums,
}

/// Tables of one make.
#[derive(Clone, Debug, Serialize)]
pub struct Make {
    /// How they are made.
    #[serde(flatten)]
    pub make: MakeOf,
    /// How many there are.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How a table is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MakeOf {
    /// The layout of the filter.
    pub filter: FilterShape,
    /// The filter's policy.
    pub policy: Option<String>,
    /// RocksDB's name of the index type.
    pub index: &'static str,
    /// The format version.
    pub format_version: u32,
    /// The checksum of its blocks.
    pub checksum: &'static str,
}

impl MakeOf {
    fn new(layout: &TableLayout) -> Self {
        Self {
            filter: layout.filter.shape,
            policy: layout.filter.policy.clone(),
            index: layout.index.index_type,
            format_version: layout.format_version,
            checksum: layout.checksum,
        }
    }
}

/// What metadata needs of memory.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MetadataNeed {
    /// All of it: filters, indexes, top levels, dictionaries, range tombstones.
    pub now_bytes: u64,
    /// What each doubling of the data adds the first time: as much again.
    pub next_doubling_adds_bytes: u64,
    /// The filters' share of it.
    pub filter_share: f64,
    /// Of the filters' bytes, the share on the last level of each family.
    pub last_level_filter_share: f64,
}

/// The shape of a database.
pub fn shape(database: &Database) -> Shape {
    let mut shape = Shape::default();
    let mut last_level_filters = 0;
    for family in &database.families {
        let tables: Vec<&Table> =
            database.tables.iter().filter(|table| table.family == family.id).collect();
        if tables.is_empty() {
            shape.empty_families += 1;
            continue;
        }
        let found = family_shape(&family.name, &family.comparator, &tables);
        last_level_filters += found.levels.last().map_or(0, |level| level.total.filter_bytes);
        shape.families.push(found);
        for table in tables {
            shape.total.add(table);
        }
    }
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let now_bytes = shape.total.metadata_bytes();
    shape.metadata = MetadataNeed {
        now_bytes,
        next_doubling_adds_bytes: now_bytes,
        filter_share: share(shape.total.filter_bytes, now_bytes),
        last_level_filter_share: share(last_level_filters, shape.total.filter_bytes),
    };
    shape
}

fn family_shape(name: &str, comparator: &str, tables: &[&Table]) -> FamilyShape {
    let mut levels = BTreeMap::<u32, Sums>::new();
    let mut makes = BTreeMap::<MakeOf, (u64, u64)>::new();
    let mut total = Sums::default();
    for table in tables {
        total.add(table);
        levels.entry(table.level).or_default().add(table);
        if let TableState::Seen(layout) = &table.state {
            let make = makes.entry(MakeOf::new(layout)).or_default();
            make.0 += 1;
            make.1 += table.file_bytes;
        }
    }
    let mut makes: Vec<Make> =
        makes.into_iter().map(|(make, (files, bytes))| Make { make, files, bytes }).collect();
    makes.sort_by_key(|make| std::cmp::Reverse(make.bytes));
    FamilyShape {
        name: name.to_owned(),
        comparator: comparator.to_owned(),
        total,
        levels: levels.into_iter().map(|(level, total)| LevelShape { level, total }).collect(),
        makes,
    }
}
