//! Which known name is meant by one that is not known.

/// Edits, for each four letters, up to which a name counts as misspelt.
const LETTERS_PER_EDIT: usize = 4;
/// Names longer than this are not compared: no option has one.
const NAME_LEN_MAX: usize = 96;

/// The name among `known` that is nearest to `name`, if it is near: one edit for each four letters, case aside.
///
/// ```
/// use partita::options::file::nearest;
///
/// let known = ["block_size", "write_buffer_size"];
/// assert_eq!(nearest("blok_szie", known.into_iter()), Some("block_size"));
/// assert_eq!(nearest("something_else", known.into_iter()), None);
/// ```
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > NAME_LEN_MAX {
        return None;
    }
    let near = (name.len() / LETTERS_PER_EDIT).max(1);
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= near)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`, case aside.
fn distance(a: &str, b: &str) -> usize {
    let lower = |text: &str| text.to_ascii_lowercase().into_bytes();
    let (a, b) = (lower(a), lower(b));
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let mut edits =
                (last[j] + usize::from(from != to)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                edits = edits.min(before_last[j - 1] + 1);
            }
            row.push(edits);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("block_szie", "block_size", 1),
            ("Block_Size", "block_size", 0),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn only_what_is_near_is_meant() {
        let known = ["block_size", "write_buffer_size"];
        assert_eq!(nearest("blok_szie", known.into_iter()), Some("block_size"));
        assert_eq!(nearest("something_else", known.into_iter()), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), known.into_iter()), None);
    }
}
