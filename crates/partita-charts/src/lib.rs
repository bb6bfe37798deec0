//! Reports as one HTML file: titled sections of prose, tables and charts.
//!
//! A page needs nothing but itself: no script, no font and no picture from elsewhere, and its content security policy
//! keeps browsers to that. It follows the reader's light or dark theme, prints, and works on a narrow screen.
//!
//! ```
//! use partita_charts::{Axis, BarChart, Column, LineChart, Page, Section, Table, Unit};
//!
//! let lookups = Axis::new("Lookups", Unit::Number("per second"));
//! let rate = LineChart::new(
//!     "Lookups under a budget of memory",
//!     Axis::new("Budget", Unit::Bytes).log(),
//!     lookups.clone().log(),
//! )
//! .line("two-level index", [(16e6, 120e3), (64e6, 410e3), (256e6, 1.3e6)])
//! .line("whole filters", [(16e6, 900.0), (64e6, 2.1e3), (256e6, 1.2e6)]);
//!
//! let reads = BarChart::stacked(
//!     "Blocks read for a lookup",
//!     Axis::new("Reads", Unit::Number("blocks")),
//!     ["data", "index", "filter"],
//! )
//! .row("two-level index", [1.0, 0.2, 0.1])
//! .row("whole filters", [1.0, 0.9, 1.7]);
//!
//! let table = Table::new([Column::text("Layout"), Column::values("p99", Unit::Seconds)])
//!     .row(["two-level index".into(), 310e-6.into()])
//!     .row(["whole filters".into(), 0.027.into()]);
//!
//! let page = Page::new("Lookups and memory")
//!     .intro("What a lookup costs when index and filter do not fit.")
//!     .fact("Command", "partita bench locations")
//!     .section(Section::new("Rate").text("More is better.").chart(rate))
//!     .section(Section::new("Cost").chart(reads).table(table));
//!
//! let html = page.to_html();
//! assert!(html.starts_with("<!DOCTYPE html>"));
//! assert!(html.contains("27\u{a0}ms"));
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("report.html");
//! page.write_to(&path)?;
//! # assert_eq!(std::fs::read_to_string(path)?, html);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `page` | the page, its sections, notices |
//! | `table` | tables, whose numbers line up |
//! | `chart` | a figure around a picture: caption, legend, notes, and all its values as a table |
//! | `chart/lines`, `chart/bars` | the pictures |
//! | `axis`, `chart/scale` | what an axis shows; where a value falls on it, and its ticks |
//! | [`human`] | numbers as people write them |
//! | `style` | the style sheet and its colours |
//!
//! # Rules of every chart
//!
//! 1. No value is only in the picture: each chart carries a table of its values, and each mark tells its own on hover.
//! 2. No series is told by colour alone: lines have markers of different shape, bars stand in the order of the legend.
//! 3. What is no number (not finite) is a gap, and what a logarithmic scale cannot show (zero or less) is a hollow mark
//!    at its lower end. A note under the picture says so.
//! 4. Lengths start at zero. Where they cannot, on a logarithmic scale, bars give way to dots.
//!
//! # Why the pictures are drawn here
//!
//! HTML is written by `maud`, which escapes all text. The charts are our own because the crates that draw SVG fall short:
//! `plotters` writes colours and sizes into every element, out of reach of a style sheet and so of a dark theme; `poloto`
//! leaves looks to classes, but knows no bars in groups or stacks. Neither has values on hover or a name for screen
//! readers. What they would save is the choice of ticks.
#![forbid(unsafe_code)]

mod axis;
mod chart;
pub mod human;
mod page;
mod style;
mod svg;
mod table;

pub use axis::{Axis, Scale, Unit};
pub use chart::{BarChart, Chart, LineChart};
pub use page::{Notice, Page, Section};
pub use table::{Cell, Column, Table};
