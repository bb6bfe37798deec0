use std::cell::RefCell;
use std::fmt;

use flate2::{FlushDecompress, Status};
use zstd_safe::DCtx;

use super::{CompressionType, Dictionary, lz4};
use crate::error::{Error, ErrorKind, Result};
use crate::util::coding::Cursor;

/// How the decompressed length is stored before the compressed bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Format versions 0 and 1: a fixed 8 bytes for LZ4, nothing for zlib and bzip2.
    Legacy,
    /// Format version 2 and later: a varint.
    #[default]
    Varint,
}

impl Framing {
    /// The framing in tables of this format version.
    pub const fn of_format_version(version: u32) -> Self {
        if version < 2 { Self::Legacy } else { Self::Varint }
    }
}

/// Most bytes that one stored byte can become.
///
/// * Snappy: a copy of 64 bytes takes 3. LZ4: each further length byte stands for 255.
/// * zlib: a match of 258 bytes takes at least 2 bits (one for the length, one for the distance).
/// * zstd: a run-length block of 128 KiB takes 4 bytes.
/// * bzip2: a block of level 9 holds 900,000 bytes after run-length coding, which turns 259 bytes into 5, and takes at
///   least 20 bytes: so much that memory is taken only as output appears.
const fn expansion_max(kind: CompressionType) -> u64 {
    match kind {
        CompressionType::None => 1,
        CompressionType::Snappy => 22,
        CompressionType::Lz4 | CompressionType::Lz4hc => 255,
        CompressionType::Zlib => 1032,
        CompressionType::Zstd => 32 * 1024,
        CompressionType::Bzip2 => 900_000 * 259 / 5 / 20,
    }
}

/// First output buffer where nothing tells the length beforehand.
const GROWING_OUTPUT_START: usize = 16 * 1024;

/// Decompresses a block.
///
/// * `dictionary`: the file's dictionary, if it has one; ignored by types that do not use one.
/// * `stored`: the block without its trailer.
/// * `max_len`: most bytes that the caller is ready to hold.
/// * Errors: `Corruption` if the input claims more than `max_len` or more than it can expand to (both before memory is
///   taken), if it is damaged, or if it yields another length than it claims; `Aborted` if there is no memory for it.
///
/// ```
/// use partita::util::compression::{CompressionType, Compressor, Framing, decompress};
///
/// let block = [7u8; 4096];
/// let mut compressor = Compressor::new(CompressionType::Lz4, 32767, Framing::Varint, None).unwrap();
/// let stored = compressor.compress(&block).unwrap();
/// assert!(stored.len() < 100);
/// assert_eq!(decompress(CompressionType::Lz4, Framing::Varint, None, stored, 4096).unwrap(), block);
/// assert!(decompress(CompressionType::Lz4, Framing::Varint, None, stored, 4095).is_err());
/// ```
pub fn decompress(
    kind: CompressionType,
    framing: Framing,
    dictionary: Option<&Dictionary>,
    stored: &[u8],
    max_len: usize,
) -> Result<Vec<u8>> {
    let (claimed, input) = split_claim(kind, framing, stored)?;
    let possible = (input.len() as u64).saturating_mul(expansion_max(kind));
    let Some(claimed) = claimed else {
        let most = usize::try_from(possible).unwrap_or(usize::MAX).min(max_len);
        return decompress_unclaimed(kind, dictionary, input, most);
    };
    if claimed > max_len as u64 {
        return Err(damaged(kind, format!("claims {claimed} bytes, more than {max_len} allowed")));
    }
    if claimed > possible {
        let stored = input.len();
        return Err(damaged(
            kind,
            format!("claims {claimed} bytes, {stored} stored cannot be so many"),
        ));
    }
    let len = claimed as usize;
    let output = match kind {
        CompressionType::None => input.to_vec(),
        CompressionType::Snappy => snappy(input, len)?,
        CompressionType::Lz4 | CompressionType::Lz4hc => lz4(kind, dictionary, input, len)?,
        CompressionType::Zstd => zstd(dictionary, input, len)?,
        CompressionType::Zlib => inflate(dictionary, input, room_for(kind, len)?, len)?,
        CompressionType::Bzip2 => bunzip(input, len)?,
    };
    if output.len() != len {
        return Err(damaged(kind, format!("claims {len} bytes, yields {}", output.len())));
    }
    Ok(output)
}

