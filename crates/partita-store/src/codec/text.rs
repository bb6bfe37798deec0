use super::{CodecError, KeyCodec, PrefixCodec, ValueCodec};

/// Text, in the order of its bytes, which is that of its characters.
pub enum Utf8 {}

impl KeyCodec for Utf8 {
    type Ref<'k> = &'k str;
    type Key = String;

    fn encode(key: &str, bytes: &mut Vec<u8>) {
        bytes.extend(key.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Result<String, CodecError> {
        text(bytes)
    }
}

impl PrefixCodec for Utf8 {
    type Prefix<'k> = &'k str;

    fn encode_prefix(prefix: &str, bytes: &mut Vec<u8>) {
        bytes.extend(prefix.as_bytes());
    }
}

impl ValueCodec for Utf8 {
    type Borrowed = str;
    type Value = String;

    fn encode(value: &str, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        bytes.extend(value.as_bytes());
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<String, CodecError> {
        text(bytes)
    }
}

fn text(bytes: &[u8]) -> Result<String, CodecError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(CodecError::of)
}

/// Bytes as they are.
pub enum Bytes {}

impl KeyCodec for Bytes {
    type Ref<'k> = &'k [u8];
    type Key = Vec<u8>;

    fn encode(key: &[u8], bytes: &mut Vec<u8>) {
        bytes.extend(key);
    }

    fn decode(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        Ok(bytes.to_vec())
    }
}

impl PrefixCodec for Bytes {
    type Prefix<'k> = &'k [u8];

    fn encode_prefix(prefix: &[u8], bytes: &mut Vec<u8>) {
        bytes.extend(prefix);
    }
}

impl ValueCodec for Bytes {
    type Borrowed = [u8];
    type Value = Vec<u8>;

    fn encode(value: &[u8], bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        bytes.extend(value);
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        Ok(bytes.to_vec())
    }
}

/// No value: a table of keys alone.
impl ValueCodec for () {
    type Borrowed = ();
    type Value = ();

    fn encode((): &(), _: &mut Vec<u8>) -> Result<(), CodecError> {
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<(), CodecError> {
        if bytes.is_empty() { Ok(()) } else { Err(CodecError::length(bytes, 0)) }
    }
}
