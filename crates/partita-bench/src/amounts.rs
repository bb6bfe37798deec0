//! Sizes and counts as people write them.

/// A size: `64MiB`, `1.5 GB`, `512k`, or a number of bytes. Units are powers of 1024, however they are written.
///
/// ```
/// use partita_bench::amounts::parse_size;
///
/// assert_eq!(parse_size("64MiB"), Ok(64 << 20));
/// assert_eq!(parse_size("1.5g"), Ok(3 << 29));
/// assert!(parse_size("much").is_err());
/// ```
pub fn parse_size(text: &str) -> Result<u64, String> {
    let units = [("", 0), ("k", 10), ("m", 20), ("g", 30), ("t", 40)];
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, shift)| 1_u64 << shift);
    let bytes = factor.and_then(|factor| match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => {
            let bytes = number.parse::<f64>().ok()? * factor as f64;
            (bytes < u64::MAX as f64).then_some(bytes as u64)
        }
    });
    bytes.ok_or_else(|| format!("{text:?} is no size: 64MiB would be one"))
}

/// A count: `50M`, `10k`, or a number. Units are powers of 1000.
///
/// ```
/// use partita_bench::amounts::parse_count;
///
/// assert_eq!(parse_count("50M"), Ok(50_000_000));
/// assert!(parse_count("many").is_err());
/// ```
pub fn parse_count(text: &str) -> Result<u64, String> {
    let units = [("", 1), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)];
    let (number, unit) = split(text);
    let factor = units.iter().find(|(name, _)| *name == unit.to_ascii_lowercase());
    number
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, (_, factor))| number.checked_mul(*factor))
        .ok_or_else(|| format!("{text:?} is no count: 50M would be one"))
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    (number, unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("4k", 4096),
            ("4 KiB", 4096),
            ("64MB", 64 << 20),
            ("1g", 1 << 30),
            ("1.5 GB", 3 << 29),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1.5.2G", "1 parsec", "99999999999G", "KiB4"] {
            assert!(parse_size(text).unwrap_err().contains("64MiB"), "{text}");
        }
    }

    #[test]
    fn counts_have_units_of_1000() {
        for (text, count) in
            [("7", 7), ("10k", 10_000), ("50M", 50_000_000), ("1 G", 1_000_000_000)]
        {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for text in ["", "M", "1e6", "5MiB", "99999999999999999999"] {
            assert!(parse_count(text).unwrap_err().contains("50M"), "{text}");
        }
    }
}
