//! Where the bars of a chart are, and how each is drawn.

use maud::{Markup, html};

use super::{BarChart, Kind, Row};
use crate::axis::{Scale, Unit};
use crate::chart::WIDTH;
use crate::chart::scale::{Ends, Layout, Place};
use crate::svg::{Px, cut_to_width, marker, series_class, text_width};

/// Between two bars of a row.
const BAR_GAP: f64 = 2.0;
const ROW_GAP: f64 = 12.0;
const GROUP_HEAD: f64 = 30.0;
const TOP: f64 = 6.0;
/// Ticks and title of the axis.
const BOTTOM: f64 = 48.0;
const NAME_WIDTH_MAX: f64 = 240.0;

/// Where rows and values are.
pub(super) struct Plot<'c> {
    chart: &'c BarChart,
    layout: Layout,
    left: f64,
    right: f64,
    bar_height: f64,
    row_height: f64,
    /// Of each row.
    tops: Vec<f64>,
    begins_group: Vec<bool>,
}

impl<'c> Plot<'c> {
    pub(super) fn new(chart: &'c BarChart) -> Self {
        const TICKS_MAX: usize = 7;
        let (bar_height, bars) = match chart.kind {
            Kind::Grouped => (14.0, chart.series.len() as f64),
            Kind::Stacked => (22.0, 1.0),
        };
        let row_height = bars * (bar_height + BAR_GAP) - BAR_GAP;
        let mut y = TOP;
        let (mut tops, mut begins_group) = (Vec::new(), Vec::new());
        for (at, row) in chart.rows.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |before| &chart.rows[before].group);
            let begins = row.group != before;
            y += match begins {
                // No row is above that its head has to keep off.
                true if at == 0 => GROUP_HEAD - ROW_GAP,
                true => GROUP_HEAD,
                false => 0.0,
            };
            tops.push(y);
            begins_group.push(begins);
            y += row_height + ROW_GAP;
        }
        let name_width = chart.rows.iter().map(|row| text_width(&row.name)).fold(0.0, f64::max);
        let unit = chart.axis.unit;
        let value_width = match chart.kind {
            Kind::Grouped => widest(chart.rows.iter().flat_map(|row| &row.values).copied(), unit),
            Kind::Stacked => widest(chart.rows.iter().map(Row::total), unit),
        };
        let values: Vec<f64> = match chart.kind {
            Kind::Grouped => chart.rows.iter().flat_map(|row| row.values.iter().copied()).collect(),
            Kind::Stacked => chart.rows.iter().flat_map(Row::reach).collect(),
        };
        Self {
            chart,
            layout: Layout::new(&chart.axis, values, Ends::Round, TICKS_MAX),
            left: name_width.min(NAME_WIDTH_MAX) + 14.0,
            right: WIDTH - value_width - 14.0,
            bar_height,
            row_height,
            tops,
            begins_group,
        }
    }

    fn bottom(&self) -> f64 {
        self.tops.last().map_or(TOP, |top| top + self.row_height) + 8.0
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom() + BOTTOM
    }

    fn x_at(&self, fraction: f64) -> f64 {
        self.left + fraction * (self.right - self.left)
    }

    /// Where lengths begin: at zero, or at the lower end of a logarithmic axis.
    fn base(&self) -> f64 {
        self.x_of(0.0)
    }

    /// Where `value`, a number, is; what has no place on the scale is at its lower end.
    fn x_of(&self, value: f64) -> f64 {
        match self.layout.place(value) {
            Place::At(at) => self.x_at(at),
            Place::Below | Place::Missing => self.x_at(0.0),
        }
    }

    pub(super) fn axis(&self, label: &str) -> Markup {
        let bottom = self.bottom();
        html! {
            @for (at, label) in self.layout.ticks() {
                @let x = self.x_at(at);
                line class="grid" x1=(Px(x)) x2=(Px(x)) y1="0" y2=(Px(bottom)) {}
                text class="tick middle" x=(Px(x)) y=(Px(bottom + 16.0)) { (label) }
            }
            line class="base" x1=(Px(self.base())) x2=(Px(self.base())) y1="0" y2=(Px(bottom)) {}
            text class="axis middle" x=(Px((self.left + self.right) / 2.0)) y=(Px(bottom + 38.0)) { (label) }
        }
    }

    pub(super) fn names(&self) -> Markup {
        html! {
            @for ((row, top), begins) in self.chart.rows.iter().zip(&self.tops).zip(&self.begins_group) {
                @if *begins {
                    text class="group" x="0" y=(Px(top - 8.0)) { (cut_to_width(&row.group, WIDTH)) }
                }
                (self.name(row, *top))
            }
        }
    }

    fn name(&self, row: &Row, top: f64) -> Markup {
        let name = cut_to_width(&row.name, NAME_WIDTH_MAX);
        let middle = top + self.row_height / 2.0;
        html! {
            text class="end" x=(Px(self.left - 8.0)) y=(Px(middle + 4.0)) {
                (name)
                @if name != row.name { title { (row.name) } }
            }
        }
    }

    pub(super) fn grouped(&self) -> Markup {
        html! {
            @for series in 0..self.chart.series.len() {
                g class={ "series " (series_class(series)) } {
                    @for (row, top) in self.chart.rows.iter().zip(&self.tops) {
                        @let top = top + series as f64 * (self.bar_height + BAR_GAP);
                        (self.grouped_bar(row, series, top))
                    }
                }
            }
        }
    }

    fn grouped_bar(&self, row: &Row, series: usize, top: f64) -> Markup {
        let value = row.values[series];
        let place = self.layout.place(value);
        let (base, end) = (self.base(), self.x_of(value));
        let middle = top + self.bar_height / 2.0;
        let is_log = self.chart.axis.scale == Scale::Log;
        // Beside the bar, off a dot; a bar to the left of zero has its number to the right of it all the same, where
        // there is room.
        let text_at = end.max(base) + if is_log { 10.0 } else { 5.0 };
        let (from, to) = (base.min(end), base.max(end));
        html! {
            g class="point" {
                title { (self.chart.told(row, series)) }
                @match place {
                    Place::Missing => {}
                    Place::Below => (marker(series, end, middle, true)),
                    Place::At(_) if is_log => {
                        line class="stem" x1=(Px(base)) x2=(Px(end)) y1=(Px(middle)) y2=(Px(middle)) {}
                        (marker(series, end, middle, false))
                    }
                    Place::At(_) => rect class="bar" x=(Px(from)) width=(Px(to - from)) y=(Px(top))
                        height=(Px(self.bar_height)) {},
                }
                text class="tick" x=(Px(text_at)) y=(Px(middle + 4.0)) {
                    (self.chart.axis.unit.format(value))
                }
                rect class="target" x=(Px(from)) width=(Px(to - from + 40.0)) y=(Px(top))
                    height=(Px(self.bar_height)) {}
            }
        }
    }

    pub(super) fn stacked(&self) -> Markup {
        html! {
            @for series in 0..self.chart.series.len() {
                g class={ "series " (series_class(series)) } {
                    @for (row, top) in self.chart.rows.iter().zip(&self.tops) {
                        (self.segment(row, series, *top))
                    }
                }
            }
            @for (row, top) in self.chart.rows.iter().zip(&self.tops) {
                @let end = self.x_of(row.reach()[1]);
                text class="tick" x=(Px(end + 5.0)) y=(Px(top + self.bar_height / 2.0 + 4.0)) {
                    (self.chart.axis.unit.format(row.total()))
                }
            }
        }
    }

    /// One series of a stack: on those before it that are on the same side of zero.
    fn segment(&self, row: &Row, series: usize, top: f64) -> Markup {
        let value = row.values[series];
        if !value.is_finite() || value == 0.0 {
            return html! {};
        }
        let same_side = |other: &&f64| other.is_finite() && (**other > 0.0) == (value > 0.0);
        let before: f64 = row.values[..series].iter().filter(same_side).sum();
        let (one, other) = (self.x_of(before), self.x_of(before + value));
        let width = (one - other).abs();
        // A hair between neighbours, where they can spare it.
        let shown_width = if width > 4.0 { width - 1.0 } else { width };
        html! {
            rect class="bar" x=(Px(one.min(other))) width=(Px(shown_width)) y=(Px(top))
                height=(Px(self.bar_height)) {
                title { (self.chart.told(row, series)) }
            }
        }
    }
}

/// How wide the widest of `values` is as text.
fn widest(values: impl Iterator<Item = f64>, unit: Unit) -> f64 {
    values.map(|value| text_width(&unit.format(value))).fold(0.0, f64::max)
}
