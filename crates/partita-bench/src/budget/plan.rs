//! The whole run: which cells, in which order.

use std::path::PathBuf;

use serde::Serialize;

use super::cell::{Cell, CellId};
use super::files::{FileMaker, FileSet, Shape};
use super::paired::{Paired, Turns};
use super::report::Report;
use super::task::{Outcome, Task};
use super::verdict::judge;
use crate::layout::Layout;
use crate::lookups::{Effort, Keyspace};

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Where the files are, or are made.
    pub root: PathBuf,
    /// What they hold.
    pub keyspace: Keyspace,
    /// Their shapes.
    pub shapes: Vec<Shape>,
    /// Budgets in bytes, ascending.
    pub budgets_bytes: Vec<u64>,
    /// How cells are measured.
    pub effort: Effort,
    /// How often each cell is measured; the run of median throughput counts.
    pub rounds: usize,
    /// The paired runs, if there are to be any.
    pub turns: Option<Turns>,
}

/// Makes the files if they are not there, and runs everything.
///
/// * `engines`: names of those that take part.
/// * `perform`: does a task, in a child process or here.
/// * `progress`: told what is about to be done.
pub fn run(
    settings: &Settings,
    maker: &dyn FileMaker,
    engines: &[&str],
    perform: &dyn Fn(&Task) -> Result<Outcome, String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, String> {
    let (mut cells, mut paired, mut sets) = (Vec::new(), Vec::new(), Vec::new());
    for &shape in &settings.shapes {
        let mut files = Vec::new();
        for layout in [Layout::Full, Layout::Partitioned] {
            progress(&format!("files: {layout}, {shape}"));
            let set = FileSet::prepare(&settings.root, maker, layout, shape, settings.keyspace)?;
            set.read_through()?;
            files.push(set);
        }
        for &budget_bytes in &settings.budgets_bytes {
            cells.extend(budget(settings, &files, engines, budget_bytes, perform, progress)?);
        }
        if let Some(turns) = &settings.turns {
            progress(&format!("{shape}: in turns"));
            paired.push(in_memory(settings, shape, &files, turns, perform)?);
        }
        sets.extend(files);
    }
    let verdicts = judge(&cells, &paired);
    Ok(Report { settings: settings.clone(), files: sets, cells, paired, verdicts })
}

/// All cells of one budget, so that what is compared is measured within a minute.
fn budget(
    settings: &Settings,
    files: &[FileSet],
    engines: &[&str],
    budget_bytes: u64,
    perform: &dyn Fn(&Task) -> Result<Outcome, String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Cell>, String> {
    let ids: Vec<(CellId, &FileSet)> = engines
        .iter()
        .flat_map(|&engine| files.iter().map(move |set| (engine, set)))
        .map(|(engine, set)| {
            let (layout, shape) = (set.layout, set.shape);
            (CellId { engine: engine.to_owned(), layout, shape, budget_bytes }, set)
        })
        .collect();
    let mut rounds: Vec<Vec<Cell>> = vec![Vec::new(); ids.len()];
    for round in 1..=settings.rounds.max(1) {
        for ((id, set), cells) in ids.iter().zip(&mut rounds) {
            let CellId { engine, layout, shape, budget_bytes } = id;
            progress(&format!(
                "{shape}: {} MiB, {engine}, {layout} (round {round})",
                budget_bytes >> 20
            ));
            let task = Task::Cell {
                id: id.clone(),
                effort: settings.effort.clone(),
                files: set.dir.clone(),
            };
            match perform(&task)? {
                Outcome::Cell(cell) => cells.push(*cell),
                Outcome::Paired(_) => return Err("a paired run was not asked for".to_owned()),
            }
        }
    }
    Ok(rounds.into_iter().map(median_cell).collect())
}

/// The cell of median throughput, with the highest peak of all.
fn median_cell(mut rounds: Vec<Cell>) -> Cell {
    rounds.sort_by(|a, b| a.lookups.gets_per_second.total_cmp(&b.lookups.gets_per_second));
    let peak = rounds.iter().map(|cell| cell.resident_peak_bytes).max();
    let mut cell = rounds.swap_remove(rounds.len() / 2);
    cell.resident_peak_bytes = peak.unwrap_or(cell.resident_peak_bytes);
    cell
}

fn in_memory(
    settings: &Settings,
    shape: Shape,
    files: &[FileSet],
    turns: &Turns,
    perform: &dyn Fn(&Task) -> Result<Outcome, String>,
) -> Result<Paired, String> {
    let dir = |layout| {
        let set = files.iter().find(|set| set.layout == layout);
        set.map(|set| set.dir.clone()).ok_or_else(|| format!("no {layout} files"))
    };
    let task = Task::Paired {
        shape,
        turns: turns.clone(),
        budget_bytes: settings.budgets_bytes.iter().copied().max().unwrap_or(1 << 30),
        full: dir(Layout::Full)?,
        partitioned: dir(Layout::Partitioned)?,
    };
    match perform(&task)? {
        Outcome::Paired(paired) => Ok(paired),
        Outcome::Cell(_) => Err("a cell was not asked for".to_owned()),
    }
}

/// Budgets in MiB as text: numbers divided by commas, ascending, each once.
pub fn parse_budgets(text: &str) -> Result<Vec<u64>, String> {
    let mut budgets = text
        .split(',')
        .map(|part| {
            let mib = part.trim().parse::<u64>().ok().filter(|mib| (1..=1 << 30).contains(mib));
            mib.map(|mib| mib << 20).ok_or_else(|| format!("{part:?} is no number of MiB"))
        })
        .collect::<Result<Vec<u64>, String>>()?;
    budgets.sort_unstable();
    budgets.dedup();
    Ok(budgets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_sorted_mebibytes() {
        assert_eq!(parse_budgets("64, 8,64"), Ok(vec![8 << 20, 64 << 20]));
        for wrong in ["", "8,", "0", "-1", "8.5", "99999999999999999999"] {
            assert!(parse_budgets(wrong).unwrap_err().contains("MiB"), "{wrong}");
        }
    }
}
