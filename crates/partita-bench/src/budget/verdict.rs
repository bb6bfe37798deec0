//! The criteria, each with its figure.
//!
//! The opponent of a criterion is the better of RocksDB's caches in that cell.
//!
//! Cells are compared by lookups per second of processor time: all files are in the operating system's cache, so that a
//! lookup waits for nothing else, and on a machine that has other things to do the wall clock measures these. Lookups per
//! second of the wall clock stand beside them.

use serde::Serialize;

use super::cell::Cell;
use super::files::Shape;
use super::paired::Paired;
use super::task::{PARTITA, contender_name};
use crate::layout::Layout;

const MIB: f64 = (1 << 20) as f64;
/// Filter bytes that a lookup may read: two pieces.
const FILTER_BYTES_MAX: f64 = 8192.0;
/// Throughput may grow by this factor from one budget to the next, if the budget doubles.
const STEP_MAX: f64 = 2.5;
/// What throughput may seem to fall by, for noise.
const NOISE: f64 = 0.10;
/// How much the layouts may differ where everything fits.
const LAYOUTS_DIFFER_MAX: f64 = 0.01;
/// RocksDB's processor time over ours.
const SPEEDUP_MIN: f64 = 2.0;
const SPEEDUP_AIM: f64 = 3.0;

/// One criterion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What is asked.
    pub criterion: String,
    /// What was measured.
    pub figure: String,
    /// Whether it is met.
    pub met: bool,
}

/// Judges what was measured. Criteria without cells to judge by are left out.
pub(super) fn judge(cells: &[Cell], paired: &[Paired]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for shape in [Shape::Run, Shape::Natural] {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.id.shape == shape).collect();
        verdicts.extend(against_partitioned(shape, &cells));
        verdicts.extend(filter_bytes(shape, &cells));
        for layout in [Layout::Full, Layout::Partitioned] {
            verdicts.extend(smoothness(shape, layout, &cells));
        }
        verdicts.extend(resident(shape, &cells));
        for paired in paired.iter().filter(|paired| paired.shape == shape) {
            verdicts.extend(layouts(paired));
            verdicts.extend(speedups(paired));
        }
    }
    verdicts
}

fn ours<'a>(cells: &[&'a Cell], layout: Layout) -> Vec<&'a Cell> {
    let mut ours: Vec<_> = cells
        .iter()
        .copied()
        .filter(|cell| cell.id.engine == PARTITA && cell.id.layout == layout)
        .collect();
    ours.sort_by_key(|cell| cell.id.budget_bytes);
    ours
}

/// The fastest other engine on files of a layout with the same budget.
pub(super) fn opponent<'a>(cells: &[&'a Cell], to: &Cell, layout: Layout) -> Option<&'a Cell> {
    cells
        .iter()
        .copied()
        .filter(|cell| cell.id.engine != PARTITA && cell.id.layout == layout)
        .filter(|cell| (cell.id.shape, cell.id.budget_bytes) == (to.id.shape, to.id.budget_bytes))
        .min_by(|a, b| a.lookups.cpu_us_per_get.total_cmp(&b.lookups.cpu_us_per_get))
}

fn against_partitioned(shape: Shape, cells: &[&Cell]) -> Option<Verdict> {
    let pairs = ours(cells, Layout::Full)
        .into_iter()
        .filter_map(|cell| Some((cell, opponent(cells, cell, Layout::Partitioned)?)));
    let (cell, other) =
        pairs.min_by(|a, b| speed_ratio(a.0, a.1).total_cmp(&speed_ratio(b.0, b.1)))?;
    let ratio = speed_ratio(cell, other);
    Some(Verdict {
        criterion: format!(
            "{shape}: on full files no budget slower than RocksDB on partitioned files"
        ),
        figure: format!(
            "at worst {ratio:.2} times as fast, at {}{}",
            budget(cell),
            on_the_wall(cell, other)
        ),
        met: ratio >= 1.0,
    })
}

/// How many times as fast as `other` a cell is.
pub(super) fn speed_ratio(cell: &Cell, other: &Cell) -> f64 {
    other.lookups.cpu_us_per_get / cell.lookups.cpu_us_per_get
}

fn on_the_wall(cell: &Cell, other: &Cell) -> String {
    format!(
        " ({:.2} on the wall clock)",
        cell.lookups.gets_per_second / other.lookups.gets_per_second
    )
}

