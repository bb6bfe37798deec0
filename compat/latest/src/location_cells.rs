//! What was measured with the index of entry locations, as tables of Markdown: an overview, and what was aimed at.
//!
//! Ratios are of lookups per second of processor time, in brackets of lookups per second on the wall clock. A machine that
//! has other things to do spoils the second, not the first.

use std::fmt::Write as _;

use partita_bench::locations::{Report, Store};
use partita_bench::lookups::Mix;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One row: who against whom, and how often as fast it is to be.
struct Aim {
    what: &'static str,
    mix: Mix,
    budget_bytes: u64,
    ours: &'static str,
    /// Opponents; of several names in one the fastest counts.
    against: &'static [(&'static [&'static str], f64)],
}

const fn aim(
    what: &'static str,
    mix: Mix,
    budget_bytes: u64,
    ours: &'static str,
    against: &'static [(&'static [&'static str], f64)],
) -> Aim {
    Aim { what, mix, budget_bytes, ours, against }
}

/// Contenders are those of [`contenders`](crate::location_engines::contenders).
const AIMS: &[Aim] = &[
    aim(
        "get, 64 MiB, our files, blocks of 4 KiB",
        Mix::Present,
        64 * MIB,
        "small",
        &[(&["A"], 60.0), (&["B"], 3.0), (&["C"], 1.5)],
    ),
    aim(
        "get, 64 MiB, our files, blocks of 64 KiB",
        Mix::Present,
        64 * MIB,
        "partitioned",
        &[(&["A"], 60.0), (&["B"], 1.0)],
    ),
    aim(
        "get, 64 MiB, on A's own files, nothing rewritten",
        Mix::Present,
        64 * MIB,
        "on A's files",
        &[(&["B"], 1.0)],
    ),
    aim(
        "get, 256 MiB, our files, blocks of 4 KiB",
        Mix::Present,
        256 * MIB,
        "small",
        &[(&["B"], 3.0), (&["C"], 1.5)],
    ),
    aim("get, 1 GiB, partitioned", Mix::Present, GIB, "partitioned", &[(&["A", "B"], 2.0)]),
    aim("get, 1 GiB, full", Mix::Present, GIB, "full", &[(&["A", "B"], 2.0)]),
    aim("absent key, 1 GiB", Mix::Absent, GIB, "partitioned", &[(&["B"], 2.0)]),
    aim(
        "last entry, 64 MiB, our files, blocks of 4 KiB",
        Mix::Last,
        64 * MIB,
        "small",
        &[(&["B"], 4.0)],
    ),
    aim(
        "last entry, 64 MiB, our files, blocks of 64 KiB",
        Mix::Last,
        64 * MIB,
        "partitioned",
        &[(&["B"], 4.0)],
    ),
    aim(
        "last entry, 64 MiB, on A's own files",
        Mix::Last,
        64 * MIB,
        "on A's files",
        &[(&["B"], 2.0)],
    ),
    aim("last entry, 256 MiB", Mix::Last, 256 * MIB, "partitioned", &[(&["B"], 3.0)]),
    aim("last entry, 1 GiB", Mix::Last, GIB, "partitioned", &[(&["B"], 3.0)]),
];

/// Loading our files against loading the opponent's.
const LOADS: [(&str, &str); 3] = [("full", "A"), ("partitioned", "B"), ("small", "C")];
const LOAD_AIM: f64 = 1.2;
/// Data blocks that a lookup of a last entry looks at.
const LOOKS_AIM: f64 = 1.05;

/// Rows of the overview: contenders and what they are called there.
const OVERVIEW: [(&str, &str); 6] = [
    ("A", "RocksDB, *bookie*"),
    ("B", "RocksDB, *partitioned*"),
    ("C", "RocksDB, *best*"),
    ("on A's files", "**Partita, on *bookie*'s files as they are**"),
    ("partitioned", "**Partita, its own**"),
    ("small", "**Partita, its own, blocks of 4 KiB**"),
];
/// Columns of the overview.
const MIXES: [(Mix, &str); 2] = [(Mix::Present, "entry"), (Mix::Last, "last entry")];

/// Processor time of a lookup in microseconds, by contender, kind of lookup and budget.
pub fn overview(report: &Report) -> String {
    let budgets = &report.settings.budgets_bytes;
    let columns = || MIXES.iter().flat_map(|mix| budgets.iter().map(move |budget| (mix, *budget)));
    let mut text = "| |".to_owned();
    for ((_, name), budget) in columns() {
        let _ = write!(text, " {name}, {} MiB |", budget / MIB);
    }
    text.push_str("\n|---|");
    columns().for_each(|_| text.push_str("---|"));
    text.push('\n');
    for (contender, name) in OVERVIEW {
        let figures: Vec<_> = columns()
            .map(|((mix, _), budget)| report.measured(contender, budget, *mix))
            .map(|measured| measured.map_or_else(|| "-".to_owned(), |m| short(m.cpu_us_per_get)))
            .collect();
        let _ = writeln!(text, "| {name} | {} |", figures.join(" | "));
    }
    text
}

fn short(figure: f64) -> String {
    if figure < 100.0 { format!("{figure:.1}") } else { format!("{figure:.0}") }
}

/// What was aimed at; rows whose cells were not measured are left out.
pub fn aims(report: &Report) -> String {
    let mut text = "| cell | aim | measured |\n|---|---|---|\n".to_owned();
    for aim in AIMS {
        let (aims, ratios): (Vec<_>, Vec<_>) = aim
            .against
            .iter()
            .filter_map(|(names, least)| against(report, aim, names, *least))
            .unzip();
        if !ratios.is_empty() {
            row(&mut text, aim.what, &aims.join(", "), &ratios.join(", "));
        }
    }
    for (ours, theirs) in LOADS {
        if let (Some(our), Some(their)) = (store(report, ours), store(report, theirs)) {
            let cpu = their.cpu_us_per_entry() / our.cpu_us_per_entry();
            let wall = our.entries_per_second() / their.entries_per_second();
            let what = format!("load in sorted batches, settled: {ours}");
            row(&mut text, &what, &format!("{LOAD_AIM}x {theirs}"), &measured(theirs, cpu, wall));
        }
    }
    looks(report, &mut text);
    memory(report, &mut text);
    text
}

fn row(text: &mut String, what: &str, aim: &str, measured: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| {what} | {aim} | {measured} |");
}

/// Shown as a ratio of processor time, with that of the wall clock behind it.
fn measured(name: &str, cpu: f64, wall: f64) -> String {
    format!("**{cpu:.2}x** {name} ({wall:.2}x)")
}

fn against(report: &Report, aim: &Aim, names: &[&str], least: f64) -> Option<(String, String)> {
    let ours = report.measured(aim.ours, aim.budget_bytes, aim.mix)?;
    let opponents = names
        .iter()
        .filter_map(|name| Some((*name, report.measured(name, aim.budget_bytes, aim.mix)?)));
    let (name, fastest) =
        opponents.min_by(|(_, a), (_, b)| a.cpu_us_per_get.total_cmp(&b.cpu_us_per_get))?;
    let cpu = fastest.cpu_us_per_get / ours.cpu_us_per_get;
    let wall = ours.gets_per_second / fastest.gets_per_second;
    Some((format!("{least}x {}", names.join(" or ")), measured(name, cpu, wall)))
}

fn store<'r>(report: &'r Report, name: &str) -> Option<&'r Store> {
    report.stores.iter().find(|(known, _)| known == name).map(|(_, store)| store)
}