/// The decompressed length that a compressed block claims, if its framing has one.
///
/// * `kind`: any but [`CompressionType::None`], whose length is that of the block.
/// * `start`: its first bytes; 10 are always enough.
pub fn claimed_len(kind: CompressionType, framing: Framing, start: &[u8]) -> Option<u64> {
    split_claim(kind, framing, start).ok()?.0
}

/// The length that the input claims, if its framing has one, and the compressed bytes.
fn split_claim(
    kind: CompressionType,
    framing: Framing,
    stored: &[u8],
) -> Result<(Option<u64>, &[u8])> {
    let mut cursor = Cursor::new(stored);
    let claimed = match (kind, framing) {
        (CompressionType::None, _) => return Ok((Some(stored.len() as u64), stored)),
        (CompressionType::Snappy, _) => {
            let len = snap::raw::decompress_len(stored).map_err(|error| damaged(kind, error))?;
            return Ok((Some(len as u64), stored));
        }
        (CompressionType::Zlib | CompressionType::Bzip2, Framing::Legacy) => {
            return Ok((None, stored));
        }
        (CompressionType::Lz4 | CompressionType::Lz4hc, Framing::Legacy) => cursor.fixed64(),
        _ => cursor.varint64(),
    };
    match claimed {
        Some(_) => Ok((claimed, cursor.rest())),
        None => Err(damaged(kind, "ends within its length")),
    }
}

/// Decompresses until the stream ends, for the framing that does not tell the length.
fn decompress_unclaimed(
    kind: CompressionType,
    dictionary: Option<&Dictionary>,
    input: &[u8],
    most: usize,
) -> Result<Vec<u8>> {
    if kind == CompressionType::Bzip2 {
        return bunzip(input, most);
    }
    inflate(dictionary, input, Vec::with_capacity(GROWING_OUTPUT_START.min(most)), most)
}

fn snappy(input: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut output = room_for(CompressionType::Snappy, len)?;
    output.resize(len, 0);
    snap::raw::Decoder::new()
        .decompress(input, &mut output)
        .map_err(|error| damaged(CompressionType::Snappy, error))?;
    Ok(output)
}

fn lz4(
    kind: CompressionType,
    dictionary: Option<&Dictionary>,
    input: &[u8],
    len: usize,
) -> Result<Vec<u8>> {
    let history = dictionary.map(Dictionary::lz4_history).unwrap_or_default();
    let output = room_for(kind, len)?;
    lz4::decompress(input, history, output, len)
        .ok_or_else(|| damaged(kind, format!("is no block of {len} bytes")))
}

thread_local! {
    /// Contexts of some tens of KiB, whose set-up would cost as much as decompressing a small block.
    static ZSTD_CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    static INFLATE_CONTEXT: RefCell<Option<flate2::Decompress>> = const { RefCell::new(None) };
}

fn zstd(dictionary: Option<&Dictionary>, input: &[u8], len: usize) -> Result<Vec<u8>> {
    let digested = dictionary.map(Dictionary::zstd).transpose()?;
    let mut context = match ZSTD_CONTEXT.take() {
        Some(context) => context,
        None => DCtx::try_create()
            .ok_or_else(|| damaged(CompressionType::Zstd, "no memory for a context"))?,
    };
    let mut output = room_for(CompressionType::Zstd, len)?;
    match digested {
        Some(digested) => context.decompress_using_ddict(&mut output, input, digested),
        None => context.decompress(&mut output, input),
    }
    .map_err(|code| damaged(CompressionType::Zstd, zstd_safe::get_error_name(code)))?;
    // Kept only after success: a failed context may hold anything.
    ZSTD_CONTEXT.set(Some(context));
    Ok(output)
}

