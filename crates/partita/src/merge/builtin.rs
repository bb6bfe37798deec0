//! RocksDB's merge operators, under the names that its files record.

use std::sync::Arc;

use super::MergeOperator;
use crate::error::Result;

/// The operator of this name or nickname, if RocksDB has it built in: `StringAppendOperator` (`stringappend`),
/// `StringAppendTESTOperator` (`stringappendtest`), `UInt64AddOperator` (`uint64add`), `MaxOperator` (`max`),
/// `BytesXOR` (`bytesxor`).
///
/// * `delimiter`: what string appenders put between operands; RocksDB's default is a comma.
///
/// ```
/// let operator = partita::merge::builtin("stringappend", b"|").unwrap();
/// assert_eq!(operator.name(), "StringAppendOperator");
///
/// let mut out = Vec::new();
/// operator.full_merge(b"key", Some(b"a"), &[b"b", b"c"], &mut out)?;
/// assert_eq!(out, b"a|b|c");
/// assert!(partita::merge::builtin("example.Count", b",").is_none());
/// # Ok::<(), partita::Error>(())
/// ```
pub fn builtin(name: &str, delimiter: &[u8]) -> Option<Arc<dyn MergeOperator>> {
    let delimiter = delimiter.to_vec();
    Some(match name {
        "StringAppendOperator" | "stringappend" => Arc::new(StringAppend::new(delimiter)),
        "StringAppendTESTOperator" | "stringappendtest" => Arc::new(StringAppend::test(delimiter)),
        "UInt64AddOperator" | "uint64add" => Arc::new(UInt64Add),
        "MaxOperator" | "max" => Arc::new(Max),
        "BytesXOR" | "bytesxor" => Arc::new(BytesXor),
        _ => return None,
    })
}

/// Puts operands behind the value, with a delimiter between: `StringAppendOperator`, `StringAppendTESTOperator`.
///
/// A value or operand that is empty is still set apart by a delimiter.
#[derive(Clone, Debug)]
pub struct StringAppend {
    delimiter: Vec<u8>,
    /// RocksDB's second implementation, which never merges operands with each other.
    is_test: bool,
}

impl StringAppend {
    /// `StringAppendOperator`.
    pub fn new(delimiter: impl Into<Vec<u8>>) -> Self {
        Self { delimiter: delimiter.into(), is_test: false }
    }

    /// `StringAppendTESTOperator`.
    pub fn test(delimiter: impl Into<Vec<u8>>) -> Self {
        Self { delimiter: delimiter.into(), is_test: true }
    }

    /// What stands between operands.
    pub fn delimiter(&self) -> &[u8] {
        &self.delimiter
    }
}

impl MergeOperator for StringAppend {
    fn name(&self) -> &str {
        if self.is_test { "StringAppendTESTOperator" } else { "StringAppendOperator" }
    }

    fn full_merge(
        &self,
        _user_key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for (at, piece) in base.iter().chain(operands).enumerate() {
            if at > 0 {
                out.extend_from_slice(&self.delimiter);
            }
            out.extend_from_slice(piece);
        }
        Ok(())
    }

    fn partial_merge(
        &self,
        _user_key: &[u8],
        older: &[u8],
        newer: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        out.extend_from_slice(older);
        out.extend_from_slice(&self.delimiter);
        out.extend_from_slice(newer);
        !self.is_test
    }
}

/// Adds little-endian integers of 8 bytes, modulo 2^64: `UInt64AddOperator`.
///
/// As in RocksDB, a value or operand of any other length counts as 0.
#[derive(Clone, Copy, Debug)]
pub struct UInt64Add;

impl UInt64Add {
    fn number(bytes: &[u8]) -> u64 {
        bytes.try_into().map_or(0, u64::from_le_bytes)
    }
}

impl MergeOperator for UInt64Add {
    fn name(&self) -> &str {
        "UInt64AddOperator"
    }

    fn full_merge(
        &self,
        _user_key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let numbers = base.iter().chain(operands).map(|bytes| Self::number(bytes));
        out.extend(numbers.fold(0, u64::wrapping_add).to_le_bytes());
        Ok(())
    }

    fn partial_merge(
        &self,
        _user_key: &[u8],
        older: &[u8],
        newer: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        out.extend(Self::number(older).wrapping_add(Self::number(newer)).to_le_bytes());
        true
    }
}

