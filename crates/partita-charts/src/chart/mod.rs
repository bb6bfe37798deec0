//! A chart on the page: caption, legend, picture, what the picture cannot show, and all its values as a table.

mod bars;
mod lines;
mod scale;

use maud::{Markup, html};

pub use bars::BarChart;
pub use lines::LineChart;

use crate::page::prose;
use crate::svg::{marker, series_class};
use crate::table::Table;

/// A chart of any kind.
#[derive(Clone, Debug)]
pub enum Chart {
    /// Values over a number.
    Lines(LineChart),
    /// Values of named things.
    Bars(BarChart),
}

impl From<LineChart> for Chart {
    fn from(chart: LineChart) -> Self {
        Self::Lines(chart)
    }
}

impl From<BarChart> for Chart {
    fn from(chart: BarChart) -> Self {
        Self::Bars(chart)
    }
}

impl Chart {
    pub(crate) fn markup(&self) -> Markup {
        match self {
            Self::Lines(lines) => lines.figure().markup(),
            Self::Bars(bars) => bars.figure().markup(),
        }
    }
}

/// How wide a picture is in its own units, which are pixels on a wide enough screen.
const WIDTH: f64 = 820.0;

/// Tables of at most so many rows are open from the start.
const ROWS_SHOWN_MAX: usize = 10;

/// What every chart comes to.
struct Figure<'c> {
    title: &'c str,
    text: &'c str,
    /// Names of the series; a single one needs no legend.
    series: Vec<&'c str>,
    looks: Look,
    /// `None` if there is nothing to draw.
    picture: Option<Markup>,
    notes: Notes,
    table: Table,
}

/// How the legend shows a series.
#[derive(Clone, Copy)]
enum Look {
    Line,
    Bar,
    Dot,
}

/// What has to be said about a picture.
#[derive(Clone, Copy, Default)]
struct Notes {
    below_scale: bool,
    missing: bool,
}

impl Notes {
    fn markup(self) -> Markup {
        html! {
            @if self.below_scale {
                p class="hint" { "A hollow mark is zero or less, which a logarithmic scale cannot show." }
            }
            @if self.missing { p class="hint" { "Values that are missing are left out." } }
        }
    }
}

impl Figure<'_> {
    fn markup(&self) -> Markup {
        let rows = self.table.len();
        html! {
            div class="chart" {
                figure {
                    figcaption {
                        strong { (prose(self.title)) }
                        @if !self.text.is_empty() { p { (prose(self.text)) } }
                    }
                    @if let Some(picture) = &self.picture {
                        @if self.series.len() > 1 { (self.legend()) }
                        div class="plot" { (picture) }
                        (self.notes.markup())
                    } @else {
                        p class="hint" { "No values to draw." }
                    }
                }
                @if !self.table.is_empty() {
                    details open=[(rows <= ROWS_SHOWN_MAX).then_some("")] {
                        summary { "Values" }
                        (self.table.markup(self.title))
                    }
                }
            }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            ul class="legend" {
                @for (at, name) in self.series.iter().enumerate() {
                    li {
                        svg viewBox="0 0 24 12" aria-hidden="true" class=(series_class(at)) {
                            @match self.looks {
                                Look::Line => {
                                    path class="line" d="M1 6H23" {}
                                    (marker(at, 12.0, 6.0, false))
                                }
                                Look::Bar => rect class="bar" x="4" y="0" width="16" height="12" rx="2" {},
                                Look::Dot => (marker(at, 12.0, 6.0, false)),
                            }
                        }
                        (name)
                    }
                }
            }
        }
    }
}

/// The names of series, for those who do not see the picture.
fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