fn filter_bytes(shape: Shape, cells: &[&Cell]) -> Option<Verdict> {
    let cell = ours(cells, Layout::Full)
        .into_iter()
        .max_by(|a, b| a.lookups.bytes_per_get.filter.total_cmp(&b.lookups.bytes_per_get.filter))?;
    let bytes = cell.lookups.bytes_per_get.filter;
    Some(Verdict {
        criterion: format!(
            "{shape}: filter bytes read per get on full files within {FILTER_BYTES_MAX}"
        ),
        figure: format!("at most {bytes:.0}, at {}", budget(cell)),
        met: bytes <= FILTER_BYTES_MAX,
    })
}

fn smoothness(shape: Shape, layout: Layout, cells: &[&Cell]) -> Vec<Verdict> {
    let ours = ours(cells, layout);
    let by_ratio =
        |a: &&[&Cell], b: &&[&Cell]| speed_ratio(a[1], a[0]).total_cmp(&speed_ratio(b[1], b[0]));
    let (Some(most), Some(least)) =
        (ours.windows(2).max_by(by_ratio), ours.windows(2).min_by(by_ratio))
    else {
        return Vec::new();
    };
    let figure = |pair: &[&Cell]| {
        let ratio = speed_ratio(pair[1], pair[0]);
        format!(
            "{ratio:.2} from {} to {}{}",
            budget(pair[0]),
            budget(pair[1]),
            on_the_wall(pair[1], pair[0])
        )
    };
    vec![
        Verdict {
            criterion: format!("{shape}, {layout}: no step over {STEP_MAX} between budgets"),
            figure: format!("at most {}", figure(most)),
            met: speed_ratio(most[1], most[0]) <= STEP_MAX,
        },
        Verdict {
            criterion: format!("{shape}, {layout}: never falling as the budget grows (10 % noise)"),
            figure: format!("at least {}", figure(least)),
            met: speed_ratio(least[1], least[0]) >= 1.0 - NOISE,
        },
    ]
}

fn resident(shape: Shape, cells: &[&Cell]) -> Option<Verdict> {
    let over = |cell: &Cell| {
        let limit = cell.id.budget_bytes as f64 * 1.1 + 64.0 * MIB;
        cell.resident_peak_bytes as f64 - limit
    };
    let cell = cells
        .iter()
        .filter(|cell| cell.id.engine == PARTITA)
        .max_by(|a, b| over(a).total_cmp(&over(b)))?;
    Some(Verdict {
        criterion: format!("{shape}: resident memory within budget + 10 % + 64 MiB in every cell"),
        figure: format!(
            "peak {:.0} MiB at {}, {}: {:+.0} MiB from the limit",
            cell.resident_peak_bytes as f64 / MIB,
            budget(cell),
            cell.id.layout,
            over(cell) / MIB
        ),
        met: over(cell) <= 0.0,
    })
}

fn layouts(paired: &Paired) -> Option<Verdict> {
    let [full, partitioned] =
        [Layout::Full, Layout::Partitioned].map(|layout| contender_name(PARTITA, layout));
    let ratio = paired.ratio(&partitioned, &full)?;
    Some(Verdict {
        criterion: format!("{}: in memory, partitioned within 1 % of full", paired.shape),
        figure: format!(
            "partitioned takes {:.3} of full's time (quartiles {:.3} to {:.3})",
            ratio.median, ratio.low, ratio.high
        ),
        met: ratio.median <= 1.0 + LAYOUTS_DIFFER_MAX,
    })
}

fn speedups(paired: &Paired) -> Vec<Verdict> {
    [Layout::Full, Layout::Partitioned]
        .into_iter()
        .filter_map(|layout| {
            let name = contender_name(PARTITA, layout);
            let ours = paired.cpu_us(&name)?;
            // The least favourable of all of RocksDB's configurations, whichever the layout.
            let others = paired.names.iter().filter(|name| !name.starts_with(PARTITA));
            let fastest = others
                .filter_map(|name| Some((name, paired.cpu_us(name)?)))
                .min_by(|a, b| a.1.total_cmp(&b.1))?;
            let speedup = paired.ratio(fastest.0, &name)?.median;
            Some(Verdict {
                criterion: format!(
                    "{}, {layout}: in memory, at least {SPEEDUP_MIN} times RocksDB's gets per CPU second (aim \
                     {SPEEDUP_AIM})",
                    paired.shape
                ),
                figure: format!(
                    "{speedup:.2} times: {ours:.2} us, {} {:.2} us",
                    fastest.0, fastest.1
                ),
                met: speedup >= SPEEDUP_MIN,
            })
        })
        .collect()
}

