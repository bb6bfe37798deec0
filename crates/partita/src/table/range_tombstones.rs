//! Range deletion blocks: how a table stores its range tombstones.

use super::block::DataBlock;
use crate::error::{Error, Result};
use crate::iter::{RangeTombstone, RangeTombstones};
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};

impl RangeTombstones {
    /// Reads a range deletion block.
    ///
    /// * `global_seqno`: what entries with sequence number 0 have instead, in an ingested file.
    /// * Errors: `Corruption` if an entry is not a range tombstone.
    pub fn parse(block: &DataBlock, order: &KeyOrder, global_seqno: Option<SeqNo>) -> Result<Self> {
        let mut tombstones = Vec::new();
        block.for_each(|cursor| {
            let key = InternalKey::decode(cursor.key())?;
            if key.value_type != ValueType::RangeDeletion {
                return Err(Error::corruption(format!(
                    "entry of type {} among the range tombstones",
                    key.value_type
                )));
            }
            let seqno = match global_seqno {
                Some(global) if key.seqno == SeqNo::ZERO => global,
                _ => key.seqno,
            };
            let end = cursor.value(block).to_vec();
            tombstones.push(RangeTombstone { start: key.user_key.to_vec(), end, seqno });
            Ok(())
        })?;
        Ok(Self::new(tombstones, order))
    }
}
