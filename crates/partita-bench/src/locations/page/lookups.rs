//! The section of one kind of lookups.

use partita_charts::{Axis, BarChart, Cell as Field, Column, LineChart, Section, Table, Unit};

use super::{ROLES, budget_name, by_role};
use crate::locations::PARTITA;
use crate::locations::report::{Report, title};
use crate::locations::task::Cell;
use crate::lookups::{Measured, Mix};

impl Report {
    pub(super) fn lookups_section(&self, mix: Mix) -> Section {
        let axis = |title: &str, unit| Axis::new(title, unit);
        let mut section = Section::new(title(mix)).chart(self.rates(mix));
        if let Some(ratios) = self.ratios(mix) {
            section = section.chart(ratios);
        }
        let reads = BarChart::stacked(
            "Blocks read for a lookup",
            axis("Read from files", Unit::Number("blocks per lookup")),
            ROLES,
        )
        .text("Blocks, or pieces of filters and indexes. Index and filter in here are what a cliff is made of.");
        let bytes = BarChart::stacked(
            "Bytes read for a lookup",
            axis("Read from files, as stored", Unit::Bytes),
            ROLES,
        );
        let latency = BarChart::grouped(
            "Latency on the clock",
            axis("A lookup takes at most", Unit::Seconds).log(),
            ["half of them (p50)", "99 of 100 (p99)"],
        );
        let cache = BarChart::stacked(
            "What the budget holds after these lookups",
            axis("Charged", Unit::Bytes),
            ROLES,
        );
        section
            .chart(self.by_cell(reads, mix, |measured| by_role(measured.reads_per_get)))
            .chart(self.by_cell(bytes, mix, |measured| by_role(measured.bytes_per_get)))
            .chart(self.by_cell(latency, mix, |m| [m.p50_us / 1e6, m.p99_us / 1e6]))
            .chart(self.by_cell(cache, mix, |m| by_role(m.charged_bytes.map(|bytes| bytes as f64))))
            .table(self.figures(mix))
    }

    /// What a kind of lookups came to in each cell.
    fn measured_cells(&self, mix: Mix) -> impl Iterator<Item = (&Cell, &Measured)> {
        self.cells.iter().filter_map(move |cell| Some((cell, cell.of(mix)?)))
    }

    fn rates(&self, mix: Mix) -> LineChart {
        let budget = Axis::new("Budget", Unit::Bytes).log();
        let rate = Axis::new("Lookups", Unit::Number("per second of CPU")).log();
        let mut chart = LineChart::new("Lookups for a second of CPU", budget, rate).text(
            "A line that drops steeply to the left, or lies far below the others, is off the cliff.",
        );
        for contender in &self.settings.contenders {
            let mine = |(cell, _): &(&Cell, &Measured)| cell.id.contender == contender.name;
            let points = self.measured_cells(mix).filter(mine).map(|(cell, measured)| {
                (cell.id.budget_bytes as f64, 1e6 / measured.cpu_us_per_get)
            });
            chart = chart.line(&*contender.name, points);
        }
        chart
    }

    /// Partita's rates in those of its opponents, if there are any.
    fn ratios(&self, mix: Mix) -> Option<BarChart> {
        let opponents: Vec<&str> = self.opponents().map(|opponent| &*opponent.name).collect();
        if opponents.is_empty() {
            return None;
        }
        let mut chart = BarChart::grouped(
            "Partita beside its opponents",
            Axis::new("Lookups for a second of CPU", Unit::Number("times as many")).log(),
            opponents.iter().map(|name| format!("as {name}")),
        );
        for &budget in &self.settings.budgets_bytes {
            chart = chart.group(budget_name(budget));
            for contender in self.settings.contenders.iter().filter(|c| c.engine == PARTITA) {
                let ratio = |to: &&str| self.ratio(&contender.name, to, budget, mix);
                let ratios = opponents.iter().map(|to| ratio(to).unwrap_or(f64::NAN));
                chart = chart.row(&*contender.name, ratios);
            }
        }
        Some(chart)
    }

    /// `chart` with a row for each cell, in groups by budget.
    fn by_cell<const N: usize>(
        &self,
        mut chart: BarChart,
        mix: Mix,
        values: impl Fn(&Measured) -> [f64; N],
    ) -> BarChart {
        for (cell, measured) in self.measured_cells(mix) {
            chart = chart.group(budget_name(cell.id.budget_bytes));
            chart = chart.row(&*cell.id.contender, values(measured));
        }
        chart
    }

    /// Everything that was measured.
    fn figures(&self, mix: Mix) -> Table {
        let number = |title: &str| Column::values(title, Unit::Number(""));
        let mut columns = vec![
            Column::text("Budget"),
            Column::text("Who"),
            Column::values("Lookups", Unit::Number("per second")),
            Column::values("CPU of a lookup", Unit::Seconds),
            Column::values("p50", Unit::Seconds),
            Column::values("p99", Unit::Seconds),
        ];
        columns.extend(self.opponents().map(|opponent| number(&format!("of {}", opponent.name))));
        columns.extend(ROLES.map(|role| number(&format!("Reads: {role}"))));
        columns.extend(ROLES.map(|role| Column::values(format!("Read: {role}"), Unit::Bytes)));
        columns.extend(ROLES.map(|role| Column::values(format!("Hits: {role}"), Unit::Share)));
        columns.extend(ROLES.map(|role| Column::values(format!("Held: {role}"), Unit::Bytes)));
        columns.push(Column::values("Warm-up", Unit::Number("lookups")));
        columns.push(Column::text("Settled"));
        let mut table = Table::new(columns).caption("All figures");
        for (cell, measured) in self.measured_cells(mix) {
            let id = &cell.id;
            let mut row: Vec<Field> = vec![
                budget_name(id.budget_bytes).into(),
                Field::from(&*id.contender),
                measured.gets_per_second.into(),
                (measured.cpu_us_per_get / 1e6).into(),
                (measured.p50_us / 1e6).into(),
                (measured.p99_us / 1e6).into(),
            ];
            let ratio = |to: &str| self.ratio(&id.contender, to, id.budget_bytes, mix);
            row.extend(self.opponents().map(|opponent| Field::from(ratio(&opponent.name))));
            row.extend(by_role(measured.reads_per_get).map(Field::from));
            row.extend(by_role(measured.bytes_per_get).map(Field::from));
            let hits = measured.hit_rate;
            row.extend([hits.data, hits.index, hits.filter, hits.other].map(Field::from));
            row.extend(by_role(measured.charged_bytes.map(|bytes| bytes as f64)).map(Field::from));
            row.push(measured.warm_up_gets.into());
            row.push(if measured.settled { "yes" } else { "no" }.into());
            table.push(row);
        }
        table
    }
}
