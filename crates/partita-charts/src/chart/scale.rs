//! Where values fall on an axis, and where its ticks are.
//!
//! 1. Any values make a scale: what is not finite is left out, what is beyond ±1e300 is drawn there, so that no
//!    difference overflows, and a single value gets room around it.
//! 2. Ticks are round in the unit of the axis, at most as many as asked for, and their labels differ.

use crate::axis::{Axis, Scale, Unit};

/// Values beyond are drawn here.
const LARGEST: f64 = 1e300;
/// On a logarithmic scale, values below are drawn here: closer to zero numbers lose their digits.
const SMALLEST: f64 = 1e-300;

/// Where the ends of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// At the first and last value.
    AtValues,
    /// At round numbers beyond; a linear axis includes zero.
    Round,
}

/// Where a value falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// From 0.0 at the lower end to 1.0.
    At(f64),
    /// Zero or less on a logarithmic scale.
    Below,
    /// No number.
    Missing,
}

/// An axis laid out for its values.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    scale: Scale,
    unit: Unit,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Layout {
    /// * `ticks_max`: is taken for 2 if it is less, and for 3 on a linear axis with zero inside.
    pub(super) fn new(
        axis: &Axis,
        values: impl IntoIterator<Item = f64>,
        ends: Ends,
        ticks_max: usize,
    ) -> Self {
        let shown = values.into_iter().filter_map(|value| drawn(value, axis.scale));
        let range = shown.fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let ticks_max = ticks_max.max(2);
        let (low, high, ticks) = match axis.scale {
            Scale::Linear => linear(range.unwrap_or((0.0, 1.0)), axis.unit, ends, ticks_max),
            Scale::Log => logarithmic(range.unwrap_or((1.0, 10.0)), axis.unit, ends, ticks_max),
        };
        Self { scale: axis.scale, unit: axis.unit, low, high, ticks }
    }

    pub(super) fn place(&self, value: f64) -> Place {
        if !value.is_finite() {
            return Place::Missing;
        }
        match drawn(value, self.scale) {
            None => Place::Below,
            Some(value) => Place::At(self.fraction(value).clamp(0.0, 1.0)),
        }
    }

    /// Places and labels of the ticks.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let labels = self.labels();
        self.ticks.iter().map(|&tick| self.fraction(tick)).zip(labels).collect()
    }

    /// As few digits as tell all ticks apart.
    fn labels(&self) -> Vec<String> {
        let with = |digits| -> Vec<String> {
            self.ticks.iter().map(|&tick| self.unit.format_to(tick, digits)).collect()
        };
        (3..=17)
            .map(with)
            .find(|labels| labels.windows(2).all(|pair| pair[0] != pair[1]))
            .unwrap_or_else(|| with(17))
    }

    fn fraction(&self, value: f64) -> f64 {
        let part = |value: f64, low: f64, high: f64| (value - low) / (high - low);
        match self.scale {
            Scale::Linear => part(value, self.low, self.high),
            Scale::Log => part(value.log10(), self.low.log10(), self.high.log10()),
        }
    }
}

/// `value` if it has a place on the scale, within what can be drawn.
fn drawn(value: f64, scale: Scale) -> Option<f64> {
    match scale {
        _ if !value.is_finite() => None,
        Scale::Linear => Some(value.clamp(-LARGEST, LARGEST)),
        Scale::Log => (value > 0.0).then(|| value.clamp(SMALLEST, LARGEST)),
    }
}

/// Ends and ticks of a linear axis.
fn linear(
    (mut low, mut high): (f64, f64),
    unit: Unit,
    ends: Ends,
    ticks_max: usize,
) -> (f64, f64, Vec<f64>) {
    if ends == Ends::Round {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    let size = low.abs().max(high.abs());
    if size < SMALLEST {
        (low, high) = (0.0, 1.0);
    } else if high - low <= size * 1e-12 {
        (low, high) = (low - size / 2.0, high + size / 2.0);
    }
    // Round ends on both sides of zero come with zero between them.
    let ticks_max = ticks_max.max(if low < 0.0 && high > 0.0 { 3 } else { 2 });
    let mut step = round_step((high - low) / (ticks_max - 1) as f64, unit);
    loop {
        // A value that is a tick but for a rounding error is one.
        let (first, last) = match ends {
            Ends::Round => ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil()),
            Ends::AtValues => ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor()),
        };
        if last - first < ticks_max as f64 {
            let count = (last - first).max(0.0) as usize;
            let ticks = (0..=count).map(|at| (first + at as f64) * step).collect();
            if ends == Ends::Round {
                (low, high) = (first * step, last * step);
            }
            return (low, high, ticks);
        }
        step = round_step(step * 1.5, unit);
    }
}

