use super::{CodecError, KeyCodec, PrefixCodec};

/// Keys that all have the same length, so that something can follow them: the first part of a pair.
///
/// A codec of the caller's own may implement it.
pub trait FixedLen: KeyCodec {
    /// The length in bytes.
    const LEN: usize;
}

/// A pair: the bytes of its parts, one behind the other. More parts are pairs of pairs: `(A, (B, C))`.
impl<A: FixedLen, B: KeyCodec> KeyCodec for (A, B) {
    type Ref<'k> = (A::Ref<'k>, B::Ref<'k>);
    type Key = (A::Key, B::Key);

    fn encode((first, second): Self::Ref<'_>, bytes: &mut Vec<u8>) {
        A::encode(first, bytes);
        B::encode(second, bytes);
    }

    fn decode(bytes: &[u8]) -> Result<Self::Key, CodecError> {
        let (first, second) = bytes.split_at_checked(A::LEN).ok_or_else(|| {
            CodecError::new(format!("{} bytes, expected {} or more", bytes.len(), A::LEN))
        })?;
        Ok((A::decode(first)?, B::decode(second)?))
    }
}

/// All pairs with the same first part.
impl<A: FixedLen, B: KeyCodec> PrefixCodec for (A, B) {
    type Prefix<'k> = A::Ref<'k>;

    fn encode_prefix(first: A::Ref<'_>, bytes: &mut Vec<u8>) {
        A::encode(first, bytes);
    }
}

impl<A: FixedLen, B: FixedLen> FixedLen for (A, B) {
    const LEN: usize = A::LEN + B::LEN;
}
