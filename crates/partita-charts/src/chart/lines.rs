//! Lines: values over a number.
//!
//! ```text
//! y axis title
//!  tick |-------------------------------
//!  tick |------o-----------o------------   marks tell their values on hover; where there are many points, every
//!  tick |--o--------o-------------o-----   n-th does, and each point between two gaps
//!           tick      tick      tick
//!                 x axis title
//! ```

use maud::{Markup, html};

use super::scale::{Ends, Layout, Place};
use super::{Figure, Look, Notes, WIDTH, listed};
use crate::axis::Axis;
use crate::svg::{Px, marker, series_class, text_width};
use crate::table::{Cell, Column, Table};

/// Lines over a common axis.
///
/// ```
/// use partita_charts::{Axis, LineChart, Page, Section, Unit};
///
/// let chart = LineChart::new(
///     "Hit ratio while the database grows",
///     Axis::new("Keys", Unit::Number("")),
///     Axis::new("Hits", Unit::Share),
/// )
/// .line("index", [(1e6, 1.0), (2e6, 0.98), (3e6, 0.97)])
/// .line("data", [(1e6, 0.7), (2e6, f64::NAN), (3e6, 0.4)]); // a gap at two million
/// let html = Page::new("Growth").section(Section::new("Cache").chart(chart)).to_html();
/// assert!(html.contains("<title>data: 40\u{a0}% at 3\u{a0}M</title>"));
/// ```
#[derive(Clone, Debug)]
pub struct LineChart {
    title: String,
    text: String,
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    name: String,
    /// In the order of `x`, which is finite.
    points: Vec<(f64, f64)>,
}

const HEIGHT: f64 = 380.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 52.0;
const RIGHT: f64 = 24.0;
/// Between the plot's edge and the outermost points.
const INSET: f64 = 10.0;
/// A line with more points has marks at some of them only.
const MARKS_MAX: usize = 24;
/// Points with a value on hover, of one line.
const TARGETS_MAX: usize = 150;

impl LineChart {
    /// A chart without lines.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), text: String::new(), x, y, lines: Vec::new() }
    }

    /// Says below the title what to look for.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    /// Adds a line.
    ///
    /// * `points`: `(x, y)` in any order. A point whose `x` is not finite is left out; one whose `y` is not finite is
    ///   a gap. Each takes some 150 bytes in the page: a few hundred are enough for any line.
    #[must_use]
    pub fn line(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let mut points: Vec<_> = points.into_iter().filter(|(x, _)| x.is_finite()).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.lines.push(Line { name: name.into(), points });
        self
    }

    pub(super) fn figure(&self) -> Figure<'_> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let is_drawn = points().any(|(_, y)| y.is_finite());
        let plot = Plot::new(self);
        let mut notes = Notes::default();
        for &(x, y) in points() {
            match plot.place(x, y) {
                Spot::Missing => notes.missing = true,
                Spot::Below(..) => notes.below_scale = true,
                Spot::At(..) => {}
            }
        }
        Figure {
            title: &self.title,
            text: &self.text,
            series: self.names(),
            looks: Look::Line,
            picture: is_drawn.then(|| self.picture(&plot)),
            notes,
            table: self.table(),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.lines.iter().map(|line| line.name.as_str()).collect()
    }

    /// One row for each `x`, or more where a line has several points there.
    fn table(&self) -> Table {
        let head = Column::values(&self.x.title, self.x.unit);
        let columns =
            self.lines.iter().map(|line| Column::values_as_captioned(&line.name, self.y.unit));
        let mut table = Table::new(std::iter::once(head).chain(columns))
            .caption(self.y.unit.title(&self.y.title));
        let mut rests: Vec<&[(f64, f64)]> = self.lines.iter().map(|line| &*line.points).collect();
        while let Some(x) =
            rests.iter().filter_map(|rest| rest.first().map(|point| point.0)).min_by(f64::total_cmp)
        {
            let mut row = vec![Cell::Value(x)];
            for rest in &mut rests {
                row.push(match rest.split_first() {
                    Some((&(at, y), after)) if at <= x => {
                        *rest = after;
                        Cell::Value(y)
                    }
                    _ => Cell::Empty,
                });
            }
            table.push(row);
        }
        table
    }

    fn picture(&self, plot: &Plot) -> Markup {
        let label = format!(
            "{}. {} over {}, lines for {}. The table has the values.",
            self.title,
            self.y.label(),
            self.x.label(),
            listed(&self.names())
        );
        html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(label)
                viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } {
                (plot.axes(&self.x.label(), &self.y.label()))
                @for (series, line) in self.lines.iter().enumerate() {
                    (self.line_markup(plot, series, line))
                }
            }
        }
    }

    fn line_markup(&self, plot: &Plot, series: usize, line: &Line) -> Markup {
        let spots: Vec<Spot> = line.points.iter().map(|&(x, y)| plot.place(x, y)).collect();
        let marks_step = spots.len().div_ceil(MARKS_MAX).max(1);
        let targets_step = spots.len().div_ceil(TARGETS_MAX).max(1);
        html! {
            g class={ "series " (series_class(series)) } {
                path class="line" d=(path(&spots)) {}
                @for (at, (spot, point)) in spots.iter().zip(&line.points).enumerate() {
                    @let lone = is_lone(&spots, at);
                    @let marked = lone || at % marks_step == 0;
                    @if let Spot::At(x, y) | Spot::Below(x, y) = *spot && (marked || at % targets_step == 0) {
                        g class="point" {
                            title { (self.told(line, *point)) }
                            @if marked {
                                (marker(series, x, y, matches!(spot, Spot::Below(..))))
                            } @else {
                                g class="quiet" { (marker(series, x, y, false)) }
                            }
                            circle class="target" cx=(Px(x)) cy=(Px(y)) r="9" {}
                        }
                    }
                }
            }
        }
    }

    /// What a point tells on hover.
    fn told(&self, line: &Line, (x, y): (f64, f64)) -> String {
        format!("{}: {} at {}", line.name, self.y.unit.phrase(y), self.x.unit.phrase(x))
    }
}