/// Data blocks that last entries look at, at most.
fn looks(report: &Report, text: &mut String) {
    let ours = report.cells.iter().filter(|cell| !["A", "B", "C"].contains(&&*cell.id.contender));
    let most = ours
        .filter(|cell| cell.id.budget_bytes >= 256 * MIB)
        .filter_map(|cell| Some((cell.of(Mix::Last)?.looks_per_get.data, &cell.id)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((looks, id)) = most {
        let measured =
            format!("**{looks:.2}** at most ({}, {} MiB)", id.contender, id.budget_bytes / MIB);
        row(text, "last entry, 256 MiB and 1 GiB: data blocks", &LOOKS_AIM.to_string(), &measured);
    }
}

/// Resident memory above what the process had before, against budget + 10 % + 64 MiB.
fn memory(report: &Report, text: &mut String) {
    let ours = report.cells.iter().filter(|cell| !["A", "B", "C"].contains(&&*cell.id.contender));
    let over = ours.map(|cell| {
        let limit = cell.id.budget_bytes as f64 * 1.1 + (64 * MIB) as f64;
        (cell.resident_peak_bytes as f64 - limit, cell)
    });
    if let Some((over, cell)) = over.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let measured = format!(
            "**{:+.0} MiB** from it at worst ({} MiB at {} MiB, {})",
            over / MIB as f64,
            cell.resident_peak_bytes / MIB,
            cell.id.budget_bytes / MIB,
            cell.id.contender
        );
        row(text, "resident memory while reading", "budget + 10 % + 64 MiB", &measured);
    }
}
