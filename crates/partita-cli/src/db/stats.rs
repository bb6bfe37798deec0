//! `partita db stats`: what a database consists of, by column family and level.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use partita::Result;
use partita::cache::{Cache, CacheStats, Role};
use partita::db::{ColumnFamily, Db, DbBuilder};
use partita::io::DiskFileSystem;
use partita::version::{DEFAULT_FAMILY_NAME, VersionSet, VersionSetOptions};
use serde::Serialize;

use crate::columns::{self, Side};
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::progress::Progress;
use crate::units::{count, size};

/// Memory that the tables are opened in.
const CACHE_BYTES: usize = 1 << 30;

/// Print what a database consists of.
///
/// For each column family and level: tables, their bytes, and by the tables' own properties how many entries they hold and
/// how many of these are deletions, merge operands and range deletions; and about how many keys that makes, with what
/// only the logs hold. Then what it takes in memory to have all tables open and the logs replayed, by role.
///
/// With --property, one of RocksDB's properties of a column family instead; with --prometheus, all that are numbers, and the
/// gauges of docs/metrics.md, in Prometheus' text form. The database is opened to be read: nothing in its directory changes,
/// and what is counted since opening is what opening did.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db stats /var/lib/db
  partita db stats --json db/ | jq '.families[].levels[]'
  partita db stats --property rocksdb.estimate-num-keys --cf keys db/
  partita db stats --prometheus db/ > /var/lib/node_exporter/db.prom

--json prints one object; with --property: a number, a text, or an object of texts.
  dir, last_sequence, manifest (its number), db_id
  families  [id, name, comparator, levels [level, files, bytes, entries, deletions, merge_operands, range_deletions,
             raw_key_bytes, raw_value_bytes], estimated_keys, live_bytes, memtable_entries]
  memory    budget_bytes, usage_bytes, roles [role, bytes, pinned_bytes]

Exit code: 0 all was looked at, 1 damage was found or the property has no answer, 2 something could not be looked at.")]
pub(crate) struct Stats {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Print one of RocksDB's properties, such as rocksdb.stats.
    #[arg(long, value_name = "NAME", conflicts_with = "prometheus")]
    property: Option<String>,
    /// The column family that is asked for the property.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FAMILY_NAME, requires = "property")]
    cf: String,
    /// Print Prometheus' text form.
    #[arg(long, conflicts_with = "json")]
    prometheus: bool,
    /// Show no progress.
    #[arg(long)]
    quiet: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Stats {
    /// Prints the figures. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let result = self.open().and_then(|db| match &self.property {
            Some(name) => Ok((db.family(&self.cf)?, name))
                .map(|(family, name)| Told::Property(Answer::of(&db, &family, name))),
            None if self.prometheus => Ok(Told::Prometheus(partita_watch::describe(&db)?)),
            None => self.look(&db).map(Told::All),
        });
        let told = match result {
            Ok(found) => found,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::of_error(&error));
            }
        };
        let mut out = output::stdout();
        let outcome = match told {
            Told::Property(None) => {
                let name = self.property.as_deref().unwrap_or_default();
                output::complain(format_args!("property {name:?} has no answer"));
                Outcome::Absent
            }
            Told::Property(Some(answer)) => {
                answer.write(self.json, &mut out)?;
                Outcome::Clean
            }
            Told::Prometheus(text) => {
                out.write_all(text.as_bytes())?;
                Outcome::Clean
            }
            Told::All(found) => {
                self.write(&found, &mut out)?;
                Outcome::Clean
            }
        };
        out.flush()?;
        Ok(outcome)
    }

    fn write(&self, found: &Found, out: &mut Out) -> io::Result<()> {
        if !self.json {
            return found.write(out);
        }
        serde_json::to_writer(&mut *out, found)?;
        out.write_all(b"\n")
    }

    fn open(&self) -> Result<Db> {
        DbBuilder::new(&self.dir).cache(Cache::new(CACHE_BYTES)).open_read_only()
    }

    fn look(&self, db: &Db) -> Result<Found> {
        let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
        let versions = VersionSet::recover(Arc::new(DiskFileSystem), &self.dir, options)?;
        let families = db.families();
        let mut progress = Progress::new(families.len(), self.quiet);
        let of_family = |family: &ColumnFamily| {
            progress.next_file(Path::new(family.name()));
            FamilyStats::of(db, family)
        };
        let families = families.iter().map(of_family).collect::<Result<Vec<_>>>()?;
        Ok(Found {
            dir: self.dir.display().to_string(),
            last_sequence: db.visible_seqno().get(),
            manifest: versions.manifest_number().get(),
            db_id: versions.stored_identity()?,
            families,
            memory: Memory::new(&db.cache().stats()),
        })
    }
}

/// What is printed.
enum Told {
    All(Found),
    Prometheus(String),
    Property(Option<Answer>),
}

/// The answer to a property.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Number(u64),
    Map(std::collections::BTreeMap<String, String>, #[serde(skip)] String),
    Text(String),
}

impl Answer {
    fn of(db: &Db, family: &ColumnFamily, name: &str) -> Option<Self> {
        if let Some(number) = db.int_property(family, name) {
            return Some(Self::Number(number));
        }
        let text = db.property(family, name)?;
        Some(match db.map_property(family, name) {
            Some(map) => Self::Map(map, text),
            None => Self::Text(text),
        })
    }

    fn write(&self, json: bool, out: &mut Out) -> io::Result<()> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            return out.write_all(b"\n");
        }
        match self {
            Self::Number(number) => writeln!(out, "{number}"),
            Self::Map(_, text) | Self::Text(text) => writeln!(out, "{}", text.trim_matches('\n')),
        }
    }
}

