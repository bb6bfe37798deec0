use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::skiplist::{Cursor, NodeRef, SkipList};

/// The value of an entry of a memtable: a copy of its own if it is short, else in the memtable, which it keeps in memory.
///
/// As in a table's [`PinnedBytes`](crate::table::PinnedBytes), a short copy costs less than a reference that all readers
/// count in the same place.
#[derive(Clone)]
pub struct MemTableValue(Place);

#[derive(Clone)]
enum Place {
    Inline {
        len: u8,
        bytes: [u8; MemTableValue::INLINE_LEN_MAX],
    },
    /// A part of the value of the entry that the cursor stands on.
    Entry {
        entry: Cursor,
        start: u32,
        end: u32,
    },
}

/// What a memtable says about a key.
#[derive(Clone, Debug)]
pub enum PinnedVerdict {
    /// The key has, or before its operands had, this value.
    Base(MemTableValue),
    /// The key is, or before its operands was, absent.
    Absent,
    /// Older sources decide.
    Continue,
}

impl MemTableValue {
    /// Length up to which bytes are copied.
    pub const INLINE_LEN_MAX: usize = 40;

    /// The part `part` of the value of `node`, which is a node of `list`.
    #[inline]
    pub(super) fn new(list: &Arc<SkipList>, node: NodeRef<'_>, part: Range<usize>) -> Self {
        let value = &node.value()[part.clone()];
        if value.len() <= Self::INLINE_LEN_MAX {
            let mut bytes = [0; Self::INLINE_LEN_MAX];
            bytes[..value.len()].copy_from_slice(value);
            return Self(Place::Inline { len: value.len() as u8, bytes });
        }
        // Lengths of values have 32 bits.
        let (start, end) = (part.start as u32, part.end as u32);
        Self(Place::Entry { entry: Cursor::on(list, node), start, end })
    }
}

impl Deref for MemTableValue {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Place::Entry { entry, start, end } => {
                let value = entry.node().map_or(&[][..], |node| node.value());
                &value[*start as usize..*end as usize]
            }
        }
    }
}

impl fmt::Debug for MemTableValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
