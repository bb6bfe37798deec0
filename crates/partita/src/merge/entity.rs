//! Wide-column entities, as far as plain reads see them.
//!
//! ```text
//! | version varint32 = 1 | columns varint32 | (name_len varint32 | name | value_len varint32) per column | values |
//! ```
//!
//! Columns are sorted by name; the one without a name is what a get returns.

use crate::error::{Error, Result};
use crate::util::coding::Cursor;

/// The column without a name of an entity; empty if it has none.
///
/// * Errors: `Corruption` if `entity` is none, `NotSupported` for an unknown version.
pub fn default_column(entity: &[u8]) -> Result<&[u8]> {
    let truncated = || Error::corruption("wide-column entity ends within its columns");
    let mut cursor = Cursor::new(entity);
    let version = cursor.varint32().ok_or_else(truncated)?;
    if version != 1 {
        return Err(Error::not_supported(format!("wide-column entity of version {version}")));
    }
    let columns = cursor.varint32().ok_or_else(truncated)?;
    let mut first = None;
    let mut others_len = 0u64;
    for at in 0..columns {
        let name = cursor.length_prefixed().ok_or_else(truncated)?;
        let value_len = cursor.varint32().ok_or_else(truncated)?;
        if at == 0 && name.is_empty() {
            first = Some(value_len);
        } else {
            others_len += u64::from(value_len);
        }
    }
    let values = cursor.rest();
    let column = values.get(..first.unwrap_or(0) as usize).ok_or_else(truncated)?;
    if (values.len() - column.len()) as u64 != others_len {
        return Err(truncated());
    }
    Ok(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_nameless_column_comes_first_or_not_at_all() {
        let entity = b"\x01\x02\x00\x03\x01c\x02abcde";
        assert_eq!(default_column(entity).unwrap(), b"abc");
        assert_eq!(default_column(b"\x01\x01\x01c\x02de").unwrap(), b"");
        assert_eq!(default_column(b"\x01\x00").unwrap(), b"");
        for len in 0..entity.len() {
            assert!(default_column(&entity[..len]).unwrap_err().is_corruption(), "{len}");
        }
        assert!(default_column(b"\x01\x00x").is_err());
        assert!(default_column(b"\x01\xff\xff\xff\xff\x0f").is_err());
        assert_eq!(default_column(b"\x02").unwrap_err().kind(), ErrorKind::NotSupported);
    }
}
