//! Tables, whose numbers line up on the right and tell their exact value on hover.

use maud::{Markup, html};
use unicode_width::UnicodeWidthStr;

use crate::axis::Unit;
use crate::page::prose;

/// A column: its head, and how its numbers are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    title: String,
    values: Option<Unit>,
}

impl Column {
    /// A column of text. A number in it is written plainly.
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), values: None }
    }

    /// A column of numbers in `unit`, on the right.
    pub fn values(title: impl Into<String>, unit: Unit) -> Self {
        Self { title: title.into(), values: Some(unit) }
    }

    /// A column of numbers in `unit`, which the table's caption names.
    pub(crate) fn values_as_captioned(title: impl Into<String>, unit: Unit) -> Self {
        let unit = if let Unit::Number(_) = unit { Unit::Number("") } else { unit };
        Self::values(title, unit)
    }

    fn head(&self) -> String {
        match self.values {
            // Only what a number counts needs saying: the other units stand beside each number.
            Some(unit @ Unit::Number(_)) => unit.title(&self.title),
            _ => self.title.clone(),
        }
    }
}

/// What stands in a row at one column. [`Cell::from`] makes it of text, of a number or of an [`Option`].
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text; what stands between backticks is set as code.
    Text(String),
    /// A number, in the unit of its column. One that is not finite is `–` or `∞`.
    Value(f64),
    /// Nothing to tell.
    Empty,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Value(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Value(value as f64)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Value(value as f64)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// Rows under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// Says what the table shows.
    #[must_use]
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..self }
    }

    /// Adds a row. Its first cell names it; cells that are missing at its end are empty.
    ///
    /// * Panics if it has more cells than the table has columns.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row, as [`Table::row`] does.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().collect();
        assert!(row.len() <= self.columns.len(), "a row has more cells than the table has columns");
        row.resize(self.columns.len(), Cell::Empty);
        self.rows.push(row);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in a box of its own, which scrolls if it is wider than the page.
    ///
    /// * `label`: what a screen reader calls the box if the table has no caption.
    pub(crate) fn markup(&self, label: &str) -> Markup {
        let label = if self.caption.is_empty() { label } else { &self.caption };
        html! {
            div class="scroll" role="region" tabindex="0" aria-label=(label) {
                table {
                    @if !self.caption.is_empty() { caption { (prose(&self.caption)) } }
                    thead { tr {
                        @for column in &self.columns {
                            @if column.title.is_empty() { td {} } @else {
                                th scope="col" class=[column.values.map(|_| "n")] { (column.head()) }
                            }
                        }
                    } }
                    tbody {
                        @for row in &self.rows { tr {
                            @for (at, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                                (cell_markup(cell, column, at == 0))
                            }
                        } }
                        @if self.rows.is_empty() {
                            tr { td colspan=(self.columns.len().max(1)) class="none" { "nothing to show" } }
                        }
                    }
                }
            }
        }
    }
}

/// Text of at most so many columns is kept on one line.
const SHORT: usize = 26;

fn cell_markup(cell: &Cell, column: &Column, names_row: bool) -> Markup {
    let class = match cell {
        _ if column.values.is_some() => Some("n"),
        Cell::Text(text) if text.width() <= SHORT => Some("w"),
        _ => None,
    };
    let (content, exact) = match cell {
        Cell::Text(text) => (prose(text), None),
        Cell::Value(value) => {
            let text = column.values.unwrap_or(Unit::Number("")).format(*value);
            let exact = exact(*value).filter(|exact| *exact != text);
            (html! { (text) }, exact)
        }
        Cell::Empty => (html! {}, None),
    };
    html! {
        @if names_row {
            th scope="row" class=[class] title=[exact] { (content) }
        } @else {
            td class=[class] title=[exact] { (content) }
        }
    }
}

/// All digits of a number, where there is more to it than people read.
fn exact(value: f64) -> Option<String> {
    let plain = value == 0.0 || (1e-6..1e18).contains(&value.abs());
    match value {
        _ if !value.is_finite() => None,
        _ if plain => Some(value.to_string()),
        _ => Some(format!("{value:e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new([Column::text("Engine"), Column::values("Rate", Unit::Number("per second"))])
    }

    #[test]
    fn numbers_keep_to_the_right_and_tell_all_their_digits() {
        let html = table().row(["a".into(), 1_234_567.0.into()]).markup("").into_string();
        assert!(html.contains(r#"<th scope="col" class="n">Rate (per second)</th>"#), "{html}");
        assert!(html.contains("<td class=\"n\" title=\"1234567\">1.23\u{a0}M</td>"), "{html}");
        assert!(html.contains(r#"<th scope="row" class="w">a</th>"#), "{html}");
    }

    #[test]
    fn what_is_missing_is_empty_and_what_is_no_number_a_dash() {
        let rows = table()
            .row(["a".into()])
            .row(["b".into(), f64::NAN.into()])
            .row(["c".into(), Cell::from(None::<u64>)]);
        let html = rows.markup("").into_string();
        assert_eq!(html.matches(r#"<td class="n"></td>"#).count(), 2, "{html}");
        assert!(html.contains(r#"<td class="n">–</td>"#), "{html}");
    }

    #[test]
    #[should_panic(expected = "more cells than the table has columns")]
    fn a_cell_without_a_column_is_refused() {
        let _ = table().row([1.0.into(), 2.0.into(), 3.0.into()]);
    }

    #[test]
    fn a_table_without_rows_says_so() {
        assert!(table().markup("").into_string().contains("nothing to show"));
    }
}
