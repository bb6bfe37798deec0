//! A report as a page: whether the rate stays, and what every role had of the memory meanwhile.
//!
//! ```text
//! At a glance     findings, rates of all over keys, the bound on memory
//! a load, ...     latencies, hits, cache, what was put into it, debt, write amplification, waits
//! How to read     the legend of the printed report
//! ```

use partita_charts::{Axis, Column, LineChart, Notice, Page, Section, Table, Unit, human};

use super::load::Load;
use super::report::{LEGEND, Report};
use super::row::Row;
use crate::lookups::PerRole;

/// The value of a role.
type Role = fn(&PerRole<f64>) -> f64;

/// Roles whose lookups are counted.
const ROLES: [(&str, Role); 3] = [
    ("data", |values| values.data),
    ("index", |values| values.index),
    ("filter", |values| values.filter),
];

/// What a line shows of each row.
type Line<'a> = (&'a str, Box<dyn Fn(&Row) -> f64 + 'a>);

fn keys() -> Axis {
    Axis::new("Keys", Unit::Number(""))
}

/// A chart over keys, of one load.
fn chart(load: &Load, title: &str, y: Axis, text: &str, lines: &[Line<'_>]) -> LineChart {
    let chart = LineChart::new(title, keys(), y).text(text);
    lines.iter().fold(chart, |chart, (name, value)| chart.line(*name, points(load, value)))
}

fn points<'a>(
    load: &'a Load,
    value: impl Fn(&Row) -> f64 + 'a,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    load.rows.iter().map(move |row| (row.keys as f64, value(row)))
}

impl Report {
    /// The report as a page.
    pub fn to_page(&self) -> Page {
        let settings = &self.settings;
        let mut page = Page::new("Metadata of objects while they become many").intro(
            "A metadata manager's tables are loaded: each round looks whether a key is there and opens it, commits another, and \
             looks old ones up. Every load ran in a process of its own.",
        );
        for (name, value) in self.setup.facts() {
            page = page.fact(name, value);
        }
        page = page.fact("Load", settings.to_string()).section(self.glance());
        for load in &self.loads {
            page = page.section(load.section());
        }
        page.section(Section::new("How to read the tables").code(LEGEND))
    }

    fn glance(&self) -> Section {
        let mut section = Section::new("At a glance");
        if !self.setup.is_optimised {
            let title = "Built without optimisation: rates and times mean nothing";
            section =
                section.notice(Notice::Warning, title, "Hits and bytes are as they would be.");
        }
        let mut rate = LineChart::new(
            "Rate while keys become many",
            keys(),
            Axis::new("Keys", Unit::Number("per second")),
        );
        let mut memory = LineChart::new(
            "Resident memory of the process",
            keys(),
            Axis::new("Resident at most", Unit::Bytes),
        )
        .text("Beside it what it has to stay below: budget and memtables, a tenth of both, and 64 MiB.");
        for load in &self.loads {
            let name = &*load.loaded.name;
            section = section.text(format!("{name}: {}.", load.findings().join("; ")));
            rate = rate.line(name, points(load, Row::keys_per_second));
            memory = memory.line(name, points(load, |row| row.resident_bytes as f64));
        }
        if let Some(load) = self.loads.first() {
            let budget = load.loaded.opening.budget_bytes;
            memory = memory.line("the bound", points(load, |row| row.resident_limit_bytes(budget)));
        }
        section.chart(rate).chart(memory).table(self.summary())
    }

    fn summary(&self) -> Table {
        let mut table = Table::new([
            Column::text("Who"),
            Column::text("Engine"),
            Column::values("Keys", Unit::Number("per second")),
            Column::values("Second tenth", Unit::Number("per second")),
            Column::values("Last tenth", Unit::Number("per second")),
            Column::values("Longest round", Unit::Seconds),
            Column::values("Resident at most", Unit::Bytes),
            Column::values("Tables", Unit::Bytes),
            Column::values("Settled in", Unit::Seconds),
        ])
        .caption("All loads");
        for load in &self.loads {
            let (first, last) = load.first_and_last_rate().unwrap_or((f64::NAN, f64::NAN));
            let resident = load.rows.iter().map(|row| row.resident_bytes).max().unwrap_or(0);
            let tables = load.rows.last().map_or(0, |row| row.table_bytes);
            table.push([
                (&*load.loaded.name).into(),
                (&*load.loaded.engine).into(),
                load.rate().into(),
                first.into(),
                last.into(),
                load.longest_seconds().into(),
                resident.into(),
                tables.into(),
                load.settle_seconds.unwrap_or(f64::NAN).into(),
            ]);
        }
        table
    }
}

impl Load {
    fn section(&self) -> Section {
        let name = format!("{}, {}", self.loaded.name, self.loaded.engine);
        let budget = human::bytes(self.loaded.opening.budget_bytes as f64);
        let latency = [
            line("half at most", |row| row.p50_us / 1e6),
            line("99 of 100 at most", |row| row.p99_us / 1e6),
            line("longest", |row| row.max_us / 1e6),
        ];
        let mut cached = by_role(|row| row.cached_bytes.map(|bytes| bytes as f64));
        cached.push(line("memtables", |row| row.memtable_bytes as f64));
        cached.push(line("other", |row| row.cached_bytes.other as f64));
        let bytes_per_second = Axis::new("Bytes in a second", Unit::Bytes);
        Section::new(name)
            .chart(chart(
                self,
                "Latency of a round",
                Axis::new("Takes", Unit::Seconds).log(),
                "",
                &latency,
            ))
            .chart(chart(
                self,
                "Hits by role",
                Axis::new("Found in the cache", Unit::Share),
                "Of the blocks and pieces that reads asked for.",
                &by_role(|row| row.hit_ratio().map(|hits| hits.unwrap_or(f64::NAN))),
            ))
            .chart(chart(
                self,
                "The cache by role",
                Axis::new("Charged", Unit::Bytes),
                &format!("All together stay within the budget of {budget}."),
                &cached,
            ))
            .chart(chart(
                self,
                "Put into the cache",
                bytes_per_second,
                "What comes in again and again had to leave.",
                &by_role(|row| row.inserted_bytes.map(|bytes| bytes as f64 / row.seconds)),
            ))
            .chart(self.amplification())
            .chart(chart(
                self,
                "Compaction",
                Axis::new("Bytes", Unit::Bytes),
                "",
                &[
                    line("to be written yet", |row| row.debt_bytes as f64),
                    line("tables", |row| row.table_bytes as f64),
                ],
            ))
            .chart(chart(
                self,
                "Writers made to wait",
                Axis::new("Of the time", Unit::Share),
                "",
                &[line("waits", |row| row.stall_seconds / row.seconds)],
            ))
    }

    fn amplification(&self) -> LineChart {
        let values = self.rows.iter().zip(self.write_amplification());
        LineChart::new(
            "Write amplification",
            keys(),
            Axis::new("Written to tables", Unit::Number("bytes for each byte of changes")),
        )
        .line("so far", values.map(|(row, amplification)| (row.keys as f64, amplification)))
    }
}

fn line<'a>(name: &'a str, value: impl Fn(&Row) -> f64 + 'a) -> Line<'a> {
    (name, Box::new(value))
}

fn by_role<'a>(values: impl Fn(&Row) -> PerRole<f64> + Copy + 'a) -> Vec<Line<'a>> {
    let of = |(name, role): (&'static str, Role)| -> Line<'a> {
        (name, Box::new(move |row: &Row| role(&values(row))))
    };
    ROLES.into_iter().map(of).collect()
}
