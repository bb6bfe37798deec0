//! RocksDB beside Partita in the load of an object store's metadata.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use partita::cache::Cache;
use partita::db::{Db, DbBuilder, IterOptions, ReadOptions};
use partita_bench::layout::Layout;
use partita_bench::objects::{
    Contender, Contents, Engine, Engines, Load, Opening, PARTITA, Report, Sum, open_partita,
};

use crate::rocks_families::{Families, FamiliesOptions, Metadata};
use crate::rocks_objects::{RocksObjects, family_names};

/// Both engines, RocksDB in the three ways that its users have.
#[derive(Clone, Copy, Debug)]
pub struct Both;

/// RocksDB with Ozone's SSD profile: index and filter in the block cache.
const CACHED: &str = "rocksdb-cached";
/// The same with index and filter outside of it.
const OUTSIDE: &str = "rocksdb-outside";
/// The same with index and filter in the block cache in partitions.
const PARTITIONED: &str = "rocksdb-partitioned";

/// Who can be loaded: names, and how index and filter are stored.
pub const CONTENDERS: [(&str, &str, Layout); 5] = [
    ("partita", PARTITA, Layout::Partitioned),
    ("partita-full", PARTITA, Layout::Full),
    (CACHED, CACHED, Layout::Full),
    (OUTSIDE, OUTSIDE, Layout::Full),
    (PARTITIONED, PARTITIONED, Layout::Partitioned),
];

/// Those of these names.
///
/// * Errors: a name that nobody has.
pub fn contenders<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Vec<Contender>, String> {
    let contender = |name: &str| {
        let known = CONTENDERS.iter().find(|(known, _, _)| *known == name);
        let (name, engine, layout) = known.ok_or_else(|| {
            let names = CONTENDERS.map(|(name, _, _)| name).join(", ");
            format!("there is no engine {name:?}: {names}")
        })?;
        Ok(Contender { name: (*name).to_owned(), engine: (*engine).to_owned(), layout: *layout })
    };
    names.into_iter().map(contender).collect()
}

fn metadata(engine: &str) -> Result<Metadata, String> {
    match engine {
        CACHED => Ok(Metadata::InCache),
        OUTSIDE => Ok(Metadata::Outside),
        PARTITIONED => Ok(Metadata::Partitioned),
        _ => Err(format!("there is no engine {engine:?}")),
    }
}

impl Engines for Both {
    fn open(&self, engine: &str, dir: &Path, opening: &Opening) -> Result<Box<dyn Engine>, String> {
        if engine == PARTITA {
            return open_partita(dir, opening);
        }
        let metadata = metadata(engine)?;
        let options =
            FamiliesOptions { metadata, cache_bytes: opening.budget_bytes, only_read: false };
        Ok(Box::new(RocksObjects::open(dir, options)?))
    }

    /// Both engines read the store, whoever wrote it, and have to find the same.
    fn contents(&self, dir: &Path) -> Result<Option<Contents>, String> {
        let (partita, rocks) = (contents_by_partita(dir)?, contents_by_rocks(dir)?);
        if partita != rocks {
            return Err(format!("{}: {}", dir.display(), difference(&partita, &rocks)));
        }
        Ok(Some(partita))
    }
}

/// Memory of who reads all of a store.
const READ_BYTES: usize = 64 << 20;

/// What Partita finds in a store.
pub fn contents_by_partita(dir: &Path) -> Result<Contents, String> {
    let said = |error: partita::Error| error.to_string();
    let db: Db =
        DbBuilder::new(dir).cache(Cache::new(READ_BYTES)).open_read_only().map_err(said)?;
    let mut contents = Contents::default();
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let options = IterOptions { read, ..IterOptions::default() };
    for family in db.families() {
        let mut iter = db.iter_cf(&family, options.clone()).map_err(said)?;
        iter.seek_to_first().map_err(said)?;
        while iter.is_valid() {
            contents.add(family.name(), iter.key(), iter.value())?;
            iter.next().map_err(said)?;
        }
    }
    Ok(contents)
}

