//! Names of options files: `OPTIONS-000007`.

/// What such names begin with.
const PREFIX: &str = "OPTIONS-";
/// Files that are kept: the newest, and the one before for the case that the newest is damaged.
const KEPT: usize = 2;

/// The name of the options file with this number.
pub fn file_name(number: u64) -> String {
    format!("{PREFIX}{number:06}")
}

/// The number in an options file's name; `None` for every other name, those of unfinished files included.
pub fn file_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// The number of the newest options file among the names in a directory.
///
/// ```
/// use partita::options::file::newest;
///
/// assert_eq!(newest(["OPTIONS-000009", "CURRENT", "OPTIONS-000012", "OPTIONS-000013.dbtmp"]), Some(12));
/// assert_eq!(newest(["CURRENT"]), None);
/// ```
pub fn newest<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<u64> {
    names.into_iter().filter_map(file_number).max()
}

/// The numbers of the options files that may go, once the newest is in its place: all but two.
///
/// ```
/// use partita::options::file::obsolete;
///
/// assert_eq!(obsolete(["OPTIONS-000009", "OPTIONS-000007", "OPTIONS-000005", "MANIFEST-000004"]), [5]);
/// ```
pub fn obsolete<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<u64> {
    let mut numbers: Vec<u64> = names.into_iter().filter_map(file_number).collect();
    numbers.sort_unstable();
    numbers.truncate(numbers.len().saturating_sub(KEPT));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        for number in [1, 7, 999_999, 1_000_000, u64::MAX] {
            assert_eq!(file_number(&file_name(number)), Some(number));
        }
        for name in [
            "OPTIONS-",
            "OPTIONS-7.dbtmp",
            "OPTIONS-+7",
            "options-7",
            "OPTIONS-99999999999999999999",
        ] {
            assert_eq!(file_number(name), None, "{name}");
        }
    }
}
