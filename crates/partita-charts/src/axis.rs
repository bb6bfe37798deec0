//! What an axis shows, as its caller states it.

use crate::human;

/// What a number counts, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number of what the text names: `"keys"`, `"per second"`, or nothing.
    Number(&'static str),
    /// Bytes, in binary units.
    Bytes,
    /// A time in seconds, from nanoseconds to hours.
    Seconds,
    /// A part of one, shown as a percentage.
    Share,
}

impl Unit {
    /// `value` for people, as the functions of [`human`] write it.
    pub fn format(self, value: f64) -> String {
        match self {
            Self::Number(_) => human::number(value),
            Self::Bytes => human::bytes(value),
            Self::Seconds => human::seconds(value),
            Self::Share => human::share(value),
        }
    }

    /// The same with `digits` significant digits, where three do not tell two ticks apart.
    pub(crate) fn format_to(self, value: f64, digits: usize) -> String {
        match self {
            Self::Number(_) => human::number_to(value, digits),
            Self::Bytes => human::bytes_to(value, digits),
            Self::Seconds => human::seconds_to(value, digits),
            Self::Share => human::share_to(value, digits),
        }
    }

    /// `value` with what it counts: `1.2 M per second`.
    pub(crate) fn phrase(self, value: f64) -> String {
        let number = self.format(value);
        match self {
            Self::Number(counted) if !counted.is_empty() => format!("{number} {counted}"),
            _ => number,
        }
    }

    /// The unit as an axis title or a table head names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number(counted) => counted,
            Self::Bytes => "bytes",
            // The unit beside each number goes with its size.
            Self::Seconds => "",
            Self::Share => "%",
        }
    }

    /// `title (unit)`.
    pub(crate) fn title(self, title: &str) -> String {
        match self.name() {
            "" => title.to_owned(),
            name => format!("{title} ({name})"),
        }
    }
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal lengths.
    #[default]
    Linear,
    /// Equal ratios are equal lengths. Zero and less have no place on it: they are marked at its lower end.
    Log,
}

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) scale: Scale,
}

impl Axis {
    /// A linear axis.
    pub fn new(title: impl Into<String>, unit: Unit) -> Self {
        Self { title: title.into(), unit, scale: Scale::Linear }
    }

    /// The same axis with a logarithmic scale.
    #[must_use]
    pub fn log(self) -> Self {
        self.scale(Scale::Log)
    }

    /// The same axis with `scale`.
    #[must_use]
    pub fn scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// The title as it stands beside the axis: with its unit, and whether it is logarithmic.
    pub(crate) fn label(&self) -> String {
        let title = self.unit.title(&self.title);
        match self.scale {
            Scale::Linear => title,
            Scale::Log => format!("{title}, logarithmic"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_unit_and_scale() {
        let axis = Axis::new("Rate", Unit::Number("per second"));
        assert_eq!(axis.label(), "Rate (per second)");
        assert_eq!(axis.log().label(), "Rate (per second), logarithmic");
        assert_eq!(Axis::new("Tables", Unit::Number("")).label(), "Tables");
    }

    #[test]
    fn a_phrase_says_what_is_counted() {
        assert_eq!(Unit::Number("keys").phrase(2e6), "2\u{a0}M keys");
        assert_eq!(Unit::Number("").phrase(2.0), "2");
        assert_eq!(Unit::Bytes.phrase(2048.0), "2\u{a0}KiB");
    }
}