fn budget(cell: &Cell) -> String {
    format!("{:.0} MiB", cell.id.budget_bytes as f64 / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::cell::CellId;
    use crate::lookups::Measured;

    fn cell(engine: &str, layout: Layout, mib: u64, gets_per_second: f64) -> Cell {
        let budget_bytes = mib << 20;
        Cell {
            id: CellId { engine: engine.to_owned(), layout, shape: Shape::Run, budget_bytes },
            lookups: Measured {
                gets_per_second,
                cpu_us_per_get: 1e6 / gets_per_second,
                ..Measured::default()
            },
            resident_base_bytes: 0,
            resident_bytes: budget_bytes,
            resident_peak_bytes: budget_bytes,
        }
    }

    fn paired(rounds: &[(&str, f64)]) -> Paired {
        Paired {
            shape: Shape::Run,
            names: rounds.iter().map(|(name, _)| (*name).to_owned()).collect(),
            cpu_us: rounds.iter().map(|(_, us)| vec![*us; 3]).collect(),
        }
    }

    /// The one verdict whose criterion contains `part`.
    fn verdict(verdicts: &[Verdict], part: &str) -> Verdict {
        let mut found = verdicts.iter().filter(|verdict| verdict.criterion.contains(part));
        let first = found.next().unwrap_or_else(|| panic!("no {part:?} in {verdicts:?}"));
        assert!(found.next().is_none(), "{part:?} twice in {verdicts:?}");
        first.clone()
    }

    #[test]
    fn full_files_are_held_against_the_better_cache_on_partitioned_files() {
        let mut cells = vec![
            cell(PARTITA, Layout::Full, 8, 100.0),
            cell("slow", Layout::Partitioned, 8, 50.0),
            cell("fast", Layout::Partitioned, 8, 99.0),
            cell("fast", Layout::Full, 8, 500.0),
            cell(PARTITA, Layout::Full, 16, 200.0),
            cell("fast", Layout::Partitioned, 16, 100.0),
        ];
        let judged = verdict(&judge(&cells, &[]), "no budget slower");
        assert!(judged.met && judged.figure.contains("1.01") && judged.figure.contains("8 MiB"));
        cells[2].lookups.cpu_us_per_get = 1e6 / 101.0;
        assert!(!verdict(&judge(&cells, &[]), "no budget slower").met);
    }

    #[test]
    fn steps_are_taken_between_neighbouring_budgets_in_order() {
        let judge_all = |speeds: [f64; 3]| {
            let cells: Vec<_> = [32, 8, 16]
                .into_iter()
                .zip(speeds)
                .map(|(mib, speed)| cell(PARTITA, Layout::Full, mib, speed))
                .collect();
            let judged = judge(&cells, &[]);
            (verdict(&judged, "no step").met, verdict(&judged, "never falling").met)
        };
        assert_eq!(judge_all([400.0, 100.0, 200.0]), (true, true));
        assert_eq!(judge_all([510.0, 100.0, 200.0]), (false, true));
        assert_eq!(judge_all([170.0, 100.0, 200.0]), (true, false));
        assert_eq!(judge_all([185.0, 100.0, 200.0]), (true, true), "within the noise");
    }

    #[test]
    fn filter_bytes_and_resident_memory_are_judged_by_the_worst_cell() {
        let mut cells: Vec<_> =
            [8, 16].map(|mib| cell(PARTITA, Layout::Full, mib, 100.0)).into_iter().collect();
        cells[1].lookups.bytes_per_get.filter = 8_193.0;
        cells[0].resident_peak_bytes = 73 << 20; // the limit is 72.8 MiB
        let judged = judge(&cells, &[]);
        assert!(!verdict(&judged, "filter bytes").met);
        assert!(!verdict(&judged, "resident").met);
        cells[1].lookups.bytes_per_get.filter = 8_192.0;
        cells[0].resident_peak_bytes = 72 << 20;
        let judged = judge(&cells, &[]);
        assert!(verdict(&judged, "filter bytes").met);
        assert!(verdict(&judged, "resident").met);
    }

    #[test]
    fn in_memory_the_opponent_is_the_fastest_whichever_its_layout() {
        let mut rounds = [
            ("partita, full", 1.0),
            ("partita, partitioned", 1.009),
            ("rocks-lru, full", 4.0),
            ("rocks-lru, partitioned", 2.1),
        ];
        let judged = judge(&[], &[paired(&rounds)]);
        assert!(verdict(&judged, "within 1 %").met);
        assert!(verdict(&judged, ", full: in memory").figure.starts_with("2.10 times"));
        assert!(verdict(&judged, ", partitioned: in memory").met);
        rounds[1].1 = 1.1;
        let judged = judge(&[], &[paired(&rounds)]);
        assert!(!verdict(&judged, "within 1 %").met);
        assert!(!verdict(&judged, ", partitioned: in memory").met);
    }
}
