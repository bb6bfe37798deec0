//! Names that no other database, and no other opening of this one, has.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

/// A text for IDENTITY: a random UUID (RFC 9562, version 4), as RocksDB has it.
pub(super) fn new_db_id() -> String {
    let (high, low) = (random_word(), random_word());
    let version = high & !0xf000 | 0x4000;
    let variant = low & (u64::MAX >> 2) | 1 << 63;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        version >> 32,
        version >> 16 & 0xffff,
        version & 0xffff,
        variant >> 48,
        variant & 0xffff_ffff_ffff
    )
}

/// Twenty base-36 digits, as RocksDB names a session in the properties of its tables.
pub(super) fn new_session_id() -> String {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut left = u128::from(random_word()) << 64 | u128::from(random_word());
    (0..20)
        .map(|_| {
            let digit = DIGITS[(left % 36) as usize];
            left /= 36;
            char::from(digit)
        })
        .collect()
}

/// The system's randomness, by way of the keys of the standard library's hash tables.
fn random_word() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_form_and_differ() {
        let (id, session) = (new_db_id(), new_session_id());
        assert_eq!(id.len(), 36);
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]));
        assert_eq!(session.len(), 20);
        assert!(session.bytes().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase()));
        assert_ne!((id, session), (new_db_id(), new_session_id()));
    }
}