/// The smallest round step of at least `least`.
fn round_step(least: f64, unit: Unit) -> f64 {
    if unit == Unit::Bytes && least > 1.0 {
        return 2f64.powf(least.log2().ceil());
    }
    let power = 10f64.powf(least.log10().floor());
    let enough = |step: &f64| *step >= least * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power).find(enough).unwrap_or(power * 10.0)
}

/// Ends and ticks of a logarithmic axis. Its range is positive.
fn logarithmic(
    (mut low, mut high): (f64, f64),
    unit: Unit,
    ends: Ends,
    ticks_max: usize,
) -> (f64, f64, Vec<f64>) {
    if high <= low * (1.0 + 1e-9) {
        (low, high) = (low / 2.0, high * 2.0);
    }
    if ends == Ends::Round {
        // Off the end a little, so that the smallest value can be seen.
        low *= 0.95;
        let marks = round_values(low / 10.0, high * 10.0, unit);
        low = marks.iter().copied().rfind(|&mark| mark <= low).unwrap_or(low);
        high = marks.iter().copied().find(|&mark| mark >= high).unwrap_or(high);
    }
    let mut ticks = log_ticks(low, high, unit, ticks_max);
    if ticks.len() < 2 {
        // Less than from one round value to the next: as on a linear axis.
        let (_, _, mut between) = linear((low, high), unit, Ends::AtValues, ticks_max);
        between.retain(|tick| (low..=high).contains(tick));
        if between.len() > ticks.len() {
            ticks = between;
        }
    }
    (low, high, ticks)
}

/// What a logarithmic axis may end at.
fn round_values(low: f64, high: f64, unit: Unit) -> Vec<f64> {
    if unit == Unit::Bytes {
        powers(2.0, 1, low, high)
    } else {
        decades(&[1.0, 2.0, 5.0], low, high)
    }
}

/// The most round values between `low` and `high` that are at most `ticks_max`.
fn log_ticks(low: f64, high: f64, unit: Unit, ticks_max: usize) -> Vec<f64> {
    const STRIDES: [i32; 11] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000];
    let (low, high) = (low * (1.0 - 1e-9), high * (1.0 + 1e-9));
    let base = if unit == Unit::Bytes { 2.0 } else { 10.0 };
    let within_decades: &[&[f64]] = match unit {
        Unit::Bytes => &[],
        _ => &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1.0, 2.0, 5.0]],
    };
    let dense = within_decades.iter().map(|digits| decades(digits, low, high));
    let sparse = STRIDES.into_iter().map(|stride| powers(base, stride, low, high));
    dense.chain(sparse).find(|ticks| ticks.len() <= ticks_max).unwrap_or_default()
}

/// `digits` times the powers of ten, between `low` and `high`.
fn decades(digits: &[f64], low: f64, high: f64) -> Vec<f64> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    exponents
        .flat_map(|exponent| digits.iter().map(move |digit| digit * 10f64.powi(exponent)))
        .filter(|value| (low..=high).contains(value))
        .collect()
}

