use std::sync::Arc;

use super::job::KeyRange;
use super::picker::Compaction;
use crate::error::Result;
use crate::table::ReadContext;
use crate::version::TableCache;

/// Bytes of a part at least, unless an output file is smaller: below, another thread costs more than it saves.
const PART_BYTES_MIN: u64 = 8 << 20;

/// Pieces of one table that are told apart at most.
const PIECES_MAX: usize = 128;

/// Cuts a compaction's keys into at most `parts_max` ranges of about the same number of bytes, that together are all keys.
///
/// Every table is taken as equal pieces between keys of its index; the cuts are where pieces end.
pub(crate) fn split(
    compaction: &Compaction,
    tables: &Arc<TableCache>,
    parts_max: usize,
) -> Result<Vec<KeyRange>> {
    let total = compaction.input_bytes();
    let part_bytes = compaction.output_file_bytes.clamp(1, PART_BYTES_MIN);
    let parts = (total / part_bytes).clamp(1, parts_max.max(1) as u64);
    if parts == 1 {
        return Ok(vec![KeyRange::default()]);
    }
    let order = compaction.version.key_order();
    let ctx = &mut ReadContext::default();
    // Where pieces end, and their bytes.
    let mut ends: Vec<(Vec<u8>, u64)> = Vec::new();
    for (level, file) in compaction.files() {
        let table = tables.get(file, level, ctx)?;
        let borders = table.borders(PIECES_MAX, ctx)?;
        let bytes = file.file_bytes / (borders.len() as u64 + 1);
        ends.extend(borders.iter().map(|key| (key.to_vec(), bytes)));
        ends.push((file.largest_user_key().to_vec(), bytes));
    }
    ends.sort_by(|a, b| order.compare(&a.0, &b.0));
    let mut cuts: Vec<Vec<u8>> = Vec::new();
    let mut before = 0;
    for (key, bytes) in ends {
        before += bytes;
        let next = cuts.len() as u64 + 1;
        let is_new = cuts.last().is_none_or(|last| order.compare(last, &key).is_lt());
        if next < parts && before >= total / parts * next && is_new {
            cuts.push(key);
        }
    }
    let edges = || cuts.iter().cloned().map(Some);
    let starts = std::iter::once(None).chain(edges());
    let ends = edges().chain(std::iter::once(None));
    Ok(starts.zip(ends).map(|(from, to)| KeyRange { from, to }).collect())
}
