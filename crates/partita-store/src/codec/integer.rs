use std::marker::PhantomData;

use super::tuple::FixedLen;
use super::{CodecError, KeyCodec, ValueCodec};

/// An integer in as many bytes as its type has, the highest first, so that bytes are in the order of numbers.
///
/// Of a number with a sign the highest bit is turned, so that negative ones come first.
pub struct BigEndian<T>(PhantomData<T>);

/// Integers that [`BigEndian`] encodes: those of Rust, from 8 to 128 bits.
pub trait Integer: Copy + 'static + sealed::Sealed {
    /// Bytes that one takes.
    const LEN: usize;

    /// Appends the bytes.
    fn append_to(self, bytes: &mut Vec<u8>);

    /// The number that has these bytes; `None` if they are not [`Integer::LEN`].
    fn of_bytes(bytes: &[u8]) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($integer:ty => $turned:expr;)*) => {$(
        impl sealed::Sealed for $integer {}

        impl Integer for $integer {
            const LEN: usize = size_of::<Self>();

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend((self ^ $turned).to_be_bytes());
            }

            fn of_bytes(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_be_bytes(bytes.try_into().ok()?) ^ $turned)
            }
        }
    )*};
}

integers! {
    u8 => 0;
    u16 => 0;
    u32 => 0;
    u64 => 0;
    u128 => 0;
    i8 => Self::MIN;
    i16 => Self::MIN;
    i32 => Self::MIN;
    i64 => Self::MIN;
    i128 => Self::MIN;
}

fn decode<T: Integer>(bytes: &[u8]) -> Result<T, CodecError> {
    T::of_bytes(bytes).ok_or_else(|| CodecError::length(bytes, T::LEN))
}

impl<T: Integer> KeyCodec for BigEndian<T> {
    type Ref<'k> = T;
    type Key = T;

    fn encode(key: T, bytes: &mut Vec<u8>) {
        key.append_to(bytes);
    }

    fn decode(bytes: &[u8]) -> Result<T, CodecError> {
        decode(bytes)
    }
}

impl<T: Integer> FixedLen for BigEndian<T> {
    const LEN: usize = T::LEN;
}

impl<T: Integer> ValueCodec for BigEndian<T> {
    type Borrowed = T;
    type Value = T;

    fn encode(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        value.append_to(bytes);
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<T, CodecError> {
        decode(bytes)
    }
}
