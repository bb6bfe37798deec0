//! The identity of a table, which its manifest entry holds and its properties give.
//!
//! ```text
//! 8 bytes   lower = low 62 bits of the session's last 12 digits | low 2 bits of its first digits << 62
//! 8 bytes   high half of XXH3-128(database id, seed = first digits >> 2) xor file number
//! ```
//!
//! A session is named by base-36 digits. A name that has none is hashed instead.

use twox_hash::XxHash3_128;

use crate::table::TableProperties;

const SESSION_LOW_DIGITS: usize = 12;
const LOW_BITS: u64 = (1 << 62) - 1;

/// The unique id of a table with these properties, as the manifest has it; `None` if they do not say enough.
///
/// ```
/// use partita::table::TableProperties;
///
/// assert_eq!(partita::version::unique_id::of_table(&TableProperties::default()), None);
/// ```
pub fn of_table(properties: &TableProperties) -> Option<[u8; 16]> {
    let db_id = TableProperties::name_of(&properties.db_id)?;
    let session = TableProperties::name_of(&properties.db_session_id)?;
    let number = properties.original_file_number.filter(|number| *number != 0)?;
    Some(of_file(db_id, session, number))
}

/// The unique id of file `number` that a session of a database writes.
pub fn of_file(db_id: &str, session: &str, number: u64) -> [u8; 16] {
    let (upper, lower) = session_words(session);
    let hash = XxHash3_128::oneshot_with_seed(upper, db_id.as_bytes());
    let second = (hash >> 64) as u64 ^ number;
    let mut id = [0; 16];
    id[..8].copy_from_slice(&lower.to_le_bytes());
    id[8..].copy_from_slice(&second.to_le_bytes());
    id
}

fn session_words(session: &str) -> (u64, u64) {
    if let Some(words) = decode_session(session) {
        return words;
    }
    let hash = XxHash3_128::oneshot(session.as_bytes());
    let lower = hash as u64;
    ((hash >> 64) as u64, if lower == 0 { 1 } else { lower })
}

fn decode_session(session: &str) -> Option<(u64, u64)> {
    let digits = session.as_bytes();
    let (first, last) = match digits.len() {
        13..=24 => digits.split_at_checked(digits.len() - SESSION_LOW_DIGITS)?,
        _ => return None,
    };
    let (first, last) = (base36(first)?, base36(last)?);
    Some((first >> 2, last & LOW_BITS | first << 62))
}

fn base36(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'Z' => digit - b'A' + 10,
            _ => return None,
        };
        Some(value.wrapping_mul(36).wrapping_add(u64::from(digit)))
    })
}
