//! Columns of text that line up.

/// Which side of its column a cell keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Lines of `rows` with their cells in columns, two spaces apart, without spaces at the ends of lines.
///
/// * `sides`: one for each column; a row may be shorter, and its last cell may be as wide as it likes.
pub(crate) fn lines<R: AsRef<[String]>>(sides: &[Side], rows: &[R]) -> Vec<String> {
    let width_of = |column: usize| {
        rows.iter()
            .filter_map(|row| row.as_ref().get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..sides.len()).map(width_of).collect();
    let line = |row: &R| {
        let mut line = String::new();
        for ((cell, &side), &width) in row.as_ref().iter().zip(sides).zip(&widths) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            line.push_str(&match side {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
        }
        line.truncate(line.trim_end().len());
        line
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_to_their_sides() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [row(["a", "1", "x"]), row(["long", "22", ""])];
        let lines = lines(&[Side::Left, Side::Right, Side::Left], &rows);
        assert_eq!(lines, ["a      1  x", "long  22"]);
    }
}
