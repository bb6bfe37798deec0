//! Databases of both engines beside each other: written, settled, read, compacted, opened.
//!
//! ```text
//! mod.rs          which workloads, in which order       report.rs   medians and ratios
//!   cell.rs       one workload with one engine, in a child process
//!     engine.rs   what an engine does, with which settings
//!     data.rs     the records                           meter.rs    what it costs
//! ```
//!
//! * Engines take turns, and who begins changes with the round: a machine drifts by more than what is looked for.
//! * Each cell is a process of its own, so that memory and processor time are those of one engine.
//! * Workloads that need files get links to those of one directory, which RocksDB made: both engines start with the same
//!   tables on the same levels.

mod cell;
mod data;
mod engine;
mod meter;
mod report;

pub use engine::{Database, Engine, Records, Rows, Setup, WRITE_BUFFERS, Writing};
pub use meter::{Cost, Figures};
pub use report::Report;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Sorted batches of 10,000 entry locations.
    Bookie,
    /// The same past the log.
    BookieNoLog,
    /// Rows put one by one, in no order, each once.
    Random,
    /// As many rows put again.
    Overwrite,
    /// Two threads look rows up while one puts some at a limited rate.
    ReadWhileWriting,
    /// A walk over all entry locations.
    Scan,
    /// The same from the end.
    Reverse,
    /// Rows in level 0 compacted by hand.
    Compact,
    /// Entry locations in level 0 compacted by hand.
    CompactLocations,
    /// A directory of many tables is opened, and a key is looked up.
    Open,
    /// The same, when the operating system has no contents of its files in memory.
    OpenCold,
}

impl Workload {
    /// All, in the order of the report.
    pub const ALL: [Self; 11] = [
        Self::Bookie,
        Self::BookieNoLog,
        Self::Random,
        Self::Overwrite,
        Self::ReadWhileWriting,
        Self::Scan,
        Self::Reverse,
        Self::Compact,
        Self::CompactLocations,
        Self::Open,
        Self::OpenCold,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookie => "bookie",
            Self::BookieNoLog => "bookie-no-log",
            Self::Random => "random",
            Self::Overwrite => "overwrite",
            Self::ReadWhileWriting => "read-while-writing",
            Self::Scan => "scan",
            Self::Reverse => "reverse",
            Self::Compact => "compact",
            Self::CompactLocations => "compact-locations",
            Self::Open => "open",
            Self::OpenCold => "open-cold",
        }
    }

    /// The workload of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// The files that it starts with.
    fn base(self) -> Option<Base> {
        match self {
            Self::Bookie | Self::BookieNoLog | Self::Random => None,
            Self::Overwrite | Self::ReadWhileWriting => Some(Base::Rows),
            Self::Scan | Self::Reverse => Some(Base::Ledgers),
            Self::Compact => Some(Base::LevelZeroRows),
            Self::CompactLocations => Some(Base::LevelZeroLedgers),
            Self::Open | Self::OpenCold => Some(Base::ManyFiles),
        }
    }
}

/// Files that workloads start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Rows,
    Ledgers,
    LevelZeroRows,
    LevelZeroLedgers,
    ManyFiles,
}

impl Base {
    /// The first workload that starts with it.
    fn workload(self) -> Workload {
        match self {
            Self::Rows => Workload::Overwrite,
            Self::Ledgers => Workload::Scan,
            Self::LevelZeroRows => Workload::Compact,
            Self::LevelZeroLedgers => Workload::CompactLocations,
            Self::ManyFiles => Workload::Open,
        }
    }

    /// The name of its directory, which tells all that its contents depend on.
    fn directory(self, settings: &Settings) -> String {
        match self {
            Self::Rows => format!("rows-{}k", settings.kilo_rows),
            Self::Ledgers => format!("ledgers-{}k", settings.kilo_records),
            Self::LevelZeroRows => format!("level0-rows-{}m", settings.compact_mib),
            Self::LevelZeroLedgers => format!("level0-ledgers-{}m", settings.compact_mib),
            Self::ManyFiles => format!("files-{}", settings.files),
        }
    }
}

/// How much is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directory of all files. Bases stay there.
    pub root: PathBuf,
    /// The workloads to run.
    pub workloads: Vec<Workload>,
    /// The engines; ratios need both.
    pub engines: Vec<Engine>,
    /// How often each is run with each engine.
    pub rounds: usize,
    /// Entry locations, in thousands.
    pub kilo_records: u64,
    /// Rows, in thousands.
    pub kilo_rows: u64,
    /// Bytes of keys and values that are compacted by hand, in MiB.
    pub compact_mib: u64,
    /// Seconds of reading while writing.
    pub seconds: u64,
    /// Rows that are put meanwhile, in a second.
    pub writes_per_second: u64,
    /// Tables of the directory that is opened, about.
    pub files: u64,
    /// Memory of an engine, in MiB.
    pub budget_mib: u64,
}

/// What a child of this program is started for.
#[derive(Clone, Debug)]
pub struct Task {
    /// The workload to run, or whose base to make.
    pub workload: Workload,
    /// With which engine; `None`: its base is made.
    pub engine: Option<Engine>,
    /// Where.
    pub dir: PathBuf,
}

