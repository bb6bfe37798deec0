//! Footer: the last bytes of a table, from which everything else is found.
//!
//! ```text
//! format version 0 (48 bytes, also LevelDB's):
//!   metaindex handle | index handle | zero padding to 40 || magic u64
//!
//! format versions 1 to 5 (53 bytes):
//!   checksum type u8 || metaindex handle | index handle | zero padding to 40 || version u32 | magic u64
//!
//! format versions 6 and 7 (53 bytes):
//!   0   checksum type u8
//!   1   3e 00 7a 00
//!   5   footer checksum u32: over the 53 bytes with these four zeroed, plus the context at the footer's offset
//!   9   base of the context checksums u32, never 0
//!   13  size of the metaindex block u32; with its trailer it ends where the footer starts
//!   17  16 bytes, written as 0 and ignored
//!   33  8 bytes, 0; anything else belongs to a future version
//!   41  version u32
//!   45  magic u64
//! ```
//!
//! All integers are little-endian. From version 6 the index is found through the metaindex.

use super::trailer::BlockChecksum;
use super::{BLOCK_TRAILER_LEN, BlockHandle};
use crate::error::{Error, Result};
use crate::util::checksum::{ChecksumType, context_modifier};
use crate::util::coding::Cursor;

/// Bytes of the longest footer. A reader fetches as many from the end of the file, or all of a shorter one.
pub const FOOTER_LEN_MAX: usize = 53;
/// Greatest format version that is read and written.
pub const FORMAT_VERSION_MAX: u32 = 7;

const FOOTER_LEN_V0: usize = 48;
const HANDLES_LEN: usize = 40;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const MAGIC_V0: u64 = 0xdb47_7524_8b80_fb57;
const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];
const CHECKSUM_AT: usize = 5;

/// A table's footer.
///
/// ```
/// use partita::table::{BlockChecksum, BlockHandle, Footer};
/// use partita::util::checksum::ChecksumType;
///
/// let footer = Footer {
///     format_version: 5,
///     checksum: BlockChecksum { checksum: ChecksumType::Xxh3, base_context: 0 },
///     metaindex: BlockHandle { offset: 900, size: 95 },
///     index: Some(BlockHandle { offset: 700, size: 195 }),
/// };
/// let bytes = footer.encode().unwrap();
/// assert_eq!(Footer::decode(&bytes, 1000 + bytes.len() as u64).unwrap(), footer);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Format version of the table, 0 to 7.
    pub format_version: u32,
    /// How the blocks are checksummed. Version 0 knows CRC32C only.
    pub checksum: BlockChecksum,
    /// The metaindex block.
    pub metaindex: BlockHandle,
    /// The index block (its top level, if partitioned). From version 6 it is `None`: the metaindex knows it.
    pub index: Option<BlockHandle>,
}

impl Footer {
    /// Reads the footer from the end of a file.
    ///
    /// * `tail`: the last [`FOOTER_LEN_MAX`] bytes of the file, or all of a shorter file.
    /// * `file_len`: length of the file in bytes.
    /// * Errors: `NotSupported` for other table kinds and later versions, named; `Corruption` for everything that no
    ///   version wrote, handles that point outside of the file among it. Offsets are those in the file.
    pub fn decode(tail: &[u8], file_len: u64) -> Result<Self> {
        let place = |error: Error| error.in_part("footer").at(file_len - tail.len() as u64);
        if tail.len() as u64 > file_len {
            return Err(Error::invalid_argument("footer: more bytes than the file has"));
        }
        let Some((rest, magic)) = tail.split_last_chunk::<8>() else {
            return Err(place(Error::corruption(format!(
                "a file of {file_len} bytes is too short for a table"
            ))));
        };
        let footer = match u64::from_le_bytes(*magic) {
            MAGIC_V0 => Self::decode_v0(rest),
            MAGIC => Self::decode_versioned(tail, file_len),
            other => Err(refuse_magic(other)),
        };
        footer.and_then(|footer| footer.check_handles(file_len)).map_err(place)
    }