/// All that is told.
#[derive(Serialize)]
struct Found {
    dir: String,
    last_sequence: u64,
    manifest: u64,
    db_id: Option<String>,
    families: Vec<FamilyStats>,
    memory: Memory,
}

impl Found {
    fn write(&self, out: &mut Out) -> io::Result<()> {
        let id = self.db_id.as_deref().unwrap_or("unknown");
        writeln!(
            out,
            "{}: last sequence number {}, manifest {}, identity {id}",
            self.dir, self.last_sequence, self.manifest
        )?;
        for family in &self.families {
            family.write(out)?;
        }
        self.memory.write(out)
    }
}

/// A column family.
#[derive(Serialize)]
struct FamilyStats {
    id: u32,
    name: String,
    comparator: String,
    levels: Vec<LevelStats>,
    estimated_keys: u64,
    live_bytes: u64,
    memtable_entries: u64,
}

impl FamilyStats {
    fn of(db: &Db, family: &ColumnFamily) -> Result<Self> {
        let stats = db.family_stats(family);
        let used = stats.levels.iter().filter(|level| level.files > 0);
        let levels =
            used.map(|level| LevelStats::of(db, family, level.level)).collect::<Result<_>>()?;
        let memtables = &stats.memtables;
        Ok(Self {
            id: stats.id,
            name: stats.name,
            comparator: family.key_order().name().to_owned(),
            levels,
            estimated_keys: db.estimate_num_keys(family)?,
            live_bytes: db.estimate_live_data_bytes(family),
            memtable_entries: memtables.active.entries + memtables.frozen.entries,
        })
    }

    fn write(&self, out: &mut Out) -> io::Result<()> {
        writeln!(out, "\ncolumn family {:?} ({}), {}", self.name, self.id, self.comparator)?;
        writeln!(
            out,
            "  about {} keys; {} entries in the logs alone; about {} of tables without old versions",
            count(self.estimated_keys),
            count(self.memtable_entries),
            size(self.live_bytes)
        )?;
        if self.levels.is_empty() {
            return writeln!(out, "  no tables");
        }
        let titles =
            ["level", "tables", "size", "entries", "deletions", "operands", "range deletions"];
        let mut rows = vec![titles.map(str::to_owned)];
        rows.extend(self.levels.iter().map(|level| level.row(&level.level.to_string())));
        let mut all = LevelStats::default();
        self.levels.iter().for_each(|level| all.add(level));
        rows.push(all.row("all"));
        for line in columns::lines(&[Side::Right; 7], &rows) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }
}

/// The tables of a level.
#[derive(Default, Serialize)]
struct LevelStats {
    level: usize,
    files: u64,
    bytes: u64,
    entries: u64,
    deletions: u64,
    merge_operands: u64,
    range_deletions: u64,
    raw_key_bytes: u64,
    raw_value_bytes: u64,
}

impl LevelStats {
    fn of(db: &Db, family: &ColumnFamily, level: usize) -> Result<Self> {
        let sums = db.table_sums(family, Some(level))?;
        Ok(Self {
            level,
            files: sums.files,
            bytes: sums.file_bytes,
            entries: sums.entries,
            deletions: sums.deletions,
            merge_operands: sums.merge_operands,
            range_deletions: sums.range_deletions,
            raw_key_bytes: sums.raw_key_bytes,
            raw_value_bytes: sums.raw_value_bytes,
        })
    }

    /// Adds what another level has. The figures stand in files and may say anything.
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.entries, other.entries),
            (&mut self.deletions, other.deletions),
            (&mut self.merge_operands, other.merge_operands),
            (&mut self.range_deletions, other.range_deletions),
            (&mut self.raw_key_bytes, other.raw_key_bytes),
            (&mut self.raw_value_bytes, other.raw_value_bytes),
        ];
        for (sum, other) in pairs {
            *sum = sum.saturating_add(other);
        }
    }

    fn row(&self, title: &str) -> [String; 7] {
        [
            title.to_owned(),
            count(self.files),
            size(self.bytes),
            count(self.entries),
            count(self.deletions),
            count(self.merge_operands),
            count(self.range_deletions),
        ]
    }
}

/// What is in memory.
#[derive(Serialize)]
struct Memory {
    budget_bytes: u64,
    usage_bytes: u64,
    roles: Vec<RoleMemory>,
}

#[derive(Serialize)]
struct RoleMemory {
    role: &'static str,
    bytes: u64,
    pinned_bytes: u64,
}

impl Memory {
    fn new(stats: &CacheStats) -> Self {
        let of_role = |role: Role| {
            let found = stats.role(role);
            let (bytes, pinned_bytes) = (found.bytes, found.pinned_bytes);
            RoleMemory { role: role.name(), bytes, pinned_bytes }
        };
        Self {
            budget_bytes: stats.budget_bytes(),
            usage_bytes: stats.usage_bytes(),
            roles: Role::ALL.map(of_role).into_iter().filter(|role| role.bytes > 0).collect(),
        }
    }

    fn write(&self, out: &mut Out) -> io::Result<()> {
        writeln!(
            out,
            "\nin memory with all tables open and the logs replayed: {}",
            size(self.usage_bytes)
        )?;
        let rows: Vec<[String; 2]> =
            self.roles.iter().map(|role| [role.role.to_owned(), size(role.bytes)]).collect();
        for line in columns::lines(&[Side::Left, Side::Right], &rows) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }
}
