use std::ops::Deref;
use std::sync::Arc;

use crate::version::TableFile;

/// Tables that a compaction has reserved; given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Claim(Vec<Arc<TableFile>>);

impl Claim {
    /// Reserves all tables, or none.
    pub(crate) fn all<'f>(files: impl IntoIterator<Item = &'f Arc<TableFile>>) -> Option<Self> {
        let mut claim = Self::default();
        for file in files {
            if !file.claim_for_compaction() {
                return None; // What was claimed so far is given back.
            }
            claim.0.push(Arc::clone(file));
        }
        Some(claim)
    }
}

impl Deref for Claim {
    type Target = [Arc<TableFile>];

    fn deref(&self) -> &[Arc<TableFile>] {
        &self.0
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        for file in &self.0 {
            file.release_from_compaction();
        }
    }
}