/// Powers of `base` whose exponents are multiples of `stride`, between `low` and `high`.
fn powers(base: f64, stride: i32, low: f64, high: f64) -> Vec<f64> {
    let exponent = |value: f64| value.log2() / base.log2() / f64::from(stride);
    (exponent(low).floor() as i32..=exponent(high).ceil() as i32)
        .map(|at| base.powi(at * stride))
        .filter(|value| (low..=high).contains(value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Unit = Unit::Number("");

    fn labels(unit: Unit, scale: Scale, ends: Ends, values: &[f64]) -> Vec<String> {
        let axis = Axis::new("", unit).scale(scale);
        let layout = Layout::new(&axis, values.iter().copied(), ends, 7);
        layout.ticks().into_iter().map(|(_, label)| label.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_begin_at_zero() {
        let round = |unit, values: &[f64]| labels(unit, Scale::Linear, Ends::Round, values);
        assert_eq!(round(PLAIN, &[3.0, 97.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(round(PLAIN, &[-3.0, 7.0]), ["−4", "−2", "0", "2", "4", "6", "8"]);
        assert_eq!(round(Unit::Share, &[0.93]), ["0", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        let mib = 1024.0 * 1024.0;
        assert_eq!(
            round(Unit::Bytes, &[3.0 * mib]),
            ["0", "512 KiB", "1 MiB", "1.5 MiB", "2 MiB", "2.5 MiB", "3 MiB"]
        );
    }

    #[test]
    fn logarithmic_ticks_are_decades_or_finer_and_powers_of_two_for_bytes() {
        let round = |unit, values: &[f64]| labels(unit, Scale::Log, Ends::Round, values);
        assert_eq!(round(PLAIN, &[120.0, 9e5]), ["100", "1 k", "10 k", "100 k", "1 M"]);
        assert_eq!(round(PLAIN, &[120.0, 900.0]), ["100", "200", "500", "1 k"]);
        let mib = 1024.0 * 1024.0;
        assert_eq!(
            labels(Unit::Bytes, Scale::Log, Ends::AtValues, &[4.0 * mib, 1024.0 * mib]),
            ["4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB"]
        );
        // Less than a decade apart, there are still two ticks.
        assert!(labels(PLAIN, Scale::Log, Ends::AtValues, &[121.0, 122.0]).len() >= 2);
    }

    #[test]
    fn places_follow_the_scale() {
        let axis = Axis::new("", PLAIN);
        let layout = Layout::new(&axis.clone().log(), [1.0, 10_000.0], Ends::AtValues, 7);
        assert_eq!(layout.place(100.0), Place::At(0.5));
        assert_eq!(layout.place(0.0), Place::Below);
        assert_eq!(layout.place(-1.0), Place::Below);
        for no_number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(layout.place(no_number), Place::Missing);
        }
        let layout = Layout::new(&axis, [0.0, 10.0], Ends::AtValues, 7);
        assert_eq!(layout.place(5.0), Place::At(0.5));
    }

    #[test]
    fn any_values_make_a_scale_with_few_ticks_that_differ() {
        let hostile: &[&[f64]] = &[
            &[],
            &[f64::NAN],
            &[0.0],
            &[-1.0],
            &[5e-324],
            &[1e-300, 1e300],
            &[f64::MIN, f64::MAX],
            &[f64::MAX],
            &[1e15, 1e15 + 1.0],
            &[1e6, 1e6 + 200.0],
            &[0.1, 0.1 + f64::EPSILON],
            &[f64::MIN_POSITIVE, 1.0],
            &[0.0, 1e-12],
        ];
        for values in hostile {
            for unit in [PLAIN, Unit::Bytes, Unit::Seconds, Unit::Share] {
                for scale in [Scale::Linear, Scale::Log] {
                    for ends in [Ends::AtValues, Ends::Round] {
                        for ticks_max in [0, 2, 7] {
                            let axis = Axis::new("", unit).scale(scale);
                            let layout =
                                Layout::new(&axis, values.iter().copied(), ends, ticks_max);
                            let ticks = layout.ticks();
                            let case = format!("{values:?} {unit:?} {scale:?} {ends:?} {ticks:?}");
                            assert!(ticks.len() <= ticks_max.max(3), "{case}");
                            assert!(ticks.iter().all(|(at, _)| at.is_finite()), "{case}");
                            assert!(ticks.windows(2).all(|two| two[0].0 < two[1].0), "{case}");
                            assert!(ticks.windows(2).all(|two| two[0].1 != two[1].1), "{case}");
                            for &value in *values {
                                if let Place::At(at) = layout.place(value) {
                                    assert!((0.0..=1.0).contains(&at), "{case}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
