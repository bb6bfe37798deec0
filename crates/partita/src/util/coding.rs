//! Integers as RocksDB writes them: fixed little-endian, and varints of 7 bits a byte, low group first.
//!
//! Reading goes through [`Cursor`], which checks every bound and never panics: a short or overlong input is `None`,
//! and the caller, who knows what was expected, makes the error.

/// Most bytes that a varint of 32 bits takes.
pub const MAX_VARINT32_LEN: usize = 5;
/// Most bytes that a varint of 64 bits takes.
pub const MAX_VARINT64_LEN: usize = 10;

/// Appends `value` as a varint. Also right for 32-bit values: the two forms are the same.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` as a zigzag varint: small magnitudes of either sign are short.
#[inline]
pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1) as u64 ^ (value >> 63) as u64);
}

/// Appends the length of `bytes` as a varint, then `bytes`.
#[inline]
pub fn put_length_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that `value` takes as a varint.
#[inline]
pub const fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Reads integers from the front of a byte slice.
///
/// ```
/// use partita::util::coding::Cursor;
///
/// let mut cursor = Cursor::new(&[0xac, 0x02, 7, 0, 0, 0]);
/// assert_eq!(cursor.varint64(), Some(300));
/// assert_eq!(cursor.fixed32(), Some(7));
/// assert_eq!(cursor.fixed32(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `len` bytes.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// The next 4 bytes as a little-endian integer.
    #[inline]
    pub fn fixed32(&mut self) -> Option<u32> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*taken))
    }

    /// The next 8 bytes as a little-endian integer.
    #[inline]
    pub fn fixed64(&mut self) -> Option<u64> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*taken))
    }

    /// A varint of at most 5 bytes whose value fits in 32 bits.
    #[inline]
    pub fn varint32(&mut self) -> Option<u32> {
        if let Some((&byte, rest)) = self.rest.split_first()
            && byte < 0x80
        {
            self.rest = rest;
            return Some(u32::from(byte));
        }
        self.varint(MAX_VARINT32_LEN).and_then(|value| u32::try_from(value).ok())
    }

    /// A varint of at most 10 bytes whose value fits in 64 bits.
    #[inline]
    pub fn varint64(&mut self) -> Option<u64> {
        self.varint(MAX_VARINT64_LEN)
    }

    /// A signed varint in zigzag form.
    #[inline]
    pub fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint64()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A varint length, then that many bytes.
    #[inline]
    pub fn length_prefixed(&mut self) -> Option<&'a [u8]> {
        let len = self.varint32()?;
        self.bytes(len as usize)
    }

    /// Non-minimal forms (`0x80 0x00` for 0) are accepted, as RocksDB does; bits beyond 64 are not.
    #[inline]
    fn varint(&mut self, max_len: usize) -> Option<u64> {
        let mut value = 0u64;
        for (at, &byte) in self.rest.iter().take(max_len).enumerate() {
            let group = u64::from(byte & 0x7f);
            let shift = 7 * at as u32;
            if shift == 63 && group > 1 {
                return None;
            }
            value |= group << shift;
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn non_minimal_forms_are_read_and_overlong_ones_refused() {
        assert_eq!(Cursor::new(&[0x80, 0x00]).varint32(), Some(0));
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varint32(), Some(u32::MAX));
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint32(), None);
        assert_eq!(Cursor::new(&[0x80; 10]).varint64(), None);
        assert_eq!(Cursor::new(&[0x80]).varint64(), None);
        let mut widest = [0xff; 10];
        widest[9] = 1;
        assert_eq!(Cursor::new(&widest).varint64(), Some(u64::MAX));
        widest[9] = 2;
        assert_eq!(Cursor::new(&widest).varint64(), None);
    }

    #[test]
    fn a_length_beyond_the_input_is_refused() {
        assert_eq!(Cursor::new(&[5, 1, 2]).length_prefixed(), None);
        assert_eq!(Cursor::new(&[2, 1, 2, 9]).length_prefixed(), Some(&[1, 2][..]));
    }

    proptest! {
        #[test]
        fn integers_come_back(value in any::<u64>(), shift in 0u32..64, signed in any::<i64>()) {
            let value = value >> shift;
            let signed = signed >> shift;
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            put_zigzag(&mut out, signed);
            put_length_prefixed(&mut out, b"tail");
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.varint64(), Some(value));
            prop_assert_eq!(cursor.zigzag(), Some(signed));
            prop_assert_eq!(cursor.length_prefixed(), Some(&b"tail"[..]));
            prop_assert!(cursor.is_empty());
        }
    }
}