    fn decode_v0(rest: &[u8]) -> Result<Self> {
        let Some(handles) = rest.last_chunk::<HANDLES_LEN>() else {
            return Err(too_short(FOOTER_LEN_V0));
        };
        let (metaindex, index) = decode_handles(handles)?;
        let checksum = BlockChecksum { checksum: ChecksumType::Crc32c, base_context: 0 };
        Ok(Self { format_version: 0, checksum, metaindex, index: Some(index) })
    }

    fn decode_versioned(tail: &[u8], file_len: u64) -> Result<Self> {
        let Some(footer) = tail.last_chunk::<FOOTER_LEN_MAX>() else {
            return Err(too_short(FOOTER_LEN_MAX));
        };
        let format_version = fixed32(footer, 41);
        match format_version {
            0 => {
                return Err(Error::corruption(
                    "format version 0 under the magic of later versions",
                ));
            }
            1..=FORMAT_VERSION_MAX => {}
            _ => {
                return Err(Error::not_supported(format!(
                    "table format version {format_version}; 0 to {FORMAT_VERSION_MAX} are read"
                )));
            }
        }
        let Some(checksum) = ChecksumType::from_code(footer[0]) else {
            return Err(Error::corruption(format!("unknown checksum type {}", footer[0])));
        };
        if format_version >= 6 {
            return Self::decode_v6(footer, format_version, checksum, file_len);
        }
        let (metaindex, index) = decode_handles(&footer[1..=HANDLES_LEN])?;
        let checksum = BlockChecksum { checksum, base_context: 0 };
        Ok(Self { format_version, checksum, metaindex, index: Some(index) })
    }

    fn decode_v6(
        footer: &[u8; FOOTER_LEN_MAX],
        format_version: u32,
        checksum: ChecksumType,
        file_len: u64,
    ) -> Result<Self> {
        if footer[1..5] != EXTENDED_MAGIC {
            return Err(Error::corruption(format!(
                "extended magic is {:02x?}, expected {EXTENDED_MAGIC:02x?}",
                &footer[1..5]
            )));
        }
        let base_context = fixed32(footer, 9);
        if base_context == 0 {
            return Err(Error::corruption("base of the context checksums is 0"));
        }
        let offset = file_len - FOOTER_LEN_MAX as u64;
        let checksum = BlockChecksum { checksum, base_context };
        let stored = fixed32(footer, CHECKSUM_AT);
        let computed = footer_checksum(footer, checksum, offset);
        if stored != computed {
            return Err(checksum.checksum.mismatch(stored, computed));
        }
        if footer[33..41] != [0; 8] {
            return Err(Error::not_supported("reserved bytes are used by a future format"));
        }
        let size = u64::from(fixed32(footer, 13));
        let Some(start) = offset.checked_sub(size + BLOCK_TRAILER_LEN as u64) else {
            return Err(Error::corruption(format!(
                "metaindex of {size} bytes does not fit before the footer"
            )));
        };
        let metaindex = BlockHandle { offset: start, size };
        Ok(Self { format_version, checksum, metaindex, index: None })
    }

    fn check_handles(self, file_len: u64) -> Result<Self> {
        for (name, handle) in [("metaindex", Some(self.metaindex)), ("index", self.index)] {
            let Some(handle) = handle else { continue };
            if handle.end().is_none_or(|end| end > file_len) {
                return Err(Error::corruption(format!(
                    "{name} handle ({:#x}, {} bytes) points outside of the file",
                    handle.offset, handle.size
                )));
            }
        }
        Ok(self)
    }

    /// The footer's bytes. From version 6 they belong right behind the metaindex block's trailer, and only there.
    ///
    /// * Errors: `InvalidArgument` for a version above 7, a checksum other than CRC32C in version 0, a missing index
    ///   handle before version 6, a missing base or a metaindex of 4 GiB from version 6.
    pub fn encode(&self) -> Result<Vec<u8>> {
        match self.format_version {
            0..=5 => self.encode_with_handles(),
            6..=FORMAT_VERSION_MAX => self.encode_v6(),
            other => Err(Error::invalid_argument(format!(
                "table format version {other}; 0 to {FORMAT_VERSION_MAX} are written"
            ))),
        }
    }

