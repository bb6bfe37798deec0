//! Session ids as RocksDB makes them: 20 digits of base 36, of which the last 12 are below 2^62.

use std::hash::{BuildHasher, RandomState};

const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LEN: u32 = 20;
/// Where the lower number starts. Its first digit stays below 35, which keeps the number below 2^62.
const LOWER_AT: u32 = 8;

/// A new session id.
///
/// The standard library seeds its hash tables from the operating system's source of randomness, differently each time.
pub(super) fn new_session_id() -> String {
    let random = RandomState::new();
    let digit = |at: u32| {
        let base = if at == LOWER_AT { 35 } else { 36 };
        char::from(DIGITS[(random.hash_one(at) % base) as usize])
    };
    (0..LEN).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_have_the_form_that_rocksdb_decodes_and_differ() {
        let ids: Vec<String> = (0..1000).map(|_| new_session_id()).collect();
        for id in &ids {
            assert_eq!(id.len(), 20);
            assert!(id.bytes().all(|byte| DIGITS.contains(&byte)), "{id}");
            assert!(u64::from_str_radix(&id[8..], 36).unwrap() < 1 << 62, "{id}");
        }
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
    }
}
