//! The criteria, each with its figure.
//!
//! The opponent of a criterion is the better of RocksDB's caches in that cell.

use serde::Serialize;

use super::cell::Cell;
use super::files::{Layout, Shape};
use super::paired::Paired;
use super::task::{PARTITA, contender_name, counting_name};

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
/// What counting may cost.
const COUNTING_MAX: f64 = 0.02;

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
            verdicts.extend(counting(paired));
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
        .max_by(|a, b| a.gets_per_second.total_cmp(&b.gets_per_second))
}

fn against_partitioned(shape: Shape, cells: &[&Cell]) -> Option<Verdict> {
    let ratios = ours(cells, Layout::Full).into_iter().filter_map(|cell| {
        let other = opponent(cells, cell, Layout::Partitioned)?;
        Some((cell.gets_per_second / other.gets_per_second, cell))
    });
    let (ratio, cell) = ratios.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Verdict {
        criterion: format!(
            "{shape}: on full files no budget slower than RocksDB on partitioned files"
        ),
        figure: format!("at worst {ratio:.2} of its gets/s, at {}", budget(cell)),
        met: ratio >= 1.0,
    })
}

fn filter_bytes(shape: Shape, cells: &[&Cell]) -> Option<Verdict> {
    let cell = ours(cells, Layout::Full)
        .into_iter()
        .max_by(|a, b| a.bytes_per_get.filter.total_cmp(&b.bytes_per_get.filter))?;
    let bytes = cell.bytes_per_get.filter;
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
    let steps: Vec<(f64, &Cell)> = ours
        .windows(2)
        .map(|pair| (pair[1].gets_per_second / pair[0].gets_per_second, pair[1]))
        .collect();
    let by_ratio = |a: &&(f64, &Cell), b: &&(f64, &Cell)| a.0.total_cmp(&b.0);
    let (Some(&(most, at_most)), Some(&(least, at_least))) =
        (steps.iter().max_by(by_ratio), steps.iter().min_by(by_ratio))
    else {
        return Vec::new();
    };
    vec![
        Verdict {
            criterion: format!("{shape}, {layout}: no step over {STEP_MAX} between budgets"),
            figure: format!("at most {most:.2}, up to {}", budget(at_most)),
            met: most <= STEP_MAX,
        },
        Verdict {
            criterion: format!("{shape}, {layout}: never falling as the budget grows (10 % noise)"),
            figure: format!("at least {least:.2}, up to {}", budget(at_least)),
            met: least >= 1.0 - NOISE,
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

fn counting(paired: &Paired) -> Option<Verdict> {
    let layout = Layout::Full;
    let ratio = paired.ratio(&counting_name(PARTITA, layout), &contender_name(PARTITA, layout))?;
    Some(Verdict {
        criterion: format!("{}: counters cost under 2 %", paired.shape),
        figure: format!(
            "time with counters over without: {:.3} (quartiles {:.3} to {:.3})",
            ratio.median, ratio.low, ratio.high
        ),
        met: ratio.median <= 1.0 + COUNTING_MAX,
    })
}

fn budget(cell: &Cell) -> String {
    format!("{:.0} MiB", cell.id.budget_bytes as f64 / MIB)
}