    fn encode_with_handles(&self) -> Result<Vec<u8>> {
        let Some(index) = self.index else {
            return Err(Error::invalid_argument("footer before version 6 needs an index handle"));
        };
        if self.format_version == 0 && self.checksum.checksum != ChecksumType::Crc32c {
            return Err(Error::invalid_argument("format version 0 knows CRC32C checksums only"));
        }
        let mut handles = Vec::with_capacity(HANDLES_LEN);
        self.metaindex.encode_to(&mut handles);
        index.encode_to(&mut handles);
        handles.resize(HANDLES_LEN, 0);
        let mut out = Vec::with_capacity(FOOTER_LEN_MAX);
        if self.format_version == 0 {
            out.extend_from_slice(&handles);
            out.extend_from_slice(&MAGIC_V0.to_le_bytes());
        } else {
            out.push(self.checksum.checksum.code());
            out.extend_from_slice(&handles);
            out.extend_from_slice(&self.format_version.to_le_bytes());
            out.extend_from_slice(&MAGIC.to_le_bytes());
        }
        Ok(out)
    }

    fn encode_v6(&self) -> Result<Vec<u8>> {
        let base = self.checksum.base_context;
        let (Ok(size), Some(offset)) = (u32::try_from(self.metaindex.size), self.metaindex.end())
        else {
            return Err(Error::invalid_argument("metaindex block of 4 GiB or more"));
        };
        if base == 0 {
            return Err(Error::invalid_argument("format version 6 needs a base context"));
        }
        let mut out = [0; FOOTER_LEN_MAX];
        out[0] = self.checksum.checksum.code();
        out[1..5].copy_from_slice(&EXTENDED_MAGIC);
        out[9..13].copy_from_slice(&base.to_le_bytes());
        out[13..17].copy_from_slice(&size.to_le_bytes());
        out[41..45].copy_from_slice(&self.format_version.to_le_bytes());
        out[45..].copy_from_slice(&MAGIC.to_le_bytes());
        let checksum = footer_checksum(&out, self.checksum, offset);
        out[CHECKSUM_AT..9].copy_from_slice(&checksum.to_le_bytes());
        Ok(out.to_vec())
    }
}

/// The footer's own checksum, computed as if its field were zero.
fn footer_checksum(footer: &[u8; FOOTER_LEN_MAX], checksum: BlockChecksum, offset: u64) -> u32 {
    let mut zeroed = *footer;
    zeroed[CHECKSUM_AT..9].fill(0);
    let plain = checksum.checksum.of_buffer(&zeroed);
    plain.wrapping_add(context_modifier(checksum.base_context, offset))
}

fn decode_handles(bytes: &[u8]) -> Result<(BlockHandle, BlockHandle)> {
    let mut cursor = Cursor::new(bytes);
    Ok((BlockHandle::decode_from(&mut cursor)?, BlockHandle::decode_from(&mut cursor)?))
}

fn fixed32(footer: &[u8; FOOTER_LEN_MAX], at: usize) -> u32 {
    u32::from_le_bytes([footer[at], footer[at + 1], footer[at + 2], footer[at + 3]])
}

fn too_short(expected: usize) -> Error {
    Error::corruption(format!("the file is shorter than a footer of {expected} bytes"))
}

