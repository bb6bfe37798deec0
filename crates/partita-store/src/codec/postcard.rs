use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CodecError, ValueCodec};

/// A value of any type that serde knows, in postcard's form. Its fields have no names there: what is stored can be read as
/// long as the type has the same fields in the same order.
///
/// ```
/// use partita_store::codec::{Postcard, ValueCodec};
///
/// let mut bytes = Vec::new();
/// Postcard::encode(&(7u32, "Anne".to_owned()), &mut bytes)?;
/// assert_eq!(bytes, b"\x07\x04Anne");
/// assert_eq!(Postcard::<(u32, String)>::decode(&bytes)?.1, "Anne");
/// # Ok::<(), partita_store::codec::CodecError>(())
/// ```
pub struct Postcard<T>(PhantomData<T>);

impl<T: Serialize + DeserializeOwned + 'static> ValueCodec for Postcard<T> {
    type Borrowed = T;
    type Value = T;

    fn encode(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        *bytes = postcard::to_extend(value, std::mem::take(bytes)).map_err(CodecError::of)?;
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<T, CodecError> {
        match postcard::take_from_bytes(bytes).map_err(CodecError::of)? {
            (value, []) => Ok(value),
            (_, rest) => Err(CodecError::new(format!("{} bytes behind the value", rest.len()))),
        }
    }
}
