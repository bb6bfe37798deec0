//! Everything a page can hold, to be looked at when the style changes: `cargo run --example gallery -- FILE.html`.
//!
//! The figures are made up.

use partita_charts::{Axis, BarChart, Cell, Column, LineChart, Notice, Page, Section, Table, Unit};

const MIB: f64 = 1024.0 * 1024.0;

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "gallery.html".to_owned());
    Page::new("Everything a page can hold")
        .intro("Lookups in a bookie's `locations` database under budgets of memory. The figures are made up.")
        .fact("Command", "`partita bench locations --report gallery.html --budgets 4MiB,64MiB,1GiB`")
        .fact("Machine", "2 cores, 23 GiB of memory, NVMe")
        .fact("Data", "12 million entries, 214 files, 1.9 GiB")
        .section(Section::new("Rate").text("More is better.").chart(rate()).chart(rate_as_dots()))
        .section(Section::new("Cost").chart(reads()).chart(cache()))
        .section(Section::new("Latency").chart(latency()))
        .section(Section::new("Growth").chart(growth()).chart(memory()))
        .section(Section::new("Edges").chart(edges()).chart(change()).chart(empty()))
        .section(findings())
        .write_to(path)
}

const ENGINES: [&str; 5] = [
    "Partita, two-level index",
    "Partita, whole filters",
    "RocksDB, two-level index",
    "RocksDB, whole filters",
    "RocksDB, nothing in the cache",
];

fn budgets() -> [f64; 6] {
    [4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0].map(|mib| mib * MIB)
}

fn rates() -> [[f64; 6]; 5] {
    [
        [91e3, 130e3, 320e3, 810e3, 1.31e6, 1.34e6],
        [88e3, 121e3, 290e3, 790e3, 1.29e6, 1.33e6],
        [11e3, 41e3, 160e3, 460e3, 690e3, 710e3],
        [320.0, 470.0, 1.9e3, 210e3, 690e3, 720e3],
        [0.0, 390e3, 410e3, 520e3, 640e3, 655e3],
    ]
}

fn per_second() -> Axis {
    Axis::new("Lookups", Unit::Number("per second"))
}

fn rate() -> LineChart {
    let budget = Axis::new("Budget", Unit::Bytes).log();
    let chart = LineChart::new("Lookups under a budget", budget, per_second().log())
        .text("All engines read the same files; the budget holds blocks, index and filters.");
    ENGINES
        .into_iter()
        .zip(rates())
        .fold(chart, |chart, (name, rates)| chart.line(name, budgets().into_iter().zip(rates)))
}

fn rate_as_dots() -> BarChart {
    let chart = BarChart::grouped("The same as dots", per_second().log(), ENGINES);
    [0, 2, 4].into_iter().fold(chart, |chart, at| {
        chart.row(Unit::Bytes.format(budgets()[at]), rates().map(|rates| rates[at]))
    })
}

fn reads() -> BarChart {
    let axis = Axis::new("Reads", Unit::Number("blocks a lookup"));
    BarChart::stacked("What a lookup reads", axis, ["data", "index", "filter", "top levels"])
        .group("16 MiB")
        .row("Partita", [0.98, 0.21, 0.12, 0.0])
        .row("RocksDB, two-level index", [0.99, 0.8, 0.6, 0.11])
        .row("RocksDB, whole filters", [1.0, 0.97, 2.3, 0.0])
        .group("1 GiB")
        .row("Partita", [0.41, 0.0, 0.0, 0.0])
        .row("RocksDB, two-level index", [0.44, 0.02, 0.01, 0.0])
        .row("RocksDB, whole filters", [0.43, 0.01, 0.01, 0.0])
}

fn cache() -> BarChart {
    let roles = [
        "data",
        "index",
        "filter",
        "top levels",
        "dictionaries",
        "range tombstones",
        "memtables",
        "read buffers",
        "values held",
        "writes",
    ];
    let row = |scale: f64| (0..10).map(move |role| scale * MIB * (10 - role) as f64);
    BarChart::stacked("What the cache holds", Axis::new("Held", Unit::Bytes), roles)
        .row("4 MiB", row(0.07))
        .row("64 MiB", row(1.1))
        .row("256 MiB", row(4.4))
}

