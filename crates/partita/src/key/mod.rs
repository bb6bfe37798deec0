//! The vocabulary of every layer: user keys, sequence numbers, value types, internal keys and their order,
//! and what a lookup asks for.
//!
//! ```text
//! internal key:  user key bytes | packed u64 LE
//! packed:        seqno (56 bits) << 8 | value type (8 bits)
//! order:         user key ascending by the comparator, then packed descending (newest first)
//! ```

mod comparator;
mod excerpt;
mod internal_key;
mod key_hash;
mod lookup;
mod prefix;
mod seqno;
mod value_type;

pub use comparator::{BYTEWISE_NAME, Comparator, KeyOrder, REVERSE_BYTEWISE_NAME};
pub use excerpt::Excerpt;
pub(crate) use internal_key::user_key;
pub use internal_key::{InternalKey, PACKED_LEN, append_internal_key, pack};
pub use key_hash::KeyHash;
pub(crate) use key_hash::legacy_hash;
pub use lookup::LookupKey;
pub use prefix::{PrefixExtractor, PrefixTransform};
pub use seqno::SeqNo;
pub use value_type::ValueType;
