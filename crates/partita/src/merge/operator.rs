use std::fmt;

use crate::error::Result;

/// A caller's rule that makes a value out of an older one and of operands written since.
///
/// It must give the same result for the same input on every run: reads and compactions apply it at any time, to all
/// operands at once or in steps. Its name is written into files and checked when a database is opened.
///
/// ```
/// use partita::merge::MergeOperator;
///
/// /// Counts how often a key was merged.
/// #[derive(Debug)]
/// struct Count;
///
/// impl MergeOperator for Count {
///     fn name(&self) -> &str {
///         "example.Count"
///     }
///
///     fn full_merge(
///         &self,
///         _user_key: &[u8],
///         base: Option<&[u8]>,
///         operands: &[&[u8]],
///         out: &mut Vec<u8>,
///     ) -> partita::Result<()> {
///         let before = base.and_then(|base| base.try_into().ok()).map_or(0, u64::from_be_bytes);
///         out.extend((before + operands.len() as u64).to_be_bytes());
///         Ok(())
///     }
/// }
///
/// let mut out = Vec::new();
/// Count.full_merge(b"key", None, &[b"", b""], &mut out)?;
/// assert_eq!(out, 2u64.to_be_bytes());
/// # Ok::<(), partita::Error>(())
/// ```
pub trait MergeOperator: Send + Sync + fmt::Debug {
    /// The name stored in files.
    fn name(&self) -> &str;

    /// Appends to `out` what `operands`, oldest first, make of `base`.
    ///
    /// * `base`: the value before, `None` if the key was absent. `operands` has at least one element.
    /// * `out`: empty when called.
    /// * Errors: `Corruption` if there is no result; the read or the compaction fails with it.
    fn full_merge(
        &self,
        user_key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()>;

    /// Appends to `out` one operand that has the effect of `older`, then `newer`. Returns whether there is one; `out` is
    /// looked at only then.
    fn partial_merge(
        &self,
        _user_key: &[u8],
        _older: &[u8],
        _newer: &[u8],
        _out: &mut Vec<u8>,
    ) -> bool {
        false
    }
}
