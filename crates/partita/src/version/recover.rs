//! Reading the state that CURRENT and its manifest describe. Nothing is written.

use std::path::Path;

use super::replay::{Expectations, Replay, Replayed};
use super::{FileName, FileNumber, ManifestReader};
use crate::error::Result;
use crate::io::FileSystem;

/// The number of the manifest in force, and the state that it describes.
pub(super) fn recover(
    fs: &dyn FileSystem,
    dir: &Path,
    expect: &Expectations,
) -> Result<(FileNumber, Replayed)> {
    let (number, mut reader) = ManifestReader::open_current(fs, dir)?;
    let mut replay = Replay::new(expect.clone());
    while let Some(found) = reader.next_edit()? {
        replay.record(found.edit).map_err(|error| error.at(found.offset).in_file(reader.path()))?;
    }
    let replayed = replay.finish().map_err(|error| error.in_file(reader.path()))?;
    Ok((number, replayed))
}

/// The greatest number that a file in the directory has: of those that a crash left behind, too. Numbers that no database
/// gets to are passed over.
pub(super) fn greatest_number(fs: &dyn FileSystem, dir: &Path) -> Result<FileNumber> {
    let names = fs.list(dir)?;
    let numbers = names.iter().filter_map(|name| FileName::parse(name)?.number());
    Ok(numbers.filter(|number| *number < FileNumber::TOO_GREAT).max().unwrap_or_default())
}
