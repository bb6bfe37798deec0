use super::{SeqNo, ValueType};
use crate::error::{Error, Result};

/// Bytes that an internal key adds to its user key.
pub const PACKED_LEN: usize = 8;

/// The packed word of an internal key: sequence number and type.
pub const fn pack(seqno: SeqNo, value_type: ValueType) -> u64 {
    seqno.get() << 8 | value_type.code() as u64
}

/// Appends the internal key of (`user_key`, `packed`) to `out`.
pub fn append_internal_key(out: &mut Vec<u8>, user_key: &[u8], packed: u64) {
    out.reserve(user_key.len() + PACKED_LEN);
    out.extend_from_slice(user_key);
    out.extend_from_slice(&packed.to_le_bytes());
}

/// The user key of an encoded internal key; empty if it is none.
#[inline]
pub(crate) fn user_key(encoded: &[u8]) -> &[u8] {
    encoded.split_last_chunk::<PACKED_LEN>().map_or(&[], |(user_key, _)| user_key)
}

/// An internal key taken apart.
///
/// ```
/// use partita::key::{InternalKey, SeqNo, ValueType};
///
/// let key = InternalKey::new(b"apple", SeqNo::new(7).unwrap(), ValueType::Value);
/// let bytes = key.encode();
/// assert_eq!(bytes, b"apple\x01\x07\0\0\0\0\0\0");
/// assert_eq!(InternalKey::decode(&bytes).unwrap(), key);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalKey<'a> {
    /// The caller's key.
    pub user_key: &'a [u8],
    /// When it was written.
    pub seqno: SeqNo,
    /// What was written.
    pub value_type: ValueType,
}

impl<'a> InternalKey<'a> {
    /// The internal key of these parts.
    pub const fn new(user_key: &'a [u8], seqno: SeqNo, value_type: ValueType) -> Self {
        Self { user_key, seqno, value_type }
    }

    /// The key that sorts before all entries of `user_key` visible at `seqno`, and after all newer ones.
    ///
    /// It is the target of a [`seek`](crate::iter::InternalIterator::seek). A `seek_for_prev` to it lands before these
    /// entries; its target is [`InternalKey::for_seek_for_prev`].
    pub const fn for_seek(user_key: &'a [u8], seqno: SeqNo) -> Self {
        Self::new(user_key, seqno, ValueType::FOR_SEEK)
    }

    /// The last of all keys of `user_key`: no entry of it sorts behind, and all of greater user keys do.
    ///
    /// It is the target of a [`seek_for_prev`](crate::iter::InternalIterator::seek_for_prev), which moves to the oldest
    /// entry of `user_key`, or to the last entry before it if it has none.
    ///
    /// ```
    /// use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
    ///
    /// let order = KeyOrder::Bytewise;
    /// let oldest = InternalKey::new(b"apple", SeqNo::new(1).unwrap(), ValueType::Value).encode();
    /// let target = InternalKey::for_seek_for_prev(b"apple").encode();
    /// assert!(order.compare_internal(&oldest, &target).is_lt());
    ///
    /// let target = InternalKey::for_seek(b"apple", SeqNo::MAX).encode();
    /// assert!(order.compare_internal(&oldest, &target).is_gt());
    /// ```
    pub const fn for_seek_for_prev(user_key: &'a [u8]) -> Self {
        // Sequence number and type fall among equal user keys; the type of code 0 comes last.
        Self::new(user_key, SeqNo::ZERO, ValueType::Deletion)
    }

    /// Takes an encoded internal key apart.
    ///
    /// * Errors: `Corruption` if it is shorter than 8 bytes or its type is unknown.
    #[inline]
    pub fn decode(encoded: &'a [u8]) -> Result<Self> {
        let Some((user_key, packed)) = encoded.split_last_chunk::<PACKED_LEN>() else {
            return Err(Error::corruption(format!(
                "internal key of {} bytes, expected at least {PACKED_LEN}",
                encoded.len()
            )));
        };
        let packed = u64::from_le_bytes(*packed);
        let Some(value_type) = ValueType::from_code(packed as u8) else {
            return Err(Error::corruption(format!(
                "internal key of unknown value type {:#04x}",
                packed as u8
            )));
        };
        Ok(Self { user_key, seqno: SeqNo::from_packed(packed), value_type })
    }

    /// Takes the target of a seek apart: one that is no internal key is the caller's mistake, not damage of a file.
    pub(crate) fn decode_target(target: &'a [u8]) -> Result<Self> {
        Self::decode(target).map_err(|_| {
            Error::invalid_argument(format!(
                "seek target of {} bytes is no internal key: InternalKey::for_seek(..).encode() makes one",
                target.len()
            ))
        })
    }

    /// Sequence number and type as one word.
    pub const fn packed(&self) -> u64 {
        pack(self.seqno, self.value_type)
    }

    /// The encoded key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        append_internal_key(&mut out, self.user_key, self.packed());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_or_unknown_key_is_corruption() {
        assert!(InternalKey::decode(b"1234567").unwrap_err().is_corruption());
        assert!(InternalKey::decode(b"k\x7f\0\0\0\0\0\0\0").unwrap_err().is_corruption());
        assert_eq!(InternalKey::decode(&[0; 8]).unwrap().user_key, b"");
    }

    #[test]
    fn no_key_sorts_behind_the_key_to_seek_backward() {
        assert_eq!(InternalKey::for_seek_for_prev(b"").packed(), 0);
    }

    #[test]
    fn the_seek_key_packs_the_greatest_type() {
        assert_eq!(InternalKey::for_seek(b"", SeqNo::MAX).packed(), u64::MAX >> 8 << 8 | 0x18);
    }
}
