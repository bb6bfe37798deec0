//! Bars: values of named things, side by side or one on the other.
//!
//! Bars lie, so that names of any length stand beside them and any number of them fits one below the other.
//!
//! ```text
//! group
//!       name |==== value
//!            |======= value
//!       name |=== value
//!            0      tick     tick
//!              value axis title
//! ```

mod plot;

use maud::{Markup, html};

use self::plot::Plot;
use super::{Figure, Look, Notes, WIDTH, listed};
use crate::axis::{Axis, Scale};
use crate::svg::Px;
use crate::table::{Cell, Column, Table};

/// Bars of several series for each of several named things, which may stand in groups.
///
/// ```
/// use partita_charts::{Axis, BarChart, Page, Section, Unit};
///
/// let latency = BarChart::grouped(
///     "Latency of a lookup",
///     Axis::new("Latency", Unit::Seconds).log(),
///     ["p50", "p99"],
/// )
/// .group("64 MiB")
/// .row("two-level index", [8e-6, 310e-6])
/// .row("whole filters", [12e-6, 0.027]);
/// let html = Page::new("Latency").section(Section::new("Lookups").chart(latency)).to_html();
/// assert!(html.contains("<title>64 MiB, whole filters, p99: 27\u{a0}ms</title>"));
/// ```
#[derive(Clone, Debug)]
pub struct BarChart {
    title: String,
    text: String,
    axis: Axis,
    series: Vec<String>,
    kind: Kind,
    rows: Vec<Row>,
    group: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Grouped,
    Stacked,
}

#[derive(Clone, Debug)]
struct Row {
    group: String,
    name: String,
    /// As many as there are series.
    values: Vec<f64>,
}

impl BarChart {
    /// A chart without rows, whose series are to stand below each other in each row.
    ///
    /// On a logarithmic axis, where a length says nothing, bars give way to dots.
    pub fn grouped(
        title: impl Into<String>,
        axis: Axis,
        series: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self::new(title.into(), axis, series, Kind::Grouped)
    }

    /// A chart without rows, whose series add up to one bar in each row; values below zero add up to the left.
    ///
    /// * `axis`: is made linear, since lengths do not add up on another.
    pub fn stacked(
        title: impl Into<String>,
        axis: Axis,
        series: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self::new(title.into(), axis.scale(Scale::Linear), series, Kind::Stacked)
    }

    fn new(
        title: String,
        axis: Axis,
        series: impl IntoIterator<Item = impl Into<String>>,
        kind: Kind,
    ) -> Self {
        Self {
            title,
            text: String::new(),
            axis,
            series: series.into_iter().map(Into::into).collect(),
            kind,
            rows: Vec::new(),
            group: String::new(),
        }
    }

    /// Says below the title what to look for.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    /// Begins a group: the rows that follow stand below its name.
    #[must_use]
    pub fn group(self, name: impl Into<String>) -> Self {
        Self { group: name.into(), ..self }
    }

    /// Adds a row.
    ///
    /// * `values`: one for each series, in their order. One that is not finite is missing, as are those left out at the
    ///   end.
    /// * Panics if there are more values than series.
    #[must_use]
    pub fn row(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        assert!(
            values.len() <= self.series.len(),
            "a row has more values than the chart has series"
        );
        values.resize(self.series.len(), f64::NAN);
        self.rows.push(Row { group: self.group.clone(), name: name.into(), values });
        self
    }

    pub(super) fn figure(&self) -> Figure<'_> {
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let is_log = self.axis.scale == Scale::Log;
        Figure {
            title: &self.title,
            text: &self.text,
            series: self.names(),
            looks: if is_log { Look::Dot } else { Look::Bar },
            picture: values().any(f64::is_finite).then(|| self.picture()),
            notes: Notes {
                below_scale: is_log && values().any(|value| value <= 0.0 && value.is_finite()),
                missing: values().any(|value| !value.is_finite()),
            },
            table: self.table(),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.series.iter().map(String::as_str).collect()
    }

    fn has_groups(&self) -> bool {
        self.rows.iter().any(|row| !row.group.is_empty())
    }

    fn table(&self) -> Table {
        let group = self.has_groups().then(|| Column::text(""));
        let series =
            self.series.iter().map(|name| Column::values_as_captioned(name, self.axis.unit));
        let total = (self.kind == Kind::Stacked)
            .then(|| Column::values_as_captioned("Total", self.axis.unit));
        let columns = group.into_iter().chain([Column::text("")]).chain(series).chain(total);
        let mut table = Table::new(columns).caption(self.axis.unit.title(&self.axis.title));
        for row in &self.rows {
            let group = self.has_groups().then(|| Cell::from(row.group.as_str()));
            let values = row.values.iter().map(|&value| Cell::Value(value));
            let total = (self.kind == Kind::Stacked).then(|| Cell::Value(row.total()));
            let name = Cell::from(row.name.as_str());
            table.push(group.into_iter().chain([name]).chain(values).chain(total));
        }
        table
    }

    fn picture(&self) -> Markup {
        let label = format!(
            "{}. {}, {} {} for {}. The table has the values.",
            self.title,
            self.axis.label(),
            if self.kind == Kind::Stacked { "stacked bars of" } else { "bars of" },
            listed(&self.names()),
            listed(&self.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>()),
        );
        let plot = Plot::new(self);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(label)
                viewBox={ "0 0 " (WIDTH) " " (Px(plot.height())) } {
                (plot.axis(&self.axis.label()))
                (plot.names())
                @match self.kind {
                    Kind::Grouped => (plot.grouped()),
                    Kind::Stacked => (plot.stacked()),
                }
            }
        }
    }

    /// What a bar tells on hover.
    fn told(&self, row: &Row, series: usize) -> String {
        let group = if row.group.is_empty() { String::new() } else { format!("{}, ", row.group) };
        let value = self.axis.unit.phrase(row.values[series]);
        format!("{group}{}, {}: {value}", row.name, self.series[series])
    }
}

impl Row {
    /// The sum of the values that are there; no number if none is.
    fn total(&self) -> f64 {
        let there = || self.values.iter().filter(|value| value.is_finite());
        if there().next().is_none() { f64::NAN } else { there().sum() }
    }

    /// How far the bars of a stack go below and above zero.
    fn reach(&self) -> [f64; 2] {
        let sum = |positive: bool| {
            let side = |value: &&f64| value.is_finite() && (**value > 0.0) == positive;
            self.values.iter().filter(side).sum()
        };
        [sum(false), sum(true)]
    }
}
