use std::fmt;

use flate2::{FlushCompress, Status};
use zstd_safe::{CCtx, CDict, CParameter};

use super::dictionary::lz4_history;
use super::lz4;
use super::{CompressionType, DEFAULT_LEVEL, Framing};
use crate::error::{Error, ErrorKind, Result};
use crate::util::coding::MAX_VARINT32_LEN;

/// RocksDB inflates with a window of 2^14 bytes, whatever the writer's options say.
const ZLIB_WINDOW_BITS: u8 = 14;

/// RocksDB's choice: the smallest block, since table blocks are small; greater ones only cost memory.
const BZIP2_LEVEL: u32 = 1;
const BZIP2_WORK_FACTOR: u32 = 30;

/// The level of zstd that RocksDB means by its default.
const ZSTD_LEVEL: i32 = 3;

/// Compresses the blocks of one file, keeping contexts and the output buffer from block to block.
///
/// Levels are RocksDB's: [`DEFAULT_LEVEL`] is the algorithm's own default. They act on zlib (0 to 9, default 6), LZ4HC
/// (1 to 12, default 9) and zstd (negative to 22, default 3); Snappy, LZ4 and bzip2 have one.
pub struct Compressor {
    kind: CompressionType,
    framing: Framing,
    engine: Engine,
    dictionary: Vec<u8>,
    output: Vec<u8>,
}

enum Engine {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Zlib(flate2::Compress),
    Bzip2,
    Lz4(lz4::Stream),
    Zstd { context: CCtx<'static>, digested: Option<CDict<'static>> },
}

impl Compressor {
    /// A compressor of blocks of this type.
    ///
    /// * `dictionary`: what the file's dictionary block holds; ignored by types that do not use one.
    /// * Errors: `InvalidArgument` if zstd refuses the dictionary; `Aborted` if there is no memory for a context.
    pub fn new(
        kind: CompressionType,
        level: i32,
        framing: Framing,
        dictionary: Option<&[u8]>,
    ) -> Result<Self> {
        let dictionary = dictionary.filter(|_| kind.uses_dictionary()).unwrap_or_default().to_vec();
        let engine = Engine::new(kind, level, &dictionary)?;
        Ok(Self { kind, framing, engine, dictionary, output: Vec::new() })
    }

    /// The type of the blocks made.
    pub fn kind(&self) -> CompressionType {
        self.kind
    }

    /// Compresses a block, with its framing. The result stays valid until the next call.
    ///
    /// * Errors: `InvalidArgument` if the block is longer than its framing can say (4 GiB).
    pub fn compress(&mut self, block: &[u8]) -> Result<&[u8]> {
        let len = u32::try_from(block.len())
            .map_err(|_| self.failed(format!("block of {} bytes is too long", block.len())))?;
        let room = MAX_VARINT32_LEN + 8 + self.engine.output_len_max(block.len());
        if self.output.len() < room {
            self.output.resize(room, 0);
        }
        let start = write_length(self.kind, self.framing, len, &mut self.output);
        loop {
            let written = self
                .engine
                .run(&self.dictionary, block, &mut self.output[start..])
                .map_err(|what| failed(self.kind, what))?;
            if let Some(written) = written {
                return Ok(&self.output[..start + written]);
            }
            // The bound on the output was too low, which only zlib's can be: once more with twice the room.
            let room = self.output.len() * 2;
            self.output.resize(room, 0);
        }
    }

    #[cold]
    fn failed(&self, what: impl fmt::Display) -> Error {
        failed(self.kind, what)
    }
}

