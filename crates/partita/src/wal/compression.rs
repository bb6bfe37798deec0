//! ZSTD streams: each record is a frame of its own.

use zstd_safe::{CCtx, DCtx, InBuffer, OutBuffer, ResetDirective};

use crate::error::{Error, Result};

/// What a compressed log's first record says; RocksDB knows no other.
pub(super) const ZSTD_CODE: u32 = 7;

/// Output is made room for in steps of this, so that memory grows with what is there and not with what is claimed.
const STEP_BYTES: usize = 64 * 1024;

/// A frame's memory is kept for the next one up to this length: one huge record must not cost memory for ever.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// Compresses records.
pub(super) struct Compressor {
    context: CCtx<'static>,
    frame: Vec<u8>,
}

impl Compressor {
    pub(super) fn new() -> Result<Self> {
        let context = CCtx::try_create().ok_or_else(|| failed("no memory for a context"))?;
        Ok(Self { context, frame: Vec::new() })
    }

    /// The frame of a record of these parts. Good until the next call.
    pub(super) fn compress(&mut self, parts: &[&[u8]]) -> Result<&[u8]> {
        self.frame.clear();
        self.frame.shrink_to(KEPT_BYTES);
        self.context.reset(ResetDirective::SessionOnly).map_err(failed_with)?;
        for part in parts {
            let mut input = InBuffer::around(part);
            while input.pos() < part.len() {
                self.frame.reserve(STEP_BYTES);
                let start = self.frame.len();
                let mut output = OutBuffer::around_pos(&mut self.frame, start);
                self.context.compress_stream(&mut output, &mut input).map_err(failed_with)?;
            }
        }
        loop {
            self.frame.reserve(STEP_BYTES);
            let start = self.frame.len();
            let mut output = OutBuffer::around_pos(&mut self.frame, start);
            if self.context.end_stream(&mut output).map_err(failed_with)? == 0 {
                return Ok(&self.frame);
            }
        }
    }
}

fn failed(what: &str) -> Error {
    Error::invalid_argument(format!("ZSTD compression of a log record: {what}"))
}

fn failed_with(code: zstd_safe::ErrorCode) -> Error {
    failed(zstd_safe::get_error_name(code))
}

/// Decompresses records, fragment by fragment.
pub(super) struct Decompressor {
    context: DCtx<'static>,
    /// Whether the frame has ended.
    whole: bool,
}

impl Decompressor {
    pub(super) fn new() -> Option<Self> {
        Some(Self { context: DCtx::try_create()?, whole: false })
    }

    /// Starts with another record.
    pub(super) fn start(&mut self) -> Result<(), &'static str> {
        self.whole = false;
        self.context.reset(ResetDirective::SessionOnly).map(drop).map_err(zstd_safe::get_error_name)
    }

    /// Appends what `fragment` stands for to `record`, which may get `most` bytes long.
    pub(super) fn add(
        &mut self,
        fragment: &[u8],
        record: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), &'static str> {
        let mut input = InBuffer::around(fragment);
        loop {
            if record.try_reserve(STEP_BYTES).is_err() {
                return Err("no memory for the record");
            }
            let start = record.len();
            let mut output = OutBuffer::around_pos(record, start);
            let hint = self.context.decompress_stream(&mut output, &mut input);
            self.whole = hint.map_err(zstd_safe::get_error_name)? == 0;
            if record.len() > most {
                return Err("the record is too long");
            }
            // Output that was not filled means that there is no more to come from this input.
            if input.pos() == fragment.len() && record.len() < record.capacity() {
                return Ok(());
            }
        }
    }

    /// Whether the record has ended with the fragments so far.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }
}
