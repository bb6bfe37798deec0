//! What the format's 32-bit lengths can say.

use crate::error::{Error, Result};

/// Longest key, value or operand in bytes.
pub const FIELD_BYTES_MAX: usize = u32::MAX as usize;
/// Longest batch in bytes.
pub const BATCH_BYTES_MAX: usize = u32::MAX as usize;

/// Refuses a field whose length the format cannot say.
pub(super) fn check_field(what: &str, len: usize) -> Result<()> {
    if len <= FIELD_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("{what} of {len} bytes: the limit is {FIELD_BYTES_MAX}")))
}

/// Refuses a batch that would become too long.
pub(super) fn check_batch(len: usize, most: usize) -> Result<()> {
    if len <= most {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("write batch of {len} bytes: the limit is {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_what_32_bits_can_say() {
        for len in [(1 << 31) - 1, 1 << 31, u32::MAX as usize - 1, u32::MAX as usize] {
            check_field("key", len).unwrap();
            check_batch(len, BATCH_BYTES_MAX).unwrap();
        }
        let error = check_field("value", 1 << 32).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid argument: value of 4294967296 bytes: the limit is 4294967295"
        );
        assert!(check_batch(1 << 32, BATCH_BYTES_MAX).is_err());
    }
}
