use std::marker::PhantomData;

use prost::Message;

use super::{CodecError, ValueCodec};

/// A protobuf message.
///
/// ```
/// use partita_store::codec::{Protobuf, ValueCodec};
///
/// #[derive(Clone, PartialEq, prost::Message)]
/// struct User {
///     #[prost(string, tag = "1")]
///     name: String,
/// }
///
/// let mut bytes = Vec::new();
/// Protobuf::encode(&User { name: "Anne".to_owned() }, &mut bytes)?;
/// assert_eq!(bytes, b"\x0a\x04Anne");
/// assert_eq!(Protobuf::<User>::decode(&bytes)?.name, "Anne");
/// # Ok::<(), partita_store::codec::CodecError>(())
/// ```
pub struct Protobuf<M>(PhantomData<M>);

impl<M: Message + Default + 'static> ValueCodec for Protobuf<M> {
    type Borrowed = M;
    type Value = M;

    fn encode(value: &M, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        bytes.reserve_exact(value.encoded_len());
        value.encode(bytes).map_err(CodecError::of)
    }

    fn decode(bytes: &[u8]) -> Result<M, CodecError> {
        M::decode(bytes).map_err(CodecError::of)
    }
}
