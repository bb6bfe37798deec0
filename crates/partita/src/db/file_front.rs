//! A file that somebody writes, read up to a mark.

use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::io::SequentialFile;
use crate::util::sync::atomic::{AtomicU64, Ordering};

/// The front of a file: as many bytes as may be read, which others may raise.
#[derive(Debug)]
pub(super) struct FileFront {
    file: Box<dyn SequentialFile>,
    read_bytes: u64,
    readable_bytes: Arc<AtomicU64>,
}

impl FileFront {
    pub(super) fn new(file: Box<dyn SequentialFile>, readable_bytes: Arc<AtomicU64>) -> Self {
        Self { file, read_bytes: 0, readable_bytes }
    }
}

impl SequentialFile for FileFront {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let left = self.readable_bytes.load(Ordering::Relaxed).saturating_sub(self.read_bytes);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        if most == 0 {
            return Ok(0);
        }
        let count = self.file.read(&mut buf[..most])?;
        self.read_bytes += count as u64;
        Ok(count)
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}
