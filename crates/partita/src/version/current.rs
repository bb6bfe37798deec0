//! CURRENT, the file that names the manifest in force.
//!
//! ```text
//! MANIFEST-000005\n
//! ```
//!
//! It is replaced in one step, so that a crash leaves the old name or the new one: a temporary file is written, synced
//! and renamed, and then the directory is synced.

use std::path::Path;

use super::{FileName, FileNumber};
use crate::error::{Error, Result};
use crate::io::{self, FileSystem};

/// Whether the directory holds a database: whether it has a CURRENT.
pub fn database_exists(fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
    fs.exists(&FileName::Current.in_dir(dir))
}

/// The number of the manifest that CURRENT names.
///
/// * Errors: `Corruption` that says what to do, if there is no such file and there should be, or if it names no manifest.
///   `InvalidArgument` if the directory does not look like a database.
pub fn read_current(fs: &dyn FileSystem, dir: &Path) -> Result<FileNumber> {
    let path = FileName::Current.in_dir(dir);
    let bytes = match fs.read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Err(missing(fs, dir).in_file(path)),
        Err(error) => return Err(error),
    };
    parse(&bytes).ok_or_else(|| {
        let found = match &*bytes {
            [] => "it is empty".to_owned(),
            bytes => {
                let shown = bytes.get(..64).unwrap_or(bytes);
                format!("found \"{}\"", shown.escape_ascii())
            }
        };
        let advice = advice(fs, dir);
        Error::corruption(format!(
            "expected the name of a manifest and a line feed, {found}; {advice}"
        ))
        .in_file(&path)
    })
}

fn parse(bytes: &[u8]) -> Option<FileNumber> {
    let name = str::from_utf8(bytes.strip_suffix(b"\n")?).ok()?;
    match FileName::parse(name.as_ref())? {
        FileName::Manifest(number) => Some(number),
        _ => None,
    }
}

#[cold]
fn missing(fs: &dyn FileSystem, dir: &Path) -> Error {
    if newest_manifest(fs, dir).is_none() {
        return Error::invalid_argument(
            "there is none, and no manifest: this directory holds no database",
        );
    }
    Error::corruption(format!("the file is missing; {}", advice(fs, dir)))
}

/// What to do about a CURRENT of no use.
fn advice(fs: &dyn FileSystem, dir: &Path) -> String {
    match newest_manifest(fs, dir) {
        Some(number) => format!(
            "on a copy of the directory, write \"{}\" and a line feed into it: it is the newest manifest there",
            FileName::Manifest(number)
        ),
        None => "no manifest is there either: restore the database from a backup".to_owned(),
    }
}

fn newest_manifest(fs: &dyn FileSystem, dir: &Path) -> Option<FileNumber> {
    let names = fs.list(dir).ok()?;
    let manifests = names.iter().filter_map(|name| match FileName::parse(name) {
        Some(FileName::Manifest(number)) => Some(number),
        _ => None,
    });
    manifests.max()
}

/// The manifest that CURRENT names, missing from the directory.
#[cold]
pub(super) fn missing_manifest(fs: &dyn FileSystem, dir: &Path, number: FileNumber) -> Error {
    let message = format!("CURRENT names it, and it is missing; {}", advice(fs, dir));
    Error::corruption(message).in_file(FileName::Manifest(number).in_dir(dir))
}

/// Makes CURRENT name the manifest `number`. On return that survives a power cut; after an error either name may stand
/// there.
pub(super) fn set_current(fs: &dyn FileSystem, dir: &Path, number: FileNumber) -> Result<()> {
    let text = format!("{}\n", FileName::Manifest(number));
    replace_file(fs, dir, number, FileName::Current, text.as_bytes())
}

/// Replaces a small file in one step, by way of the temporary file `number`.
pub(super) fn replace_file(
    fs: &dyn FileSystem,
    dir: &Path,
    number: FileNumber,
    name: FileName,
    bytes: &[u8],
) -> Result<()> {
    io::replace_file(fs, dir, &FileName::Temporary(number).to_string(), &name.to_string(), bytes)
}