fn latency() -> BarChart {
    let axis = Axis::new("Latency", Unit::Seconds).log();
    BarChart::grouped("Latency of a lookup", axis, ["p50", "p99"])
        .group("16 MiB")
        .row("Partita", [9e-6, 310e-6])
        .row("RocksDB, whole filters", [740e-6, 0.027])
        .group("1 GiB")
        .row("Partita", [0.85e-6, 4e-6])
        .row("RocksDB, whole filters", [1.2e-6, f64::NAN])
}

fn growth() -> LineChart {
    let ratio = |role: f64| {
        (0..200).map(move |million| {
            let keys = f64::from(million) * 1e6;
            let wave = (f64::from(million) / 9.0).sin() * 0.02;
            let ratio = 1.0 - role * f64::from(million) / 220.0 + wave * role;
            (keys, if (90..97).contains(&million) { f64::NAN } else { ratio.min(1.0) })
        })
    };
    let keys = Axis::new("Keys", Unit::Number(""));
    LineChart::new("Hits while the database grows", keys, Axis::new("Hits", Unit::Share))
        .line("index", ratio(0.05))
        .line("filter", ratio(0.2))
        .line("data", ratio(0.8))
}

fn memory() -> LineChart {
    let keys = Axis::new("Keys", Unit::Number(""));
    LineChart::new("Resident memory", keys, Axis::new("Memory", Unit::Bytes)).line(
        "resident",
        (0..30).map(|step| (f64::from(step) * 5e6, 300.0 * MIB * (1.0 - 0.9f64.powi(step)))),
    )
}

fn edges() -> LineChart {
    LineChart::new(
        "Huge, tiny, zero & <hostile> \"text\"",
        Axis::new("x", Unit::Number("things")).log(),
        Axis::new("y", Unit::Number("things")).log(),
    )
    .line("<script>alert(1)</script>", [(0.0, 1.0), (1e-300, 1e-300), (1.0, 0.0), (1e300, 1e300)])
    .line("one point", [(1e10, 1e-100)])
    .line("none", [])
}

fn change() -> BarChart {
    let axis = Axis::new("Change", Unit::Share);
    BarChart::grouped("Change against the release before", axis, ["rate", "memory"])
        .row(
            "a benchmark whose name is far too long to stand beside its bar in full",
            [0.12, -0.07],
        )
        .row("short", [-0.31, 0.002])
}

fn empty() -> BarChart {
    BarChart::grouped("Nothing was measured", per_second(), ["rate"]).row("run", [f64::NAN])
}

fn findings() -> Section {
    let table = Table::new([
        Column::text("File"),
        Column::text("Filter"),
        Column::values("Size", Unit::Bytes),
        Column::values("Entries", Unit::Number("")),
        Column::values("Hits", Unit::Share),
    ])
    .caption("Tables with one filter for all keys")
    .row([
        "`000123.sst`".into(),
        "full".into(),
        (67u64 << 20).into(),
        812_345u64.into(),
        0.99973.into(),
    ])
    .row(["`000124.sst`".into(), "none".into(), 1234u64.into(), 7u64.into(), Cell::Empty]);
    Section::new("Findings")
        .notice(Notice::Problem, "`cache_index_and_filter_blocks` is off", "214 files hold 1.2 GiB outside of any budget.")
        .notice(Notice::Warning, "`partition_filters` has no effect", "It needs `index_type=kTwoLevelIndexSearch`.")
        .notice(Notice::Note, "Two files have no filter", "")
        .notice(Notice::Good, "All checksums hold", "12,345 blocks were read.")
        .table(table)
        .text("Put this into the options file:")
        .code("[TableOptions/BlockBasedTable \"default\"]\n  index_type=kTwoLevelIndexSearch\n  partition_filters=true")
}
