use std::path::Path;
use std::sync::Arc;

use super::CallKind;
use super::plan::Plan;
use crate::error::Result;
use crate::io::{RandomAccessFile, SequentialFile, WritableFile};

#[derive(Debug)]
pub(super) struct FaultFile {
    pub(super) plan: Arc<Plan>,
    pub(super) file: Arc<dyn RandomAccessFile>,
}

impl RandomAccessFile for FaultFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let read = |buf: &mut [u8]| {
            self.file.read_exact_at(offset, buf)?;
            Ok(buf.len())
        };
        self.plan.read(CallKind::ReadAt, self.file.path(), buf, read).map(drop)
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[derive(Debug)]
pub(super) struct FaultReader {
    pub(super) plan: Arc<Plan>,
    pub(super) file: Box<dyn SequentialFile>,
}

impl SequentialFile for FaultReader {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let path = self.file.path().to_owned();
        self.plan.read(CallKind::ReadNext, &path, buf, |buf| self.file.read(buf))
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[derive(Debug)]
pub(super) struct FaultWriter {
    pub(super) plan: Arc<Plan>,
    pub(super) file: Box<dyn WritableFile>,
}

impl WritableFile for FaultWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.file.path().to_owned();
        self.plan.write(&path, bytes, |bytes| self.file.append(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        let path = self.file.path().to_owned();
        self.plan.run(CallKind::Flush, &path, || self.file.flush())
    }

    fn sync(&mut self) -> Result<()> {
        let path = self.file.path().to_owned();
        self.plan.run(CallKind::Sync, &path, || self.file.sync())
    }

    fn truncate_rest(&mut self) -> Result<()> {
        let path = self.file.path().to_owned();
        self.plan.run(CallKind::TruncateRest, &path, || self.file.truncate_rest())
    }

    fn offset(&self) -> u64 {
        self.file.offset()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}
