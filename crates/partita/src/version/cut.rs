use std::fmt;
use std::sync::Arc;

use super::{FileNumber, Version};
use crate::io::RandomAccessFile;

/// The files of a database at one moment, for whoever copies it.
///
/// Tables and blob files stay as long as this lives, since it holds the versions that name them. The manifest may be removed
/// meanwhile: it is open. Logs are up to who writes them.
pub struct Cut {
    /// The number of the manifest.
    pub manifest: FileNumber,
    /// How much of it there was.
    pub manifest_bytes: u64,
    /// The manifest, opened to be read.
    pub manifest_file: Arc<dyn RandomAccessFile>,
    /// The current version of each family.
    pub versions: Vec<Arc<Version>>,
    /// Logs with a smaller number are not needed.
    pub first_log: FileNumber,
}

impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cut")
            .field("manifest", &self.manifest)
            .field("manifest_bytes", &self.manifest_bytes)
            .field("first_log", &self.first_log)
            .finish_non_exhaustive()
    }
}
