//! A report as a page: what was run, whether anybody fell off the cliff, charts and tables of every figure.
//!
//! ```text
//! At a glance              who fell off the cliff; who takes part      page/cliff.rs
//! a kind of lookups, ...   charts over budgets, a table                page/lookups.rs
//! Memory                   resident memory against the budget
//! Files                    how they were loaded, or found
//! How to read the tables   the legend of the printed report
//! ```

mod cliff;
mod lookups;

use partita_charts::{
    Axis, BarChart, Cell as Field, Column, LineChart, Notice, Page, Section, Table, Unit, human,
};

use super::plan::Source;
use super::report::{Report, joined_names};
use crate::lookups::PerRole;

/// Roles in the order of the charts.
const ROLES: [&str; 4] = ["data", "index", "filter", "other"];

/// The values of [`ROLES`].
fn by_role(values: PerRole<f64>) -> [f64; 4] {
    [values.data, values.index, values.filter, values.other]
}

/// What a budget is called in tables and groups.
fn budget_name(bytes: u64) -> String {
    human::bytes(bytes as f64)
}

impl Report {
    /// The report as a page.
    pub fn to_page(&self) -> Page {
        let mut page = Page::new("Entry locations under budgets of memory").intro(
            "An index of entry locations, as a bookie keeps it, is read under budgets from too small to more than \
             enough. Each budget holds blocks, pieces of index and filter, and open tables; each cell ran in a process \
             of its own.",
        );
        for (name, value) in self.facts() {
            page = page.fact(name, value);
        }
        page = page.section(self.glance());
        for &mix in &self.settings.mixes {
            page = page.section(self.lookups_section(mix));
        }
        page.section(self.memory_section())
            .section(self.files_section())
            .section(Section::new("How to read the tables").code(super::LEGEND))
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let effort = &self.settings.effort;
        let budgets = self.settings.budgets_bytes.iter().map(|&bytes| budget_name(bytes));
        let warm_up = human::seconds(effort.warm_up_seconds * effort.warm_up_rounds as f64);
        let mut facts = self.setup.facts();
        facts.extend([
            ("Entries", self.entries()),
            ("Budgets", budgets.collect::<Vec<_>>().join(", ")),
            (
                "Lookups",
                format!(
                    "{} threads, {} reads, warmed up for {warm_up} at most, timed for {}, seed {}",
                    effort.threads,
                    self.settings.read_mode,
                    human::seconds(effort.seconds),
                    effort.seed
                ),
            ),
        ]);
        facts
    }

    fn entries(&self) -> String {
        match &self.settings.source {
            Source::Loaded { keyspace, flush_entries, .. } => format!(
                "{} of {} ledgers, written {} at a time",
                human::number(keyspace.len() as f64),
                human::number(keyspace.ledgers as f64),
                human::number(*flush_entries as f64)
            ),
            Source::Directory(dir) => format!("those of `{}`", dir.display()),
        }
    }

    fn glance(&self) -> Section {
        let mut section = Section::new("At a glance");
        if !self.setup.is_optimised {
            section = section.notice(
                Notice::Warning,
                "Built without optimisation: rates and times mean nothing",
                "Blocks and bytes read are as they would be.",
            );
        }
        for &mix in &self.settings.mixes {
            let (kind, title, text) = self.cliff_notice(mix);
            section = section.notice(kind, title, text);
        }
        let unsettled: Vec<String> = self
            .cells
            .iter()
            .filter(|cell| cell.lookups.iter().any(|(_, measured)| !measured.settled))
            .map(|cell| format!("{} with {}", cell.id.contender, budget_name(cell.id.budget_bytes)))
            .collect();
        if !unsettled.is_empty() {
            section = section.notice(
                Notice::Note,
                "Some were measured before the blocks read per lookup had settled",
                format!("{}: a longer `--warmup` helps.", joined_names(&unsettled)),
            );
        }
        section.table(self.contenders())
    }

