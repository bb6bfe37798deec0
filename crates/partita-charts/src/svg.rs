//! What both kinds of pictures are made of: places, text of estimated width, marks.

use maud::{Markup, Render, html};
use unicode_width::UnicodeWidthStr;

/// A coordinate or length in the units of the picture, written with one decimal.
#[derive(Clone, Copy)]
pub(crate) struct Px(pub(crate) f64);

impl Render for Px {
    fn render_to(&self, out: &mut String) {
        use std::fmt::Write;
        // Writing to a string does not fail.
        let _ = write!(out, "{}", (self.0 * 10.0).round() / 10.0);
    }
}

/// Size of tick labels and all other text in pictures; `style.css` says the same.
pub(crate) const TEXT_SIZE: f64 = 12.0;

/// About how wide `text` gets. The widest of the usual fonts decides, so that nothing overlaps in the others.
pub(crate) fn text_width(text: &str) -> f64 {
    const OF_A_COLUMN: f64 = 0.62 * TEXT_SIZE;
    text.width() as f64 * OF_A_COLUMN
}

/// `text`, or as much of it as is at most `width` wide, with an ellipsis.
pub(crate) fn cut_to_width(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() && text_width(&kept) + text_width("…") > width {}
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// The classes of a series: one of the colours, and another look where they begin again.
pub(crate) fn series_class(series: usize) -> String {
    let again = if series / crate::style::COLOURS % 2 == 1 { " again" } else { "" };
    format!("s{}{again}", series % crate::style::COLOURS)
}

/// The mark of a series at a point. There are fewer shapes than colours, and neither divides the other, so that pairs of
/// shape and colour repeat late.
///
/// * `hollow`: the value has no place on the scale.
pub(crate) fn marker(series: usize, x: f64, y: f64, hollow: bool) -> Markup {
    let class = if hollow { "mark hollow" } else { "mark" };
    let polygon = |corners: &[(f64, f64)]| {
        let points: Vec<String> = corners
            .iter()
            .map(|(dx, dy)| html! { (Px(x + dx)) "," (Px(y + dy)) }.into_string())
            .collect();
        html! { polygon class=(class) points=(points.join(" ")) {} }
    };
    match series % 5 {
        0 => html! { circle class=(class) cx=(Px(x)) cy=(Px(y)) r="4" {} },
        1 => polygon(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        2 => polygon(&[(0.0, -5.0), (4.8, 3.6), (-4.8, 3.6)]),
        3 => polygon(&[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
        _ => polygon(&[(0.0, 5.0), (4.8, -3.6), (-4.8, -3.6)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_where_it_gets_too_wide() {
        assert_eq!(cut_to_width("short", 100.0), "short");
        let cut = cut_to_width("a label that goes on and on", 100.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 100.0, "{cut}");
        // A wide character takes two columns.
        assert!(text_width("漢字") > text_width("abc"));
        assert_eq!(cut_to_width("any", 0.0), "…");
    }

    #[test]
    fn series_differ_in_colour_shape_or_both() {
        let looks: std::collections::HashSet<String> = (0..16)
            .map(|series| series_class(series) + &marker(series, 0.0, 0.0, false).into_string())
            .collect();
        assert_eq!(looks.len(), 16);
    }
}
