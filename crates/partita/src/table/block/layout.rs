use crate::error::{Error, Result};

const COUNT_MASK: u32 = (1 << 28) - 1;
const SEPARATED_VALUES: u32 = 1 << 28;
const RESERVED: u32 = 1 << 30;
const HASH_INDEX: u32 = 1 << 31;

/// Where the parts of a block's contents stand, read from its end.
///
/// Bit 29 of the last word is a hint about the keys for writers' and readers' search; it changes no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Where the entries end; with separated values, where the keys end and the values start.
    pub(super) keys_end: usize,
    /// Where the entries and values end and the restart array starts.
    pub(super) restarts_at: usize,
    /// Number of restart points; 0 in an empty block.
    pub(super) restart_count: usize,
    /// Whether values stand apart, behind all keys.
    pub(super) separated_values: bool,
    /// Whether a hash index from user keys to restart points is there. It is not needed for anything.
    pub(super) hash_index: bool,
}

impl Layout {
    /// The layout of an index block, which cannot have what only data blocks have.
    pub(super) fn parse_index(contents: &[u8]) -> Result<Self> {
        let layout = Self::parse(contents)?;
        if layout.separated_values || layout.hash_index {
            return Err(Error::corruption("index block in a layout that only data blocks have"));
        }
        Ok(layout)
    }

    pub(super) fn parse(contents: &[u8]) -> Result<Self> {
        let Some((rest, word)) = contents.split_last_chunk::<4>() else {
            return Err(Error::corruption("block is shorter than its last word"));
        };
        let word = u32::from_le_bytes(*word);
        if word & RESERVED != 0 {
            return Err(Error::not_supported(format!(
                "block uses a feature of a later version (last word {word:#010x}, bit 30)"
            )));
        }
        let separated_values = word & SEPARATED_VALUES != 0;
        let (rest, values_at) = take_values_offset(rest, separated_values)?;
        let hash_index = word & HASH_INDEX != 0;
        let rest = drop_hash_index(rest, hash_index)?;

        let restart_count = (word & COUNT_MASK) as usize;
        let Some(restarts_at) = rest.len().checked_sub(restart_count * 4) else {
            return Err(Error::corruption(format!(
                "block of {} bytes has no room for {restart_count} restart points",
                contents.len()
            )));
        };
        let keys_end = values_at.unwrap_or(restarts_at);
        if keys_end > restarts_at {
            return Err(Error::corruption(format!(
                "values start at {keys_end:#x}, behind the restart array at {restarts_at:#x}"
            )));
        }
        if keys_end > 0 && restart_count == 0 {
            return Err(Error::corruption("block has entries but no restart points"));
        }
        let restart_count = if keys_end == 0 { 0 } else { restart_count };
        Ok(Self { keys_end, restarts_at, restart_count, separated_values, hash_index })
    }
}

fn take_values_offset(rest: &[u8], separated: bool) -> Result<(&[u8], Option<usize>)> {
    if !separated {
        return Ok((rest, None));
    }
    match rest.split_last_chunk::<4>() {
        Some((rest, offset)) => Ok((rest, Some(u32::from_le_bytes(*offset) as usize))),
        None => Err(Error::corruption("block ends before the offset of its values")),
    }
}

fn drop_hash_index(rest: &[u8], present: bool) -> Result<&[u8]> {
    if !present {
        return Ok(rest);
    }
    let found = rest.split_last_chunk::<2>().and_then(|(rest, count)| {
        let buckets = usize::from(u16::from_le_bytes(*count));
        rest.get(..rest.len().checked_sub(buckets)?)
    });
    found.ok_or_else(|| Error::corruption("block ends before the buckets of its hash index"))
}