    fn contenders(&self) -> Table {
        let columns = ["Who", "Engine", "Reads the files of", "Layout", "Data blocks"];
        let mut table = Table::new(columns.map(Column::text)).caption("Who takes part");
        for contender in &self.settings.contenders {
            let mut row = vec![Field::from(&*contender.name), Field::from(&*contender.engine)];
            if let Some((name, store)) =
                self.stores.iter().find(|(name, _)| *name == contender.files)
            {
                let tables = store.load.tables;
                row.push(format!("{name}, by {}", store.load.engine).into());
                row.push(tables.layout.to_string().into());
                row.push(human::bytes(tables.block_bytes.into()).into());
            }
            table.push(row);
        }
        table
    }

    fn memory_section(&self) -> Section {
        let budget = Axis::new("Budget", Unit::Bytes).log();
        let resident = Axis::new("Resident at most", Unit::Bytes).log();
        let mut chart = LineChart::new("Resident memory of the process", budget, resident).text(
            "The whole program, with memtables and what its allocator keeps, beside the line of the budget itself.",
        );
        let budgets = self.settings.budgets_bytes.iter().map(|&bytes| bytes as f64);
        for contender in &self.settings.contenders {
            let cells = self.cells.iter().filter(|cell| cell.id.contender == contender.name);
            chart = chart.line(
                &*contender.name,
                cells.map(|cell| (cell.id.budget_bytes as f64, cell.resident_peak_bytes as f64)),
            );
        }
        chart = chart.line("the budget", budgets.map(|bytes| (bytes, bytes)));
        let columns = ["At most", "Before anything was opened", "Added"];
        let columns = columns.map(|title| Column::values(title, Unit::Bytes));
        let mut table =
            Table::new([Column::text("Budget"), Column::text("Who")].into_iter().chain(columns))
                .caption("Resident memory");
        for cell in &self.cells {
            let (peak, base) = (cell.resident_peak_bytes as f64, cell.resident_base_bytes as f64);
            table.push([
                budget_name(cell.id.budget_bytes).into(),
                Field::from(&*cell.id.contender),
                peak.into(),
                base.into(),
                (peak - base).into(),
            ]);
        }
        Section::new("Memory").chart(chart).table(table)
    }

    fn files_section(&self) -> Section {
        if let Some(found) = &self.directory {
            let table = Table::new([
                Column::values("Tables", Unit::Number("")),
                Column::values("Size", Unit::Bytes),
                Column::values("Ledgers", Unit::Number("")),
            ]);
            let row = [found.tables.into(), found.bytes.into(), found.ledgers.into()];
            return Section::new("Files")
                .text("They were there, and stay as they are.")
                .table(table.row(row));
        }
        let mut rate = BarChart::grouped(
            "Loading, until no compaction was due",
            Axis::new("Entries", Unit::Number("per second")),
            ["on the clock", "of processor time"],
        )
        .text("Loads have background threads: a second of processor time says more of what they cost.");
        let mut table = Table::new([
            Column::text("Files"),
            Column::text("Engine"),
            Column::text("Layout"),
            Column::values("Data blocks", Unit::Bytes),
            Column::values("Tables", Unit::Number("")),
            Column::values("Size", Unit::Bytes),
            Column::values("Loaded in", Unit::Seconds),
            Column::values("Entries", Unit::Number("per second")),
            Column::values("CPU of an entry", Unit::Seconds),
            Column::values("Resident at most", Unit::Bytes),
        ])
        .caption("What was loaded");
        for (name, store) in &self.stores {
            let cpu_seconds = store.cpu_us_per_entry() / 1e6;
            rate = rate.row(&**name, [store.entries_per_second(), 1.0 / cpu_seconds]);
            table.push([
                Field::from(&**name),
                Field::from(&*store.load.engine),
                store.load.tables.layout.to_string().into(),
                u64::from(store.load.tables.block_bytes).into(),
                store.tables.into(),
                store.table_bytes.into(),
                store.seconds.into(),
                store.entries_per_second().into(),
                cpu_seconds.into(),
                store.resident_peak_bytes.into(),
            ]);
        }
        Section::new("Files").chart(rate).table(table)
    }
}

#[cfg(test)]
mod tests;
