//! The remedy where the database stands.

use std::path::Path;
use std::sync::Arc;

use partita::Result;
use partita::db::DbBuilder;
use partita::io::FileSystem;

use crate::fix::remedy::{builder, cache, fixed, options_with_remedy, rewrite};
use crate::fix::{Fixed, OnProgress};

pub(super) fn rewrite_in_place(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    checkpoint: &Path,
    on_progress: &mut OnProgress<'_>,
) -> Result<Fixed> {
    let options = options_with_remedy(&**fs, dir)?;
    // With its own options first, so that the checkpoint has them.
    let db = DbBuilder::new(dir).file_system(Arc::clone(fs)).cache(cache()).open()?;
    db.checkpoint(checkpoint)?;
    let families: Vec<String> = db.families().iter().map(|one| one.name().to_owned()).collect();
    db.close()?;
    drop(db);
    let db = builder(dir, &options, &families).file_system(Arc::clone(fs)).open()?;
    on_progress("", 0);
    rewrite(&db)?;
    let fixed = Fixed { checkpoint: Some(checkpoint.to_owned()), ..fixed(&db, dir) };
    db.close()?;
    Ok(fixed)
}
