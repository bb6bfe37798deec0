//! Numbers as people write them: three significant digits and a unit that suits.
//!
//! What is no number is `–`, and minus is `−`. A space that does not break stands before the unit.

const NO_VALUE: &str = "–";
const USUAL_DIGITS: usize = 3;

/// A number: `0.25`, `12.3`, `1.2 M`; beyond what prefixes reach, `1.2e30`.
///
/// ```
/// assert_eq!(partita_charts::human::number(1_234_567.0), "1.23\u{a0}M");
/// ```
pub fn number(value: f64) -> String {
    number_to(value, USUAL_DIGITS)
}

/// A size in bytes, in binary units: `512 B`, `64 MiB`.
///
/// ```
/// assert_eq!(partita_charts::human::bytes(67_108_864.0), "64\u{a0}MiB");
/// ```
pub fn bytes(value: f64) -> String {
    bytes_to(value, USUAL_DIGITS)
}

/// A time given in seconds: `850 ns`, `1.5 ms`, `42 s`, `12 min`, `3 h`.
///
/// ```
/// assert_eq!(partita_charts::human::seconds(0.000_25), "250\u{a0}µs");
/// ```
pub fn seconds(value: f64) -> String {
    seconds_to(value, USUAL_DIGITS)
}

/// A part of one, as a percentage: `37.5 %`. What is not quite all is never `100 %`.
///
/// ```
/// assert_eq!(partita_charts::human::share(0.375), "37.5\u{a0}%");
/// assert_eq!(partita_charts::human::share(0.999_97), "99.997\u{a0}%");
/// ```
pub fn share(value: f64) -> String {
    share_to(value, USUAL_DIGITS)
}

pub(crate) fn number_to(value: f64, digits: usize) -> String {
    const PREFIXES: [(f64, &str); 6] =
        [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    written(value, digits, |size| {
        if size >= 1e21 {
            return exponential(size, digits);
        }
        match PREFIXES.into_iter().find(|&(least, _)| size >= least) {
            Some((least, prefix)) => with_unit(&significant(size / least, digits), prefix),
            None => significant(size, digits),
        }
    })
}

pub(crate) fn bytes_to(value: f64, digits: usize) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    // Up to 1023 of a unit is a whole number of four digits.
    written(value, digits.max(6), |mut size| {
        let mut units = UNITS.into_iter();
        let mut unit = units.next().unwrap_or_default();
        // 1023.5 would print as 1024.
        while size >= 1023.5
            && let Some(larger) = units.next()
        {
            size /= 1024.0;
            unit = larger;
        }
        with_unit(&significant(size, digits), unit)
    })
}

pub(crate) fn seconds_to(value: f64, digits: usize) -> String {
    const UNITS: [(f64, f64, &str); 6] = [
        (2.0 * 3600.0, 3600.0, "h"),
        (120.0, 60.0, "min"),
        (1.0, 1.0, "s"),
        (1e-3, 1e-3, "ms"),
        (1e-6, 1e-6, "µs"),
        (0.0, 1e-9, "ns"),
    ];
    written(value, digits, |size| {
        let (_, one, unit) =
            UNITS.into_iter().find(|&(least, ..)| size >= least).unwrap_or((0.0, 1.0, "s"));
        with_unit(&significant(size / one, digits), unit)
    })
}

pub(crate) fn share_to(value: f64, digits: usize) -> String {
    // 99.97 % with three digits would be 100 %: as many digits more as there are nines.
    let to_all = 1.0 - value;
    let nines = if to_all > 0.0 && to_all < 0.01 { (-to_all.log10()).floor() as usize } else { 1 };
    let digits = digits.max((nines + 1).min(12));
    written(value * 100.0, digits, |percent| with_unit(&significant(percent, digits), "%"))
}

/// What does not depend on the unit: no number, nothing, signs, and rounding before a unit is chosen, so that 999.9 is
/// `1 k` and not `1000`.
fn written(value: f64, digits: usize, positive: impl FnOnce(f64) -> String) -> String {
    if value.is_nan() {
        return NO_VALUE.to_owned();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    if value.is_infinite() {
        return format!("{sign}∞");
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    // The largest numbers would be rounded to more than there is.
    let rounded = format!("{size:.*e}", digits.saturating_sub(1))
        .parse()
        .ok()
        .filter(|rounded: &f64| rounded.is_finite())
        .unwrap_or(size);
    format!("{sign}{}", positive(rounded))
}

fn with_unit(number: &str, unit: &str) -> String {
    format!("{number}\u{a0}{unit}")
}

/// `value`, positive, with `digits` significant digits, without zeros at the end; if it is far from 1, with a power of ten.
fn significant(value: f64, digits: usize) -> String {
    if !(1e-4..1e6).contains(&value) {
        return exponential(value, digits);
    }
    let whole_digits = value.log10().floor() as i64 + 1;
    let decimals = (digits as i64 - whole_digits).clamp(0, 20) as usize;
    without_trailing_zeros(&format!("{value:.decimals$}")).to_owned()
}

/// `value`, positive, as digits and a power of ten: `1.2e-9`.
fn exponential(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", without_trailing_zeros(digits)),
        None => text,
    }
}

fn without_trailing_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn numbers_have_three_digits_and_the_prefix_that_suits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (0.001_234, "0.00123"),
            (0.000_012_34, "1.23e-5"),
            (1.0, "1"),
            (12.34, "12.3"),
            (999.4, "999"),
            (999.9, "1 k"),
            (1_200_000.0, "1.2 M"),
            (-1500.0, "−1.5 k"),
            (7e20, "700 E"),
            (1e21, "1e21"),
            (f64::MAX, "1.8e308"),
            (f64::MIN_POSITIVE, "2.23e-308"),
            (5e-324, "4.94e-324"),
            (f64::NAN, "–"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "−∞"),
        ] {
            assert_eq!(plain(&number(value)), text, "{value:e}");
        }
    }

    #[test]
    fn sizes_are_binary() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5 B"),
            (1023.0, "1023 B"),
            (1024.0, "1 KiB"),
            (1024.0 * 1024.0 - 1.0, "1 MiB"),
            (64.0 * 1024.0 * 1024.0, "64 MiB"),
            (f64::MAX, "1.56e290 EiB"),
        ] {
            assert_eq!(plain(&bytes(value)), text, "{value:e}");
        }
    }

    #[test]
    fn times_go_from_nanoseconds_to_hours() {
        for (value, text) in [
            (85e-9, "85 ns"),
            (999.9e-9, "1 µs"),
            (1.5e-3, "1.5 ms"),
            (42.0, "42 s"),
            (119.0, "119 s"),
            (720.0, "12 min"),
            (10_800.0, "3 h"),
            (1e-15, "1e-6 ns"),
            (1e300, "2.78e296 h"),
        ] {
            assert_eq!(plain(&seconds(value)), text, "{value:e}");
        }
    }

    #[test]
    fn almost_all_is_not_all() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "50 %"),
            (0.123_45, "12.3 %"),
            (0.9951, "99.5 %"),
            (0.9996, "99.96 %"),
            (0.999_999_9, "99.99999 %"),
            (1.0, "100 %"),
            (1.5, "150 %"),
            (1e-9, "1e-7 %"),
        ] {
            assert_eq!(plain(&share(value)), text, "{value:e}");
        }
    }
}