#[cold]
fn failed(kind: CompressionType, what: impl fmt::Display) -> Error {
    Error::invalid_argument(format!("{} compression: {what}", kind.property_name()))
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Engine {
    fn new(kind: CompressionType, level: i32, dictionary: &[u8]) -> Result<Self> {
        let or = |default: i32| if level == DEFAULT_LEVEL { default } else { level };
        let no_memory = || Error::new(ErrorKind::Aborted, format!("no memory for {kind}"));
        Ok(match kind {
            CompressionType::None => Self::None,
            CompressionType::Snappy => Self::Snappy(Box::new(snap::raw::Encoder::new())),
            CompressionType::Zlib => {
                // zlib's own word for its default is -1.
                let level = if level == -1 { 6 } else { or(6).clamp(0, 9) };
                let level = flate2::Compression::new(level as u32);
                Self::Zlib(flate2::Compress::new_with_window_bits(level, false, ZLIB_WINDOW_BITS))
            }
            CompressionType::Bzip2 => Self::Bzip2,
            CompressionType::Lz4 => Self::Lz4(lz4::Stream::fast().ok_or_else(no_memory)?),
            CompressionType::Lz4hc => Self::Lz4(lz4::Stream::high(or(0)).ok_or_else(no_memory)?),
            CompressionType::Zstd => {
                let refused = |code| {
                    failed(kind, format!("level {level}: {}", zstd_safe::get_error_name(code)))
                };
                let mut context = CCtx::try_create().ok_or_else(no_memory)?;
                context
                    .set_parameter(CParameter::CompressionLevel(or(ZSTD_LEVEL)))
                    .map_err(refused)?;
                let digested = (!dictionary.is_empty())
                    .then(|| {
                        CDict::try_create(dictionary, or(ZSTD_LEVEL))
                            .ok_or_else(|| failed(kind, "the dictionary is refused"))
                    })
                    .transpose()?;
                Self::Zstd { context, digested }
            }
        })
    }

    /// Room that the compressed form of `len` bytes needs at most.
    fn output_len_max(&self, len: usize) -> usize {
        match self {
            Self::None => len,
            Self::Snappy(_) => snap::raw::max_compress_len(len),
            Self::Zlib(_) => len + len / 8 + len / 64 + 64,
            Self::Bzip2 => len + len / 100 + 600,
            Self::Lz4(_) => len + len / 255 + 16,
            Self::Zstd { .. } => zstd_safe::compress_bound(len),
        }
    }

    /// Compresses `block` into `output`; `Ok(None)` if there is not room enough.
    fn run(
        &mut self,
        dictionary: &[u8],
        block: &[u8],
        output: &mut [u8],
    ) -> Result<Option<usize>, String> {
        let written = match self {
            Self::None => {
                output[..block.len()].copy_from_slice(block);
                block.len()
            }
            Self::Snappy(encoder) => {
                encoder.compress(block, output).map_err(|error| error.to_string())?
            }
            Self::Zlib(context) => return deflate(context, dictionary, block, output),
            Self::Bzip2 => return bzip(block, output),
            Self::Lz4(stream) => {
                return Ok(stream.compress(lz4_history(dictionary), block, output));
            }
            Self::Zstd { context, digested } => match digested {
                Some(digested) => context.compress_using_cdict(output, block, digested),
                None => context.compress2(output, block),
            }
            .map_err(zstd_safe::get_error_name)?,
        };
        Ok(Some(written))
    }
}

/// Writes what stands before the compressed bytes and returns its length.
fn write_length(kind: CompressionType, framing: Framing, len: u32, output: &mut [u8]) -> usize {
    match (kind, framing) {
        (CompressionType::None | CompressionType::Snappy, _)
        | (CompressionType::Zlib | CompressionType::Bzip2, Framing::Legacy) => 0,
        (CompressionType::Lz4 | CompressionType::Lz4hc, Framing::Legacy) => {
            output[..8].copy_from_slice(&u64::from(len).to_le_bytes());
            8
        }
        _ => {
            let (mut rest, mut at) = (len, 0);
            while rest >= 0x80 {
                output[at] = rest as u8 | 0x80;
                rest >>= 7;
                at += 1;
            }
            output[at] = rest as u8;
            at + 1
        }
    }
}

fn deflate(
    context: &mut flate2::Compress,
    dictionary: &[u8],
    block: &[u8],
    output: &mut [u8],
) -> Result<Option<usize>, String> {
    context.reset();
    if !dictionary.is_empty() {
        context.set_dictionary(dictionary).map_err(|error| error.to_string())?;
    }
    let status = context
        .compress(block, output, FlushCompress::Finish)
        .map_err(|error| error.to_string())?;
    Ok((status == Status::StreamEnd).then(|| context.total_out() as usize))
}

fn bzip(block: &[u8], output: &mut [u8]) -> Result<Option<usize>, String> {
    let mut context = bzip2::Compress::new(bzip2::Compression::new(BZIP2_LEVEL), BZIP2_WORK_FACTOR);
    let mut consumed = 0;
    let mut produced = 0;
    loop {
        let status = context
            .compress(&block[consumed..], &mut output[produced..], bzip2::Action::Finish)
            .map_err(|error| error.to_string())?;
        let before = (consumed, produced);
        (consumed, produced) = (context.total_in() as usize, context.total_out() as usize);
        if status == bzip2::Status::StreamEnd {
            return Ok(Some(produced));
        }
        if (consumed, produced) == before {
            return Ok(None);
        }
    }
}
