use std::fmt;
use std::sync::Arc;

/// A caller's rule that takes a prefix out of a user key.
pub trait PrefixTransform: Send + Sync + fmt::Debug {
    /// The name stored in files.
    fn name(&self) -> &str;

    /// The prefix of `user_key`, or `None` if the key has none ("not in the domain").
    fn prefix<'k>(&self, user_key: &'k [u8]) -> Option<&'k [u8]>;
}

/// Takes the prefix out of a user key, for prefix filters and the hash index.
///
/// ```
/// use partita::key::PrefixExtractor;
///
/// let extractor = PrefixExtractor::Fixed(3);
/// assert_eq!(extractor.name(), "rocksdb.FixedPrefix.3");
/// assert_eq!(extractor.prefix(b"abcdef"), Some(&b"abc"[..]));
/// assert_eq!(extractor.prefix(b"ab"), None);
/// ```
#[derive(Clone, Debug)]
pub enum PrefixExtractor {
    /// The first `n` bytes; shorter keys have no prefix. `rocksdb.FixedPrefix.n`.
    Fixed(usize),
    /// The first `n` bytes, or all of a shorter key. `rocksdb.CappedPrefix.n`.
    Capped(usize),
    /// The whole key. `rocksdb.Noop`.
    Whole,
    /// The caller's.
    Custom(Arc<dyn PrefixTransform>),
}

impl PrefixExtractor {
    /// The built-in extractor that a file records under `name`, if it is one.
    pub fn builtin(name: &str) -> Option<Self> {
        if name == "rocksdb.Noop" {
            return Some(Self::Whole);
        }
        let number = |text: &str| -> Option<usize> {
            // RocksDB prints plain decimals; "+3" or "007" would not come back under the same name.
            let value: usize = text.parse().ok()?;
            (value.to_string() == text).then_some(value)
        };
        if let Some(len) = name.strip_prefix("rocksdb.FixedPrefix.") {
            return number(len).map(Self::Fixed);
        }
        name.strip_prefix("rocksdb.CappedPrefix.").and_then(number).map(Self::Capped)
    }

    /// The name stored in files.
    pub fn name(&self) -> String {
        match self {
            Self::Fixed(len) => format!("rocksdb.FixedPrefix.{len}"),
            Self::Capped(len) => format!("rocksdb.CappedPrefix.{len}"),
            Self::Whole => "rocksdb.Noop".to_owned(),
            Self::Custom(transform) => transform.name().to_owned(),
        }
    }

    /// The prefix of `user_key`, or `None` if the key has none.
    #[inline]
    pub fn prefix<'k>(&self, user_key: &'k [u8]) -> Option<&'k [u8]> {
        match self {
            Self::Fixed(len) => user_key.get(..*len),
            Self::Capped(len) => Some(&user_key[..user_key.len().min(*len)]),
            Self::Whole => Some(user_key),
            Self::Custom(transform) => transform.prefix(user_key),
        }
    }
}

impl PartialEq for PrefixExtractor {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_the_extractor() {
        for extractor in
            [PrefixExtractor::Fixed(0), PrefixExtractor::Fixed(12), PrefixExtractor::Capped(5)]
        {
            assert_eq!(PrefixExtractor::builtin(&extractor.name()), Some(extractor));
        }
        assert_eq!(PrefixExtractor::builtin("rocksdb.Noop"), Some(PrefixExtractor::Whole));
        for name in ["rocksdb.FixedPrefix.", "rocksdb.FixedPrefix.+1", "nullptr", "mine"] {
            assert!(PrefixExtractor::builtin(name).is_none(), "{name}");
        }
    }
}
