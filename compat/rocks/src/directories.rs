//! Directories of databases.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// Copies a directory of files, as a kill at this moment would leave it.
///
/// * An engine that has it open may go on with its work: a copy counts if nothing changed while it was made.
///
/// # Panics
/// If that fails, or if there is no quiet moment in a long time; `to` must not exist.
pub fn copy(from: &Path, to: &Path) {
    const ATTEMPTS: usize = 5000;
    for _ in 0..ATTEMPTS {
        let before = listing(from).expect("the directory can be listed");
        fs::create_dir(to).expect("the copy can be made");
        let copied = before.keys().try_for_each(|name| {
            fs::copy(from.join(name), to.join(name))?;
            Ok::<_, io::Error>(())
        });
        if copied.is_ok() && listing(from).expect("the directory can be listed") == before {
            return;
        }
        fs::remove_dir_all(to).expect("the copy can be removed");
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{} is never quiet", from.display());
}

/// By name: length and time of the last change, where it matters.
fn listing(dir: &Path) -> io::Result<BTreeMap<OsString, Option<(u64, SystemTime)>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(data) => {
                let counts = !entry.file_name().to_string_lossy().starts_with("LOG");
                let state = counts.then_some((data.len(), data.modified()?));
                files.insert(entry.file_name(), state);
            }
            // It has gone in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}
