//! The entries next to a key: floors and ceilings in a memtable.

use std::ops::Bound;

use super::order::{UserKeyOrder, with_order};
use super::skiplist::{NodeRef, SkipList};
use super::value::MemTableValue;
use super::{MemTable, split_packed};
use crate::error::Result;
use crate::key::{SeqNo, ValueType, pack};

/// An entry next to a key.
#[derive(Clone, Copy)]
pub(crate) struct MemTableNeighbor<'m> {
    memtable: &'m MemTable,
    node: NodeRef<'m>,
    pub(crate) user_key: &'m [u8],
    pub(crate) seqno: SeqNo,
    pub(crate) value_type: ValueType,
}

impl MemTableNeighbor<'_> {
    /// The value, to be kept.
    pub(crate) fn value(&self) -> MemTableValue {
        MemTableValue::new(&self.memtable.list, self.node, 0..self.node.value().len())
    }
}

impl MemTable {
    /// The newest visible entry of the greatest user key that has one, among those not behind `bound`.
    ///
    /// * `seqno`: entries up to it are visible. Range tombstones are not looked at.
    /// * Cost: two searches, and one more for each user key that has only newer entries.
    pub(crate) fn floor(
        &self,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
    ) -> Result<Option<MemTableNeighbor<'_>>> {
        let node = with_order!(&self.order, order => floor_in(&self.list, order, bound, seqno));
        node.map(|node| self.neighbor(node)).transpose()
    }

    /// The newest visible entry of the smallest user key that has one, among those not before `bound`.
    pub(crate) fn ceil(
        &self,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
    ) -> Result<Option<MemTableNeighbor<'_>>> {
        let node = with_order!(&self.order, order => ceil_in(&self.list, order, bound, seqno));
        node.map(|node| self.neighbor(node)).transpose()
    }

    fn neighbor<'m>(&'m self, node: NodeRef<'m>) -> Result<MemTableNeighbor<'m>> {
        let (user_key, packed) = node.split_key();
        let (seqno, value_type) = split_packed(packed)?;
        Ok(MemTableNeighbor { memtable: self, node, user_key, seqno, value_type })
    }
}

fn floor_in<'l, O: UserKeyOrder>(
    list: &'l SkipList,
    order: &O,
    bound: Bound<&[u8]>,
    seqno: SeqNo,
) -> Option<NodeRef<'l>> {
    let mut node = match bound {
        Bound::Included(user_key) => list.seek_before(order, user_key, 0)?,
        Bound::Excluded(user_key) => list.seek_before(order, user_key, u64::MAX)?,
        Bound::Unbounded => list.last_node()?,
    };
    loop {
        // It is the oldest of its user key.
        let (user_key, _) = node.split_key();
        let visible = list.seek(order, user_key, pack(seqno, ValueType::FOR_SEEK));
        if let Some(visible) = visible.filter(|node| has_key(order, *node, user_key)) {
            return Some(visible);
        }
        node = list.seek_before(order, user_key, u64::MAX)?;
    }
}

fn ceil_in<'l, O: UserKeyOrder>(
    list: &'l SkipList,
    order: &O,
    bound: Bound<&[u8]>,
    seqno: SeqNo,
) -> Option<NodeRef<'l>> {
    let mut node = match bound {
        Bound::Included(user_key) => {
            list.seek(order, user_key, pack(seqno, ValueType::FOR_SEEK))?
        }
        Bound::Excluded(user_key) => list.seek(order, user_key, 0)?,
        Bound::Unbounded => list.first_node()?,
    };
    loop {
        let (user_key, packed) = node.split_key();
        if SeqNo::from_packed(packed) <= seqno {
            return Some(node);
        }
        // Behind its newer entries.
        node = list.seek(order, user_key, pack(seqno, ValueType::FOR_SEEK))?;
    }
}

fn has_key<O: UserKeyOrder>(order: &O, node: NodeRef<'_>, user_key: &[u8]) -> bool {
    order.compare(node.split_key().0, user_key).is_eq()
}
