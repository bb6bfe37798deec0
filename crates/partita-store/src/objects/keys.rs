//! Keys of rows: paths.
//!
//! ```text
//! /volume                          volumeTable
//! /volume/bucket                   bucketTable
//! /volume/bucket/key               keyTable; the key may have slashes, the others may not
//! /volume/bucket/key/client        openKeyTable; decimal
//! /volume/bucket/key/object        deletedTable; decimal
//! ```

use crate::codec::{CodecError, KeyCodec, PrefixCodec};

/// The name of a volume.
pub enum VolumeKey {}

/// The names of a volume and a bucket in it.
pub enum BucketKey {}

/// Where a key is: volume, bucket, and its name.
pub enum ObjectKey {}

/// A key that is being written, and by whom.
pub enum OpenKeyKey {}

/// A key that was deleted, and which of those that had its name.
pub enum DeletedKey {}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath<'p> {
    /// The volume.
    pub volume: &'p str,
    /// The bucket.
    pub bucket: &'p str,
    /// The key's name in the bucket.
    pub key: &'p str,
}

/// The same, as it is read from a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPathBuf {
    /// The volume.
    pub volume: String,
    /// The bucket.
    pub bucket: String,
    /// The key's name in the bucket.
    pub key: String,
}

impl KeyPathBuf {
    /// The same, borrowed.
    pub fn as_path(&self) -> KeyPath<'_> {
        KeyPath { volume: &self.volume, bucket: &self.bucket, key: &self.key }
    }
}

impl KeyPath<'_> {
    /// The same, with strings of its own.
    pub fn to_buf(self) -> KeyPathBuf {
        KeyPathBuf {
            volume: self.volume.to_owned(),
            bucket: self.bucket.to_owned(),
            key: self.key.to_owned(),
        }
    }
}

impl KeyCodec for VolumeKey {
    type Ref<'k> = &'k str;
    type Key = String;

    fn encode(volume: &str, bytes: &mut Vec<u8>) {
        append(bytes, volume);
    }

    fn decode(bytes: &[u8]) -> Result<String, CodecError> {
        let [volume] = names(bytes)?;
        Ok(volume.to_owned())
    }
}

impl KeyCodec for BucketKey {
    type Ref<'k> = (&'k str, &'k str);
    type Key = (String, String);

    fn encode((volume, bucket): (&str, &str), bytes: &mut Vec<u8>) {
        append(bytes, volume);
        append(bytes, bucket);
    }

    fn decode(bytes: &[u8]) -> Result<(String, String), CodecError> {
        let [volume, bucket] = names(bytes)?;
        Ok((volume.to_owned(), bucket.to_owned()))
    }
}

/// Buckets of a volume.
impl PrefixCodec for BucketKey {
    type Prefix<'k> = &'k str;

    fn encode_prefix(volume: &str, bytes: &mut Vec<u8>) {
        append(bytes, volume);
        bytes.push(b'/');
    }
}

impl KeyCodec for ObjectKey {
    type Ref<'k> = KeyPath<'k>;
    type Key = KeyPathBuf;

    fn encode(path: KeyPath<'_>, bytes: &mut Vec<u8>) {
        append(bytes, path.volume);
        append(bytes, path.bucket);
        append(bytes, path.key);
    }

    fn decode(bytes: &[u8]) -> Result<KeyPathBuf, CodecError> {
        let [volume, bucket, key] = parts(bytes)?;
        Ok(KeyPath { volume, bucket, key }.to_buf())
    }
}

/// Keys of a bucket whose names begin alike.
impl PrefixCodec for ObjectKey {
    type Prefix<'k> = KeyPath<'k>;

    fn encode_prefix(prefix: KeyPath<'_>, bytes: &mut Vec<u8>) {
        Self::encode(prefix, bytes);
    }
}

macro_rules! numbered_paths {
    ($($codec:ty)*) => {$(
        impl KeyCodec for $codec {
            type Ref<'k> = (KeyPath<'k>, u64);
            type Key = (KeyPathBuf, u64);

            fn encode((path, number): (KeyPath<'_>, u64), bytes: &mut Vec<u8>) {
                ObjectKey::encode(path, bytes);
                append(bytes, &number.to_string());
            }

            fn decode(bytes: &[u8]) -> Result<(KeyPathBuf, u64), CodecError> {
                let slash = bytes.iter().rposition(|byte| *byte == b'/');
                let (path, number) = bytes.split_at(slash.unwrap_or(0));
                let digits = text(number)?.strip_prefix('/').unwrap_or_default();
                // As it is written, or a key that was read would not be found again.
                let number: Option<u64> = digits.parse().ok();
                let number = number
                    .filter(|number| number.to_string() == digits)
                    .ok_or_else(|| CodecError::new("no number behind the last slash"))?;
                Ok((ObjectKey::decode(path)?, number))
            }
        }
    )*};
}

numbered_paths!(OpenKeyKey DeletedKey);

fn append(bytes: &mut Vec<u8>, part: &str) {
    bytes.push(b'/');
    bytes.extend(part.as_bytes());
}

/// The parts of a path, of which the last may have slashes.
fn parts<const N: usize>(bytes: &[u8]) -> Result<[&str; N], CodecError> {
    let wrong = || CodecError::new(format!("no path of {N} parts"));
    let path = text(bytes)?.strip_prefix('/').ok_or_else(wrong)?;
    let parts: Vec<&str> = path.splitn(N, '/').collect();
    parts.try_into().map_err(|_| wrong())
}

/// The parts of a path, of which none has slashes.
fn names<const N: usize>(bytes: &[u8]) -> Result<[&str; N], CodecError> {
    let names = parts(bytes)?;
    match names.iter().any(|name: &&str| name.contains('/')) {
        true => Err(CodecError::new(format!("a path of more than {N} parts"))),
        false => Ok(names),
    }
}

fn text(bytes: &[u8]) -> Result<&str, CodecError> {
    std::str::from_utf8(bytes).map_err(CodecError::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<K: KeyCodec>(key: K::Ref<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        K::encode(key, &mut bytes);
        bytes
    }

    #[test]
    fn paths_have_ozones_form_and_come_back() {
        let path = KeyPath { volume: "v", bucket: "b", key: "a/b//c" };
        assert_eq!(bytes::<VolumeKey>("v"), b"/v");
        assert_eq!(bytes::<BucketKey>(("v", "b")), b"/v/b");
        assert_eq!(bytes::<ObjectKey>(path), b"/v/b/a/b//c");
        assert_eq!(bytes::<OpenKeyKey>((path, 77)), b"/v/b/a/b//c/77");
        assert_eq!(VolumeKey::decode(b"/v").unwrap(), "v");
        assert_eq!(BucketKey::decode(b"/v/b").unwrap(), ("v".to_owned(), "b".to_owned()));
        assert_eq!(ObjectKey::decode(b"/v/b/a/b//c").unwrap(), path.to_buf());
        assert_eq!(DeletedKey::decode(b"/v/b/a/b//c/77").unwrap(), (path.to_buf(), 77));
        for wrong in [
            &b"v/b/k/1"[..],
            b"/v/b/1",
            b"/v/b/k/x",
            b"/v/b/k/",
            b"/v/b/k/01",
            b"/v/b/k/+1",
            b"",
            b"/",
            b"/v/\xff/k/1",
        ] {
            assert!(OpenKeyKey::decode(wrong).is_err(), "{}", wrong.escape_ascii());
        }
        assert!(VolumeKey::decode(b"/v/b").is_err() && BucketKey::decode(b"/v/b/k").is_err());
    }
}
