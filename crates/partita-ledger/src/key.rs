//! Keys and values.
//!
//! ```text
//! key:    ledger id i64 BE | entry id i64 BE        16 bytes
//! value:  location i64 BE                            8 bytes
//! ```
//!
//! Keys are ordered by their bytes, so negative numbers sort behind all others: the entries of a ledger go from 0 to
//! `i64::MAX` and then from `i64::MIN` to -1, and ledgers likewise.

use partita::{Error, Result};

pub(crate) const KEY_BYTES: usize = 16;

/// The key of an entry.
pub(crate) fn encode(ledger_id: i64, entry_id: i64) -> [u8; KEY_BYTES] {
    let key = (u128::from(ledger_id as u64) << 64) | u128::from(entry_id as u64);
    key.to_be_bytes()
}

/// Ledger and entry of a key.
pub(crate) fn decode(key: &[u8]) -> Result<(i64, i64)> {
    let Ok(key) = <[u8; KEY_BYTES]>::try_from(key) else {
        return Err(Error::corruption(format!(
            "a key of {} bytes, expected {KEY_BYTES}: ledger id and entry id",
            key.len()
        ))
        .in_part("entry location"));
    };
    let key = u128::from_be_bytes(key);
    Ok(((key >> 64) as u64 as i64, key as u64 as i64))
}

/// The location in the value of an entry.
pub(crate) fn decode_location(ledger_id: i64, entry_id: i64, value: &[u8]) -> Result<i64> {
    let Ok(value) = value.try_into() else {
        return Err(Error::corruption(format!(
            "entry {entry_id} of ledger {ledger_id} has a value of {} bytes, expected 8: a location",
            value.len()
        ))
        .in_part("entry location"));
    };
    Ok(i64::from_be_bytes(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_ledger_then_entry_and_negative_numbers_behind_all_others() {
        let order = [
            (0, 0),
            (0, 1),
            (0, i64::MAX),
            (0, i64::MIN),
            (0, -1),
            (1, 0),
            (i64::MAX, 0),
            (i64::MIN, 7),
            (-1, 0),
            (-1, -1),
        ];
        let keys = order.map(|(ledger, entry)| encode(ledger, entry));
        assert!(keys.is_sorted());
        assert_eq!(keys.map(|key| decode(&key).unwrap()), order);
    }

    #[test]
    fn a_key_is_two_big_endian_numbers() {
        let key = encode(0x0102_0304_0506_0708, 0x1112_1314_1516_1718);
        assert_eq!(key[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(key[8..], [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
    }

    #[test]
    fn what_is_too_short_or_too_long_is_refused_by_name() {
        assert!(decode(&[0; 15]).unwrap_err().message().contains("a key of 15 bytes"));
        assert!(decode(&[0; 17]).unwrap_err().is_corruption());
        let error = decode_location(7, 3, &[0; 9]).unwrap_err();
        assert!(error.message().starts_with("entry 3 of ledger 7 has a value of 9 bytes"));
        assert_eq!(decode_location(7, 3, &(-5i64).to_be_bytes()).unwrap(), -5);
    }
}