/// Keeps the greatest of value and operands, compared bytewise: `MaxOperator`.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl MergeOperator for Max {
    fn name(&self) -> &str {
        "MaxOperator"
    }

    fn full_merge(
        &self,
        _user_key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let greatest = base.iter().chain(operands).max().copied();
        out.extend_from_slice(greatest.unwrap_or_default());
        Ok(())
    }

    fn partial_merge(
        &self,
        _user_key: &[u8],
        older: &[u8],
        newer: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        out.extend_from_slice(older.max(newer));
        true
    }
}

/// Combines value and operands byte by byte with exclusive or; what is longer keeps its tail: `BytesXOR`.
#[derive(Clone, Copy, Debug)]
pub struct BytesXor;

impl BytesXor {
    fn apply(out: &mut Vec<u8>, bytes: &[u8]) {
        let shared = out.len().min(bytes.len());
        for (into, byte) in out.iter_mut().zip(bytes) {
            *into ^= byte;
        }
        out.extend_from_slice(&bytes[shared..]);
    }
}

impl MergeOperator for BytesXor {
    fn name(&self) -> &str {
        "BytesXOR"
    }

    fn full_merge(
        &self,
        _user_key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for bytes in base.iter().chain(operands) {
            Self::apply(out, bytes);
        }
        Ok(())
    }

    fn partial_merge(
        &self,
        _user_key: &[u8],
        older: &[u8],
        newer: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        out.extend_from_slice(older);
        Self::apply(out, newer);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 5] = [
        "StringAppendOperator",
        "StringAppendTESTOperator",
        "UInt64AddOperator",
        "MaxOperator",
        "BytesXOR",
    ];

    fn merged(name: &str, base: Option<&[u8]>, operands: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        builtin(name, b",").unwrap().full_merge(b"key", base, operands, &mut out).unwrap();
        out
    }

    #[test]
    fn empty_strings_are_set_apart_too() {
        for name in ["stringappend", "stringappendtest"] {
            assert_eq!(merged(name, None, &[b"", b"a", b""]), b",a,");
            assert_eq!(merged(name, Some(b""), &[b"a"]), b",a");
            assert_eq!(merged(name, None, &[b"a"]), b"a");
        }
    }

    #[test]
    fn numbers_of_a_wrong_length_count_as_zero() {
        let five = 5u64.to_le_bytes();
        assert_eq!(
            merged("uint64add", Some(b"1234567"), &[&five, b"", &five]),
            10u64.to_le_bytes()
        );
        assert_eq!(merged("uint64add", None, &[b"123456789"]), 0u64.to_le_bytes());
        let greatest = u64::MAX.to_le_bytes();
        assert_eq!(merged("uint64add", Some(&greatest), &[&five]), 4u64.to_le_bytes());
    }

    #[test]
    fn the_greatest_string_wins_and_longer_tails_stay() {
        assert_eq!(merged("max", Some(b"b"), &[b"ab", b"ba", b"a"]), b"ba");
        assert_eq!(merged("max", Some(b"z"), &[b"a"]), b"z");
        assert_eq!(merged("max", None, &[b""]), b"");
        assert_eq!(merged("bytesxor", Some(&[1, 2, 3]), &[&[1], &[0, 0, 1, 9]]), [0, 2, 2, 9]);
    }

    #[test]
    fn names_are_those_that_files_record() {
        for name in NAMES {
            assert_eq!(builtin(name, b",").unwrap().name(), name);
        }
        assert!(builtin("", b",").is_none());
    }

    proptest! {
        #[test]
        fn operands_may_be_merged_in_steps(
            base in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..10)),
            operands in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 7..9), 2..5),
            at in 0usize..4,
        ) {
            let at = at % (operands.len() - 1);
            let all: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
            for name in NAMES {
                let operator = builtin(name, b";").unwrap();
                let mut whole = Vec::new();
                operator.full_merge(b"", base.as_deref(), &all, &mut whole).unwrap();
                let mut step = Vec::new();
                if !operator.partial_merge(b"", all[at], all[at + 1], &mut step) {
                    prop_assert_eq!(name, "StringAppendTESTOperator");
                    continue;
                }
                let mut fewer = all.clone();
                fewer.splice(at..at + 2, [&step[..]]);
                let mut stepwise = Vec::new();
                operator.full_merge(b"", base.as_deref(), &fewer, &mut stepwise).unwrap();
                prop_assert_eq!(whole, stepwise, "{}", name);
            }
        }
    }
}