/// Inflates a raw stream into `output`, which may grow to `most` bytes.
fn inflate(
    dictionary: Option<&Dictionary>,
    input: &[u8],
    mut output: Vec<u8>,
    most: usize,
) -> Result<Vec<u8>> {
    let failed = |error: flate2::DecompressError| damaged(CompressionType::Zlib, error);
    // The full window of 2^15 takes what any writer produced.
    let mut context = match INFLATE_CONTEXT.take() {
        Some(mut context) => {
            context.reset(false);
            context
        }
        None => flate2::Decompress::new(false),
    };
    if let Some(dictionary) = dictionary {
        context.set_dictionary(dictionary.as_bytes()).map_err(failed)?;
    }
    loop {
        let (consumed, produced) = (context.total_in(), context.total_out());
        let rest = input.get(consumed as usize..).unwrap_or_default();
        let status =
            context.decompress_vec(rest, &mut output, FlushDecompress::Finish).map_err(failed)?;
        if status == Status::StreamEnd {
            INFLATE_CONTEXT.set(Some(context));
            return Ok(output);
        }
        let stuck = context.total_in() == consumed && context.total_out() == produced;
        if output.len() == output.capacity() {
            grow(CompressionType::Zlib, &mut output, most)?;
        } else if stuck {
            return Err(damaged(CompressionType::Zlib, "the stream has no end"));
        }
    }
}

/// Decompresses a bzip2 stream; memory is taken as output appears, up to `most` bytes.
fn bunzip(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let kind = CompressionType::Bzip2;
    let mut context = bzip2::Decompress::new(false);
    let mut output = Vec::with_capacity(GROWING_OUTPUT_START.min(most));
    loop {
        let (consumed, produced) = (context.total_in(), context.total_out());
        let rest = input.get(consumed as usize..).unwrap_or_default();
        let status =
            context.decompress_vec(rest, &mut output).map_err(|error| damaged(kind, error))?;
        match status {
            bzip2::Status::StreamEnd => return Ok(output),
            bzip2::Status::MemNeeded => return Err(damaged(kind, "no memory for a context")),
            _ => {}
        }
        let stuck = context.total_in() == consumed && context.total_out() == produced;
        if stuck && output.len() < output.capacity() {
            return Err(damaged(kind, "the stream has no end"));
        }
        // At the claimed length the output is full but the stream's own checksum is still to be read, so a stream
        // that is not stuck gets another turn without more room.
        let may_grow = output.len() == output.capacity() && output.len() < most;
        if stuck || may_grow {
            grow(kind, &mut output, most)?;
        }
    }
}

/// An empty buffer with room for `len` bytes, which the input justifies but the machine may not have.
fn room_for(kind: CompressionType, len: usize) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    output.try_reserve_exact(len).map_err(|_| no_room(kind, len))?;
    Ok(output)
}

#[cold]
fn no_room(kind: CompressionType, len: usize) -> Error {
    let what = format!("no memory for {len} bytes of a {} block", kind.property_name());
    Error::new(ErrorKind::Aborted, what)
}

/// Doubles the room in `output`, up to `most` bytes.
fn grow(kind: CompressionType, output: &mut Vec<u8>, most: usize) -> Result<()> {
    let room = output.len().max(GROWING_OUTPUT_START).min(most.saturating_sub(output.len()));
    if room == 0 {
        return Err(damaged(kind, format!("yields more than {most} bytes")));
    }
    output.try_reserve_exact(room).map_err(|_| no_room(kind, output.len() + room))
}

#[cold]
fn damaged(kind: CompressionType, what: impl fmt::Display) -> Error {
    Error::corruption(format!("{} block: {what}", kind.property_name()))
}