/// Does what a child is started for; returns what it prints.
pub fn perform(task: &Task, settings: &Settings) -> Result<String, String> {
    match (task.engine, task.workload.base()) {
        (Some(engine), _) => {
            let figures = cell::run(task.workload, engine, &task.dir, settings)?;
            Ok(figures.to_json().to_string())
        }
        (None, Some(base)) => cell::make(base, &task.dir, settings).map(|()| String::new()),
        (None, None) => Err(format!("{} starts with nothing", task.workload.name())),
    }
}

/// Runs all workloads; `tell` hears what is going on. `arguments` are those that the children get for the same settings.
pub fn run(
    settings: &Settings,
    arguments: &[OsString],
    tell: &mut dyn FnMut(&str),
) -> Result<Report, String> {
    fs::create_dir_all(&settings.root).map_err(|error| at(&settings.root, &error))?;
    let mut report = Report::new(settings);
    for &workload in &settings.workloads {
        let base = base_of(workload, settings, arguments, tell)?;
        for round in 0..settings.rounds {
            for turn in 0..settings.engines.len() {
                let engine = settings.engines[(round + turn) % settings.engines.len()];
                let dir = settings.root.join(format!("run-{}", std::process::id()));
                prepare(&dir, base.as_deref()).map_err(|error| at(&dir, &error))?;
                let task = Task { workload, engine: Some(engine), dir: dir.clone() };
                let done = in_child(&task, arguments);
                fs::remove_dir_all(&dir).map_err(|error| at(&dir, &error))?;
                let answer = done?;
                let figures =
                    serde_json::from_str(&answer).ok().as_ref().and_then(Figures::from_json);
                let figures = figures.ok_or_else(|| format!("a child answered {answer:?}"))?;
                tell(&format!(
                    "{}, round {round}, {}: {:.2} s",
                    workload.name(),
                    engine.name(),
                    figures.settled.seconds
                ));
                report.add(workload, engine, figures)?;
            }
        }
        // A run is long, and may be stopped.
        tell(&report.lines(workload));
    }
    Ok(report)
}

/// The directory with the files that the workload starts with, made if it is not there.
fn base_of(
    workload: Workload,
    settings: &Settings,
    arguments: &[OsString],
    tell: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, String> {
    let Some(base) = workload.base() else { return Ok(None) };
    let dir = settings.root.join(base.directory(settings));
    if !dir.exists() {
        tell(&format!("making {}", dir.display()));
        // Under another name until it is whole.
        let making = dir.with_extension("making");
        prepare(&making, None).map_err(|error| at(&making, &error))?;
        in_child(
            &Task { workload: base.workload(), engine: None, dir: making.clone() },
            arguments,
        )?;
        fs::rename(&making, &dir).map_err(|error| at(&dir, &error))?;
    }
    Ok(Some(dir))
}

/// Makes a directory with the files of another: links to its tables, copies of the rest.
fn prepare(dir: &Path, base: Option<&Path>) -> std::io::Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    let Some(base) = base else { return Ok(()) };
    for entry in fs::read_dir(base)? {
        let entry = entry?;
        let to = dir.join(entry.file_name());
        if entry.path().extension().is_some_and(|extension| extension == "sst") {
            fs::hard_link(entry.path(), to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Starts this program again for a task; returns what it printed. Its allocator keeps few arenas and gives memory back
/// soon, so that resident memory is what is in use; both engines run on it.
fn in_child(task: &Task, arguments: &[OsString]) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new(program);
    command.args(arguments).args(["--task", task.workload.name()]).arg("--in").arg(&task.dir);
    if let Some(engine) = task.engine {
        command.args(["--with", engine.name()]);
    }
    let output = command
        .env("MALLOC_CONF", "narenas:2,dirty_decay_ms:200,muzzy_decay_ms:0")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("a child cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("the child for {task:?} ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_workloads_and_engines() {
        assert!(Workload::ALL.iter().all(|&w| Workload::named(w.name()) == Some(w)));
        assert!(Engine::ALL.iter().all(|&engine| Engine::named(engine.name()) == Some(engine)));
        assert_eq!(Workload::named("none"), None);
    }

    /// Every workload in small, with both engines: they must agree on what there is.
    #[test]
    fn engines_agree_on_what_there_is() {
        let root = tempfile::tempdir().unwrap();
        let settings = Settings {
            root: root.path().to_owned(),
            workloads: Workload::ALL.to_vec(),
            engines: Engine::ALL.to_vec(),
            rounds: 1,
            kilo_records: 20,
            kilo_rows: 10,
            compact_mib: 1,
            seconds: 1,
            writes_per_second: 1_000,
            files: 20,
            budget_mib: 256,
        };
        for workload in Workload::ALL {
            let checks = Engine::ALL.map(|engine| {
                let dir = root.path().join(format!("{}-{}", workload.name(), engine.name()));
                let base =
                    workload.base().map(|base| (base, root.path().join(base.directory(&settings))));
                if let Some((base, made)) = &base
                    && !made.exists()
                {
                    prepare(made, None).unwrap();
                    cell::make(*base, made, &settings).unwrap();
                }
                prepare(&dir, base.as_ref().map(|(_, made)| made.as_path())).unwrap();
                cell::run(workload, engine, &dir, &settings).unwrap().check
            });
            assert_eq!(checks[0], checks[1], "{}", workload.name());
            assert!(checks[0] > 0.0, "{}", workload.name());
        }
    }
}