fn refuse_magic(magic: u64) -> Error {
    match magic {
        0x8242_2296_63bf_9564 | 0x4f34_18eb_7a8f_13b8 => Error::not_supported("plain table format"),
        0x9267_89d0_c5f1_7873 => Error::not_supported("cuckoo table format"),
        _ => Error::corruption(format!(
            "magic number {magic:#018x} is not that of a table; the file is damaged, encrypted or of another kind"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use proptest::prelude::*;

    fn footer(format_version: u32, checksum: ChecksumType) -> Footer {
        let base_context = if format_version >= 6 { 0xdead_beef } else { 0 };
        Footer {
            format_version,
            checksum: BlockChecksum { checksum, base_context },
            metaindex: BlockHandle { offset: 500, size: 100 },
            index: (format_version < 6).then_some(BlockHandle { offset: 300, size: 195 }),
        }
    }

    #[test]
    fn every_version_comes_back() {
        for format_version in 0..=FORMAT_VERSION_MAX {
            for checksum in ChecksumType::ALL {
                let footer = footer(format_version, checksum);
                if format_version == 0 && checksum != ChecksumType::Crc32c {
                    assert_eq!(footer.encode().unwrap_err().kind(), ErrorKind::InvalidArgument);
                    continue;
                }
                let bytes = footer.encode().unwrap();
                let file_len = 605 + bytes.len() as u64;
                // A reader hands over a fixed number of bytes; before a short footer stand the last of a block.
                let mut tail = vec![0xaa; FOOTER_LEN_MAX - bytes.len()];
                tail.extend_from_slice(&bytes);
                assert_eq!(Footer::decode(&tail, file_len).unwrap(), footer);
            }
        }
    }

    #[test]
    fn a_footer_of_version_6_is_bound_to_its_place_and_bytes() {
        let bytes = footer(6, ChecksumType::Crc32c).encode().unwrap();
        assert!(Footer::decode(&bytes, 605 + 53).is_ok());
        let moved = Footer::decode(&bytes, 606 + 53).unwrap_err();
        assert!(moved.is_corruption());
        assert_eq!((moved.part(), moved.offset()), (Some("footer"), Some(606)));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(Footer::decode(&flipped, 605 + 53).is_err(), "byte {at}");
        }
    }

    #[test]
    fn other_kinds_and_versions_are_refused_by_name() {
        let refused = |bytes: &[u8]| Footer::decode(bytes, 1000).unwrap_err();
        let with_magic = |magic: u64| {
            let mut bytes = vec![0; 45];
            bytes.extend_from_slice(&magic.to_le_bytes());
            bytes
        };
        for (magic, name) in [
            (0x8242_2296_63bf_9564, "plain"),
            (0x4f34_18eb_7a8f_13b8, "plain"),
            (0x9267_89d0_c5f1_7873, "cuckoo"),
        ] {
            let error = refused(&with_magic(magic));
            assert_eq!(error.kind(), ErrorKind::NotSupported);
            assert!(error.message().contains(name));
        }
        assert!(refused(&with_magic(7)).to_string().contains("0x0000000000000007"));
        let mut later = footer(5, ChecksumType::Xxh3).encode().unwrap();
        later[41] = 8;
        assert_eq!(refused(&later).kind(), ErrorKind::NotSupported);
        assert!(refused(&later).message().contains("version 8"));
        later[41] = 0;
        assert!(refused(&later).is_corruption());
        assert!(refused(b"").is_corruption());
        assert!(refused(&with_magic(MAGIC)[10..]).is_corruption());
    }

    #[test]
    fn handles_outside_of_the_file_are_corruption() {
        let mut footer = footer(5, ChecksumType::Xxh3);
        footer.index = Some(BlockHandle { offset: u64::MAX - 3, size: 1 });
        let error = Footer::decode(&footer.encode().unwrap(), 1000).unwrap_err();
        assert!(error.is_corruption());
        assert!(error.message().contains("index handle"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(mut tail in proptest::collection::vec(any::<u8>(), 0..60), version in 0u32..9) {
            let _ = Footer::decode(&tail, tail.len() as u64);
            tail.extend_from_slice(&version.to_le_bytes());
            tail.extend_from_slice(&MAGIC.to_le_bytes());
            let _ = Footer::decode(&tail, tail.len() as u64);
            let _ = Footer::decode(&tail, 1 << 40);
        }
    }
}