/// What RocksDB finds in a store.
pub fn contents_by_rocks(dir: &Path) -> Result<Contents, String> {
    let names = family_names();
    let options = FamiliesOptions {
        metadata: Metadata::InCache,
        cache_bytes: READ_BYTES as u64,
        only_read: true,
    };
    let families = Families::open(dir, &names, options)?;
    let mut contents = Contents::default();
    for (family, name) in names.iter().enumerate() {
        let mut added = Ok(());
        families.walk(family, b"", false, &mut |key, row| {
            added = contents.add(name, key, row);
            added.is_ok()
        })?;
        added?;
    }
    Ok(contents)
}

/// Which tables differ, and by how much.
pub fn difference(one: &Contents, other: &Contents) -> String {
    let mut text = String::new();
    let names = one.tables.keys().chain(other.tables.keys());
    let names: BTreeSet<&String> = names.collect();
    for name in names {
        let (one, other) = (one.tables.get(name), other.tables.get(name));
        if one != other {
            let rows = |sum: Option<&Sum>| sum.map_or(0, |sum| sum.rows);
            let _ = write!(text, "{name} differs, of {} and {} rows; ", rows(one), rows(other));
        }
    }
    text
}

/// Whether all stores have the same rows.
///
/// * Errors: which differ.
pub fn agreed(report: &Report) -> Result<(), String> {
    let mut known: Option<(&Load, &Contents)> = None;
    for load in &report.loads {
        let Some(contents) = &load.contents else { continue };
        match known {
            Some((first, expected)) if contents != expected => {
                let names = [&first.loaded.name, &load.loaded.name];
                let found = difference(expected, contents);
                return Err(format!("{} and {}: {found}", names[0], names[1]));
            }
            Some(_) => {}
            None => known = Some((load, contents)),
        }
    }
    Ok(())
}

/// A column of the comparison: its title, its value, and how many decimals it has.
type Column = (&'static str, fn(&Load) -> Option<f64>, usize);

const COLUMNS: [Column; 8] = [
    ("keys/s", |load| Some(load.rate()), 0),
    ("last tenth", |load| Some(load.first_and_last_rate()?.1), 0),
    ("last/second", |load| load.first_and_last_rate().map(|(first, last)| last / first), 2),
    ("CPU us", |load| Some(cpu_us(load)), 1),
    ("w-amp", |load| load.write_amplification().last().copied(), 1),
    ("peak MiB", |load| Some(peak_mib(load)), 0),
    ("longest s", |load| Some(load.longest_seconds()), 2),
    ("back in s", |load| load.recovery?.seconds, 1),
];

fn cpu_us(load: &Load) -> f64 {
    let seconds: f64 = load.rows.iter().map(|row| row.cpu_seconds).sum();
    let rounds: u64 = load.rows.iter().map(|row| row.rounds).sum();
    seconds * 1e6 / rounds as f64
}

fn peak_mib(load: &Load) -> f64 {
    let peak = load.rows.iter().map(|row| row.resident_bytes).max().unwrap_or(0);
    peak as f64 / f64::from(1 << 20)
}

/// All loads in a line each, and how many times faster the first is than each of the others.
pub fn overview(report: &Report) -> String {
    let mut text = format!("{:<20}", "");
    for (title, _, _) in COLUMNS {
        let _ = write!(text, " {title:>11}");
    }
    text.push_str("  first is faster by: rate, last tenth\n");
    for load in &report.loads {
        let _ = write!(text, "{:<20}", load.loaded.name);
        for (_, value, decimals) in COLUMNS {
            let value = value(load).map_or("-".to_owned(), |value| format!("{value:.decimals$}"));
            let _ = write!(text, " {value:>11}");
        }
        let first = &report.loads[0];
        let last = |load: &Load| load.first_and_last_rate().map(|(_, last)| last);
        let _ = write!(text, "  {:.2}", first.rate() / load.rate());
        if let Some((one, other)) = last(first).zip(last(load)) {
            let _ = write!(text, ", {:.2}", one / other);
        }
        text.push('\n');
    }
    text
}
