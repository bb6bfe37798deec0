//! The encodings of property values.

use crate::util::coding::{Cursor, put_varint};

/// One encoding: what it holds in memory and how it stands on disk.
pub(super) trait Codec {
    type Value: Clone;

    /// `None` if `bytes` are not in this encoding.
    fn decode(bytes: &[u8]) -> Option<Self::Value>;
    fn encode(value: &Self::Value) -> Vec<u8>;
}

/// A varint of 64 bits. RocksDB does not look at bytes behind it, so neither do we.
pub(super) enum Varint {}

impl Codec for Varint {
    type Value = u64;

    fn decode(bytes: &[u8]) -> Option<u64> {
        Cursor::new(bytes).varint64()
    }

    fn encode(value: &u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, *value);
        out
    }
}

/// A varint used as a switch: 0 is off, all else is on.
pub(super) enum Flag {}

impl Codec for Flag {
    type Value = bool;

    fn decode(bytes: &[u8]) -> Option<bool> {
        Varint::decode(bytes).map(|value| value != 0)
    }

    fn encode(value: &bool) -> Vec<u8> {
        vec![u8::from(*value)]
    }
}

/// A switch as the text `0` or `1`.
pub(super) enum Digit {}

impl Codec for Digit {
    type Value = bool;

    fn decode(bytes: &[u8]) -> Option<bool> {
        match bytes {
            b"0" => Some(false),
            b"1" => Some(true),
            _ => None,
        }
    }

    fn encode(value: &bool) -> Vec<u8> {
        vec![b'0' + u8::from(*value)]
    }
}

/// 4 bytes, little-endian.
pub(super) enum Fixed32 {}

impl Codec for Fixed32 {
    type Value = u32;

    fn decode(bytes: &[u8]) -> Option<u32> {
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn encode(value: &u32) -> Vec<u8> {
        value.to_le_bytes().to_vec()
    }
}

/// 8 bytes, little-endian.
pub(super) enum Fixed64 {}

impl Codec for Fixed64 {
    type Value = u64;

    fn decode(bytes: &[u8]) -> Option<u64> {
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn encode(value: &u64) -> Vec<u8> {
        value.to_le_bytes().to_vec()
    }
}

/// Text in UTF-8.
pub(super) enum Text {}

impl Codec for Text {
    type Value = String;

    fn decode(bytes: &[u8]) -> Option<String> {
        String::from_utf8(bytes.to_vec()).ok()
    }

    fn encode(value: &String) -> Vec<u8> {
        value.as_bytes().to_vec()
    }
}

/// Bytes as they are.
pub(super) enum Bytes {}

impl Codec for Bytes {
    type Value = Vec<u8>;

    fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
        Some(bytes.to_vec())
    }

    fn encode(value: &Vec<u8>) -> Vec<u8> {
        value.clone()
    }
}
