use std::sync::Arc;

use crate::error::Result;
use crate::iter::TruncatedTombstones;
use crate::table::{ReadContext, TableReader};
use crate::version::TableFile;

/// The range tombstones of an open file, as far as they count in it; `None` if it has none.
pub(super) fn tombstones_of(
    file: &TableFile,
    table: &TableReader,
    ctx: &mut ReadContext,
) -> Result<Option<TruncatedTombstones>> {
    if !table.has_range_tombstones() {
        return Ok(None);
    }
    let set = Arc::clone(table.range_tombstones(ctx)?);
    TruncatedTombstones::in_file(set, &file.smallest, &file.largest).map(Some)
}
