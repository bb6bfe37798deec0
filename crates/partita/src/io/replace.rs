use std::path::Path;

use super::FileSystem;
use crate::error::Result;

/// Gives a small file its contents in one step: they are written under another name, synced and renamed, and then the
/// directory is synced. A power cut at any moment leaves the old file or the new one, whole.
///
/// * `temporary`, `name`: names in `dir`.
/// * Errors: `Io`, `NoSpace`. Unless it was the directory's sync that failed, the old file stands. What is left under the
///   temporary name, should it not be removable either, is the caller's to find.
pub(crate) fn replace_file(
    fs: &dyn FileSystem,
    dir: &Path,
    temporary: &str,
    name: &str,
    contents: &[u8],
) -> Result<()> {
    let temporary = dir.join(temporary);
    let write = || {
        let mut file = fs.create(&temporary)?;
        file.append(contents)?;
        file.sync()?;
        drop(file);
        fs.rename(&temporary, &dir.join(name))
    };
    if let Err(error) = write() {
        // The error says more than a failure to remove what is in nobody's way.
        let _ = fs.remove(&temporary);
        return Err(error);
    }
    fs.sync_dir(dir)
}
