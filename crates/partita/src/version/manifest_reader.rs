use std::path::{Path, PathBuf};

use super::current::{missing_manifest, read_current};
use super::{FileName, FileNumber, VersionEdit};
use crate::error::Result;
use crate::io::{FileSystem, SequentialFile};
use crate::options::WalRecoveryMode;
use crate::wal::{LogReader, LogReaderOptions, LogRecord};

/// How often CURRENT is read again because the manifest that it named was replaced meanwhile by another process.
const TRIES: u32 = 10;

/// Reads a manifest, edit by edit.
///
/// A record that the file ends in was never acknowledged, and is left out. Other damage is an error.
#[derive(Debug)]
pub struct ManifestReader {
    log: LogReader,
    path: PathBuf,
}

/// An edit with its place in the manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestEdit {
    /// Where its record starts.
    pub offset: u64,
    /// Bytes of its record.
    pub record_bytes: usize,
    /// What it says.
    pub edit: VersionEdit,
}

impl ManifestReader {
    /// Opens the manifest that CURRENT names, and gives its number.
    ///
    /// A process that writes may replace CURRENT and remove the old manifest at any time; then the new one is taken.
    ///
    /// * Errors: as [`read_current`]; `Corruption` that says what to do if the manifest is missing.
    pub fn open_current(fs: &dyn FileSystem, dir: &Path) -> Result<(FileNumber, Self)> {
        let mut number = read_current(fs, dir)?;
        for _ in 0..TRIES {
            match fs.open_sequential(&FileName::Manifest(number).in_dir(dir)) {
                Ok(file) => return Ok((number, Self::new(file))),
                Err(error) if error.is_not_found() => {
                    let again = read_current(fs, dir)?;
                    if again == number {
                        break;
                    }
                    number = again;
                }
                Err(error) => return Err(error),
            }
        }
        Err(missing_manifest(fs, dir, number))
    }

    /// Reads a manifest from its start.
    pub fn new(file: Box<dyn SequentialFile>) -> Self {
        let path = file.path().to_owned();
        let mode = WalRecoveryMode::TolerateCorruptedTailRecords;
        let options = LogReaderOptions { mode, log_number: None, ..LogReaderOptions::default() };
        Self { log: LogReader::new(file, options), path }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the manifest has grown.
    pub(crate) fn read_on(&mut self) -> Result<()> {
        self.log.read_on()
    }

    /// Where the record read last ends.
    pub(crate) fn end_offset(&self) -> u64 {
        self.log.end_offset()
    }

    /// The next record as it stands in the file; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<LogRecord<'_>>> {
        self.log.read_record()
    }

    /// The next edit; `None` at the end.
    ///
    /// * Errors: `Corruption` for damage, `NotSupported` for a field that must not be skipped and is not known; with file
    ///   and offset.
    pub fn next_edit(&mut self) -> Result<Option<ManifestEdit>> {
        let Some(LogRecord { payload, offset }) = self.log.read_record()? else { return Ok(None) };
        let edit =
            VersionEdit::decode(payload).map_err(|error| error.at(offset).in_file(&self.path))?;
        Ok(Some(ManifestEdit { offset, record_bytes: payload.len(), edit }))
    }
}
