//! The end of a file, read at once: what opening a table needs stands there, one after the other.
//!
//! ```text
//! | ... | properties | metaindex | footer |
//!       |<--- tail, mostly by far more -->|
//! ```

use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::io::RandomAccessFile;

/// Least bytes read: properties with what user code adds to them rarely take more.
const LEN_MIN: u64 = 8 * 1024;
/// Most bytes read.
const LEN_MAX: u64 = 64 * 1024;
/// The share of a file that is read. Large files have longer properties; of small ones 8 KiB is much already.
const SHARE: u64 = 1024;

/// A file whose end is in memory. What stands before it is read as from the file.
#[derive(Debug)]
pub(super) struct Tail {
    file: Arc<dyn RandomAccessFile>,
    start: u64,
    bytes: Vec<u8>,
}

impl Tail {
    /// Reads the end of a file.
    pub(super) fn read(file: Arc<dyn RandomAccessFile>) -> Result<Self> {
        let file_len = file.len();
        let len = (file_len / SHARE).clamp(LEN_MIN, LEN_MAX).min(file_len);
        let (start, mut bytes) = (file_len - len, vec![0; len as usize]);
        file.read_exact_at(start, &mut bytes)
            .map_err(|error| error.in_part("footer").at(start).with_len(len))?;
        Ok(Self { file, start, bytes })
    }

    fn in_memory(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(len)?)
    }
}

impl RandomAccessFile for Tail {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        match self.in_memory(offset, buf.len()) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.file.read_exact_at(offset, buf),
        }
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryFile;

    #[test]
    fn reads_on_both_sides_of_the_border_and_across_give_the_files_bytes() {
        for len in [0, 1, 8 << 10, (8 << 10) + 1, 100_000] {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let file = Tail::read(Arc::new(MemoryFile::new("x", bytes.clone()))).unwrap();
            assert_eq!(file.len(), len as u64);
            assert_eq!(file.bytes.len(), len.min(8 << 10));
            let border = len - file.bytes.len();
            for at in [0, border.saturating_sub(3), border, len.saturating_sub(5)] {
                for read in [0, 1, 3, 5, 8000] {
                    let mut buf = vec![0; read];
                    let expected = bytes.get(at..at + read);
                    let done = file.read_exact_at(at as u64, &mut buf);
                    assert_eq!(done.is_ok(), expected.is_some(), "{read} bytes at {at} of {len}");
                    assert_eq!(expected.unwrap_or(&buf), buf);
                }
            }
        }
    }
}
