//! `partita db stats`: what a database consists of, by column family and level.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use partita::Result;
use partita::cache::{Cache, CacheStats, Role};
use partita::db::DbBuilder;
use partita::io::DiskFileSystem;
use partita::table::{ReadContext, ReaderOptions};
use partita::version::{Family, Level, OpenTables, TableCache, VersionSet, VersionSetOptions};
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
/// how many of these are deletions, merge operands and range deletions. Then what it takes in memory to have all tables
/// open and the logs replayed, by role.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db stats /var/lib/db
  partita db stats --json db/ | jq '.families[].levels[]'

--json prints one object.
  dir, last_sequence, manifest (its number), db_id
  families  [id, name, comparator, levels [level, files, bytes, entries, deletions, merge_operands, range_deletions,
             raw_key_bytes, raw_value_bytes]]
  memory    budget_bytes, usage_bytes, roles [role, bytes, pinned_bytes]

Exit code: 0 all was looked at, 1 damage was found, 2 something could not be looked at.")]
pub(crate) struct Stats {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
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
        let found = match self.look() {
            Ok(found) => found,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::of_error(&error));
            }
        };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &found)?;
            out.write_all(b"\n")?;
        } else {
            found.write(&mut out)?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn look(&self) -> Result<Found> {
        let cache = Cache::new(CACHE_BYTES);
        // The database holds what its logs add; its tables are opened here, as the database does when it comes to them.
        let db = DbBuilder::new(&self.dir).cache(cache.clone()).open_read_only()?;
        let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
        let versions = VersionSet::recover(Arc::new(DiskFileSystem), &self.dir, options)?;
        let mut progress = Progress::new(versions.live_tables().len(), self.quiet);
        let families = versions
            .families()
            .iter()
            .map(|family| FamilyStats::of(family, &self.dir, &cache, &mut progress))
            .collect::<Result<Vec<_>>>()?;
        Ok(Found {
            dir: self.dir.display().to_string(),
            last_sequence: db.visible_seqno().get(),
            manifest: versions.manifest_number().get(),
            db_id: versions.db_id().map(str::to_owned),
            families,
            memory: Memory::new(&cache.stats()),
        })
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
}

impl FamilyStats {
    fn of(family: &Family, dir: &Path, cache: &Cache, progress: &mut Progress) -> Result<Self> {
        let comparator = family.key_order().name();
        let tables = TableCache::new(
            Arc::new(DiskFileSystem),
            vec![dir.to_owned()],
            ReaderOptions { cache: cache.clone(), ..ReaderOptions::default() },
            comparator,
            Arc::new(OpenTables::new(None)),
        );
        let version = family.current();
        let levels = version
            .levels()
            .iter()
            .enumerate()
            .filter(|(_, level)| !level.is_empty())
            .map(|(number, level)| LevelStats::of(number, level, &tables, progress))
            .collect::<Result<_>>()?;
        let (id, name) = (family.id(), family.name().to_owned());
        Ok(Self { id, name, comparator: comparator.to_owned(), levels })
    }

    fn write(&self, out: &mut Out) -> io::Result<()> {
        writeln!(out, "\ncolumn family {:?} ({}), {}", self.name, self.id, self.comparator)?;
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
    fn of(
        number: usize,
        level: &Level,
        tables: &TableCache,
        progress: &mut Progress,
    ) -> Result<Self> {
        let mut stats = Self { level: number, ..Self::default() };
        for file in level.files() {
            let table = tables.get(file, number, &mut ReadContext::default())?;
            progress.next_file(table.path());
            let properties = table.properties();
            stats.add(&Self {
                level: number,
                files: 1,
                bytes: file.file_bytes,
                entries: properties.num_entries.unwrap_or(0),
                deletions: properties.num_deletions.unwrap_or(0),
                merge_operands: properties.num_merge_operands.unwrap_or(0),
                range_deletions: properties.num_range_deletions.unwrap_or(0),
                raw_key_bytes: properties.raw_key_size.unwrap_or(0),
                raw_value_bytes: properties.raw_value_size.unwrap_or(0),
            });
        }
        Ok(stats)
    }

    /// Adds what another level (or a table) has. The figures stand in files and may say anything.
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
