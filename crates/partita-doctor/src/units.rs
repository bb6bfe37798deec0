//! Sizes, counts, shares and times as text for people.

/// A count with a comma every three digits: `16,235`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in the unit that suits it: `8.7 MiB`; below 1 KiB in bytes.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "";
    for next in UNITS {
        value /= 1024.0;
        unit = next;
        // 1023.95 would print as 1024.0.
        if value < 1023.95 {
            break;
        }
    }
    format!("{value:.1} {unit}")
}

/// A size for people and exact: `8.7 MiB (9,123,456 bytes)`.
pub fn exact_size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{} ({} bytes)", size(bytes), count(bytes)),
    }
}

/// `1 file`, `3 files`, `3 families`.
pub fn counted(value: u64, noun: &str) -> String {
    match (value, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}ies", count(value)),
        _ => format!("{} {noun}s", count(value)),
    }
}

/// A share of a whole as a percentage: `93.4 %`; near the ends without claiming all or nothing.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        return "< 0.1 %".to_owned();
    }
    if percent < 100.0 && percent > 99.9 {
        return "> 99.9 %".to_owned();
    }
    match percent.fract() == 0.0 {
        true => format!("{percent:.0} %"),
        false => format!("{percent:.1} %"),
    }
}

/// A time span: `2.3 ms`, `870 ns`.
pub fn seconds(seconds: f64) -> String {
    for (unit, name) in [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")] {
        if seconds >= unit {
            return format!("{:.1} {name}", seconds / unit);
        }
    }
    format!("{:.0} ns", seconds * 1e9)
}

/// A time in Unix seconds, in UTC: `2026-11-30 09:54:47 UTC`.
pub fn time(unix_seconds: u64) -> String {
    let (days, seconds) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match civil_date(days) {
        Some((year, month, day)) => {
            format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
        }
        None => format!("{unix_seconds} s after 1970"),
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar; `None` far in the future.
///
/// Years are counted from March, so that the leap day is the last of its year; 400 years have 146,097 days.
fn civil_date(days_since_1970: u64) -> Option<(u64, u64, u64)> {
    const DAYS_IN_ERA: u64 = 146_097;
    const MARCH_OF_YEAR_0_TO_1970: u64 = 719_468;
    if days_since_1970 > 3_000_000 {
        return None;
    }
    let days = days_since_1970 + MARCH_OF_YEAR_0_TO_1970;
    let (era, day_of_era) = (days / DAYS_IN_ERA, days % DAYS_IN_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    Some((era * 400 + year_of_era + u64::from(month <= 2), month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_use_the_unit_that_suits() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(size(9_123_456), "8.7 MiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
        assert_eq!(exact_size(1), "1 byte");
        assert_eq!(exact_size(512), "512 bytes");
        assert_eq!(exact_size(9_123_456), "8.7 MiB (9,123,456 bytes)");
    }

    #[test]
    fn shares_and_spans_are_rounded_but_not_to_nothing() {
        for (value, text) in [
            (0.0, "0 %"),
            (0.0001, "< 0.1 %"),
            (0.5, "50 %"),
            (0.934, "93.4 %"),
            (0.9999, "> 99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(share(value), text);
        }
        for (value, text) in
            [(2.0, "2.0 s"), (0.0023, "2.3 ms"), (1.5e-6, "1.5 us"), (3e-8, "30 ns")]
        {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn counts_are_grouped() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(value), text);
        }
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1000, "file"), "1,000 files");
        assert_eq!(counted(2, "family"), "2 families");
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(time(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(time(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(time(951_868_800), "2000-03-01 00:00:00 UTC");
        assert_eq!(time(4_107_542_399), "2100-02-28 23:59:59 UTC");
        assert_eq!(time(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert_eq!(time(u64::MAX), "18446744073709551615 s after 1970");
    }
}
