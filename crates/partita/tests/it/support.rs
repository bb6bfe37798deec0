//! Files that watch or change under their reader.

use std::path::Path;
use std::sync::{Arc, Mutex};

use partita::Result;
use partita::io::{MemoryFile, RandomAccessFile};

/// A file that notes where it is read.
#[derive(Debug)]
pub(crate) struct Watched<F> {
    file: F,
    reads: Mutex<Vec<(u64, usize)>>,
}

impl<F: RandomAccessFile> Watched<F> {
    pub(crate) fn new(file: F) -> Arc<Self> {
        Arc::new(Self { file, reads: Mutex::default() })
    }

    /// Offsets and lengths of the reads since the last call.
    pub(crate) fn take_reads(&self) -> Vec<(u64, usize)> {
        std::mem::take(&mut self.reads.lock().unwrap())
    }
}

impl<F: RandomAccessFile> RandomAccessFile for Watched<F> {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.reads.lock().unwrap().push((offset, buf.len()));
        self.file.read_exact_at(offset, buf)
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// A file whose bytes go bad while it is open.
#[derive(Debug)]
pub(crate) struct Rotting {
    file: MemoryFile,
    flipped: Mutex<Option<u64>>,
}

impl Rotting {
    pub(crate) fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { file: MemoryFile::new("x.sst", bytes), flipped: Mutex::default() })
    }

    /// From now on the byte at `offset` reads wrong.
    pub(crate) fn flip(&self, offset: u64) {
        *self.flipped.lock().unwrap() = Some(offset);
    }
}

impl RandomAccessFile for Rotting {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(offset, buf)?;
        let at = self.flipped.lock().unwrap().and_then(|at| at.checked_sub(offset));
        if let Some(byte) = at.and_then(|at| buf.get_mut(at as usize)) {
            *byte ^= 1;
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}
