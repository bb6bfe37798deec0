//! Rows: what is known of volumes, buckets and keys, as protobuf messages.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};

/// Declares messages: each field with its kind and number, as `prost` reads and writes it.
///
/// By hand, since the derive macro of `prost` would have the workspace of the compatibility tests build RocksDB anew.
macro_rules! messages {
    ($(
        $(#[$meta:meta])*
        pub struct $message:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $kind:ident $tag:literal,)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $message {
            $($(#[$field_meta])* pub $field: $type,)+
        }

        impl Message for $message {
            fn encode_raw(&self, buf: &mut impl BufMut) {
                $(field!(encode $kind, $tag, &self.$field, buf);)+
            }

            fn encoded_len(&self) -> usize {
                0 $(+ field!(len $kind, $tag, &self.$field))+
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: WireType,
                buf: &mut impl Buf,
                ctx: DecodeContext,
            ) -> Result<(), DecodeError> {
                match tag {
                    $($tag => field!(merge $kind, wire_type, &mut self.$field, buf, ctx).map_err(|mut error| {
                        error.push(stringify!($message), stringify!($field));
                        error
                    }),)+
                    _ => encoding::skip_field(wire_type, tag, buf, ctx),
                }
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    )+};
}

fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What is done with a field: single ones are left out if they are as they begin.
macro_rules! field {
    (encode repeated, $tag:literal, $value:expr, $buf:ident) => {
        $value.iter().for_each(|one| encoding::message::encode($tag, one, $buf))
    };
    (len repeated, $tag:literal, $value:expr) => {
        encoding::message::encoded_len_repeated($tag, $value)
    };
    (merge repeated, $wire_type:ident, $value:expr, $buf:ident, $ctx:ident) => {
        encoding::message::merge_repeated($wire_type, $value, $buf, $ctx)
    };
    (encode $kind:ident, $tag:literal, $value:expr, $buf:ident) => {
        if !is_unset($value) {
            encoding::$kind::encode($tag, $value, $buf);
        }
    };
    (len $kind:ident, $tag:literal, $value:expr) => {
        if is_unset($value) { 0 } else { encoding::$kind::encoded_len($tag, $value) }
    };
    (merge $kind:ident, $wire_type:ident, $value:expr, $buf:ident, $ctx:ident) => {
        encoding::$kind::merge($wire_type, $value, $buf, $ctx)
    };
}

messages! {
    /// A volume.
    pub struct VolumeInfo {
        /// Its name.
        pub volume: String = string 1,
        /// Whose it is.
        pub owner: String = string 2,
        /// When it was made.
        pub creation_unix_millis: u64 = uint64 3,
        /// Its number.
        pub object_id: u64 = uint64 4,
        /// The last transaction that changed it.
        pub update_id: u64 = uint64 5,
    }

    /// A bucket, with what it holds.
    pub struct BucketInfo {
        /// The volume that it is in.
        pub volume: String = string 1,
        /// Its name.
        pub bucket: String = string 2,
        /// When it was made.
        pub creation_unix_millis: u64 = uint64 3,
        /// Its number.
        pub object_id: u64 = uint64 4,
        /// The last transaction that changed it.
        pub update_id: u64 = uint64 5,
        /// Bytes of its keys' data, copies left out.
        pub used_bytes: u64 = uint64 6,
        /// Its keys.
        pub key_count: u64 = uint64 7,
    }

    /// A key, open, committed or deleted.
    pub struct KeyInfo {
        /// The volume that it is in.
        pub volume: String = string 1,
        /// The bucket that it is in.
        pub bucket: String = string 2,
        /// Its name.
        pub key: String = string 3,
        /// Bytes of its data.
        pub data_size: u64 = uint64 4,
        /// Where they are.
        pub blocks: Vec<BlockLocation> = repeated 5,
        /// When it was opened.
        pub creation_unix_millis: u64 = uint64 6,
        /// When it was changed last.
        pub modification_unix_millis: u64 = uint64 7,
        /// Its number.
        pub object_id: u64 = uint64 8,
        /// The last transaction that changed it.
        pub update_id: u64 = uint64 9,
        /// Whose it is.
        pub owner: String = string 10,
        /// What its owner noted.
        pub metadata: Vec<KeyValue> = repeated 11,
    }

    /// Where a block of a key's data is.
    pub struct BlockLocation {
        /// The container.
        pub container_id: u64 = uint64 1,
        /// The block in it.
        pub local_id: u64 = uint64 2,
        /// Bytes of the block.
        pub length: u64 = uint64 3,
    }

    /// Something noted.
    pub struct KeyValue {
        /// What.
        pub key: String = string 1,
        /// Its value.
        pub value: String = string 2,
    }

    /// Keys whose blocks are to be removed.
    pub struct DeletedKeys {
        /// The keys.
        pub keys: Vec<KeyInfo> = repeated 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same message as `prost`'s own macro has it.
    #[derive(Clone, PartialEq, prost::Message)]
    struct Derived {
        #[prost(string, tag = "1")]
        volume: String,
        #[prost(string, tag = "2")]
        bucket: String,
        #[prost(string, tag = "3")]
        key: String,
        #[prost(uint64, tag = "4")]
        data_size: u64,
        #[prost(message, repeated, tag = "5")]
        blocks: Vec<BlockLocation>,
        #[prost(uint64, tag = "6")]
        creation_unix_millis: u64,
        #[prost(uint64, tag = "8")]
        object_id: u64,
        #[prost(message, repeated, tag = "11")]
        metadata: Vec<KeyValue>,
        #[prost(string, tag = "77")]
        later: String,
    }

    fn derived() -> Derived {
        let block = |local_id| BlockLocation { container_id: 1, local_id, length: u64::MAX };
        let note = KeyValue { key: "color".to_owned(), value: String::new() };
        Derived {
            volume: "v".to_owned(),
            bucket: String::new(),
            key: "a/b".to_owned(),
            data_size: 300,
            blocks: vec![block(0), block(9)],
            creation_unix_millis: 0,
            object_id: 77,
            metadata: vec![note],
            later: String::new(),
        }
    }

    #[test]
    fn messages_are_those_of_prosts_macro_byte_for_byte() {
        let bytes = derived().encode_to_vec();
        let info = KeyInfo::decode(&*bytes).unwrap();
        assert_eq!((info.volume.as_str(), info.data_size, info.blocks.len()), ("v", 300, 2));
        assert_eq!((info.object_id, &*info.metadata[0].key), (77, "color"));
        assert_eq!(info.encode_to_vec(), bytes);
        assert_eq!(info.encoded_len(), bytes.len());
        assert_eq!(KeyInfo::default().encode_to_vec(), b"");
        // A field of a later version is passed over.
        let later = Derived { later: "x".to_owned(), ..derived() };
        assert_eq!(KeyInfo::decode(&*later.encode_to_vec()).unwrap(), info);
        let mut cleared = info;
        cleared.clear();
        assert_eq!(cleared, KeyInfo::default());
    }

    #[test]
    fn a_torn_message_says_which_field_is_torn() {
        let bytes = derived().encode_to_vec();
        let errors = (1..bytes.len()).filter_map(|end| KeyInfo::decode(&bytes[..end]).err());
        let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
        assert!(errors.len() > bytes.len() / 2);
        assert!(errors.iter().any(|error| error.contains("KeyInfo.blocks")), "{errors:?}");
    }
}