/// Where a point is in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spot {
    At(f64, f64),
    /// On an edge: one of its values has no place on its scale.
    Below(f64, f64),
    Missing,
}

/// Stretches of the line between gaps.
fn path(spots: &[Spot]) -> String {
    let mut path = String::new();
    let mut pen_is_down = false;
    for spot in spots {
        if let Spot::At(x, y) = *spot {
            let step = if pen_is_down { "L" } else { "M" };
            path += &html! { (step) (Px(x)) " " (Px(y)) }.into_string();
            pen_is_down = true;
        } else {
            pen_is_down = false;
        }
    }
    path
}

/// Whether no line goes to or from a point, so that only its mark shows it.
fn is_lone(spots: &[Spot], at: usize) -> bool {
    let drawn = |at: Option<usize>| {
        at.and_then(|at| spots.get(at)).is_some_and(|spot| matches!(spot, Spot::At(..)))
    };
    !drawn(Some(at)) || (!drawn(at.checked_sub(1)) && !drawn(at.checked_add(1)))
}

/// The area between the axes.
struct Plot {
    left: f64,
    x: Layout,
    y: Layout,
}

impl Plot {
    fn new(chart: &LineChart) -> Self {
        const Y_TICKS_MAX: usize = 7;
        const X_TICKS_MAX: usize = 10;
        // What has no y has its place on the x axis all the same.
        let points = || chart.lines.iter().flat_map(|line| line.points.iter().copied());
        let y = Layout::new(&chart.y, points().map(|point| point.1), Ends::Round, Y_TICKS_MAX);
        let left = y.ticks().iter().map(|(_, label)| text_width(label)).fold(0.0, f64::max) + 14.0;
        let x_with = |ticks_max| {
            Layout::new(&chart.x, points().map(|point| point.0), Ends::AtValues, ticks_max)
        };
        let mut plot = Self { left, x: x_with(X_TICKS_MAX), y };
        // As many ticks as leave room between their labels.
        for ticks_max in (2..X_TICKS_MAX).rev() {
            if !plot.x_labels_collide() {
                break;
            }
            plot.x = x_with(ticks_max);
        }
        plot
    }

    fn x_labels_collide(&self) -> bool {
        const ROOM: f64 = 14.0;
        let ticks: Vec<(f64, f64)> = self
            .x
            .ticks()
            .iter()
            .map(|(at, label)| (self.x_at(*at), text_width(label) / 2.0))
            .collect();
        ticks.windows(2).any(|two| two[1].0 - two[1].1 < two[0].0 + two[0].1 + ROOM)
    }

    fn x_at(&self, fraction: f64) -> f64 {
        self.left + INSET + fraction * (WIDTH - RIGHT - self.left - 2.0 * INSET)
    }

    fn y_at(fraction: f64) -> f64 {
        let (bottom, top) = (HEIGHT - BOTTOM, TOP);
        bottom - fraction * (bottom - top)
    }

    fn place(&self, x: f64, y: f64) -> Spot {
        let (x_place, y_place) = (self.x.place(x), self.y.place(y));
        let at = |place| if let Place::At(at) = place { at } else { 0.0 };
        let (x, y) = (self.x_at(at(x_place)), Self::y_at(at(y_place)));
        match (x_place, y_place) {
            (Place::Missing, _) | (_, Place::Missing) => Spot::Missing,
            (Place::Below, _) | (_, Place::Below) => Spot::Below(x, y),
            (Place::At(_), Place::At(_)) => Spot::At(x, y),
        }
    }

    fn axes(&self, x_label: &str, y_label: &str) -> Markup {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        html! {
            text class="axis" x="0" y="14" { (y_label) }
            @for (at, label) in self.y.ticks() {
                @let y = Self::y_at(at);
                line class="grid" x1=(Px(self.left)) x2=(Px(right)) y1=(Px(y)) y2=(Px(y)) {}
                text class="tick end" x=(Px(self.left - 8.0)) y=(Px(y + 4.0)) { (label) }
            }
            line class="base" x1=(Px(self.left)) x2=(Px(right)) y1=(Px(bottom)) y2=(Px(bottom)) {}
            @for (at, label) in self.x.ticks() {
                @let x = self.x_at(at);
                line class="base" x1=(Px(x)) x2=(Px(x)) y1=(Px(bottom)) y2=(Px(bottom + 4.0)) {}
                text class="tick middle" x=(Px(x)) y=(Px(bottom + 18.0)) { (label) }
            }
            text class="axis middle" x=(Px((self.left + right) / 2.0)) y=(Px(HEIGHT - 8.0)) { (x_label) }
        }
    }
}
