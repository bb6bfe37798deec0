use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The level that stands for each algorithm's own default, as in RocksDB's options.
pub const DEFAULT_LEVEL: i32 = 32767;

/// How a block is compressed. The numbers are RocksDB's on-disk codes.
///
/// ```
/// use partita::util::compression::CompressionType;
///
/// assert_eq!(CompressionType::from_code(4).unwrap(), CompressionType::Lz4);
/// assert_eq!("zstd".parse::<CompressionType>().unwrap(), CompressionType::Zstd);
/// assert_eq!(CompressionType::from_code(6).unwrap_err().kind(), partita::ErrorKind::NotSupported);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CompressionType {
    /// Stored as it is.
    #[default]
    None = 0,
    /// Snappy: fast, weak.
    Snappy = 1,
    /// Deflate without zlib's header.
    Zlib = 2,
    /// bzip2: strong, slow to decompress.
    Bzip2 = 3,
    /// LZ4: fastest to decompress.
    Lz4 = 4,
    /// LZ4 compressed with more effort; decompresses like LZ4.
    Lz4hc = 5,
    /// Zstandard: strong for its speed.
    Zstd = 7,
}

/// ZSTD before its format was final, written by very old settings; the bytes are those of [`CompressionType::Zstd`].
const ZSTD_NOT_FINAL_CODE: u8 = 0x40;
const XPRESS_CODE: u8 = 6;

impl CompressionType {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Snappy, Self::Zlib, Self::Bzip2, Self::Lz4, Self::Lz4hc, Self::Zstd];

    /// The type that `code` stands for on disk.
    ///
    /// * Errors: `NotSupported` for XPRESS and custom types, by name; `Corruption` for codes without a meaning.
    #[inline]
    pub fn from_code(code: u8) -> Result<Self> {
        Ok(match code {
            0 => Self::None,
            1 => Self::Snappy,
            2 => Self::Zlib,
            3 => Self::Bzip2,
            4 => Self::Lz4,
            5 => Self::Lz4hc,
            7 | ZSTD_NOT_FINAL_CODE => Self::Zstd,
            _ => return Err(refuse_code(code)),
        })
    }

    /// The on-disk code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name in the table property `rocksdb.compression`.
    pub const fn property_name(self) -> &'static str {
        match self {
            Self::None => "NoCompression",
            Self::Snappy => "Snappy",
            Self::Zlib => "Zlib",
            Self::Bzip2 => "BZip2",
            Self::Lz4 => "LZ4",
            Self::Lz4hc => "LZ4HC",
            Self::Zstd => "ZSTD",
        }
    }

    /// The type of this name in the table property `rocksdb.compression`.
    ///
    /// * Errors: `NotSupported` for XPRESS; `Corruption` for names without a meaning.
    pub fn from_property_name(name: &str) -> Result<Self> {
        match name {
            "ZSTDNotFinal" => Ok(Self::Zstd),
            "Xpress" => Err(refuse_code(XPRESS_CODE)),
            _ => Self::named(name, Self::property_name).ok_or_else(|| {
                Error::corruption(format!("unknown compression name {name:?} in the properties"))
            }),
        }
    }

    /// The name in RocksDB's options files.
    pub const fn options_name(self) -> &'static str {
        match self {
            Self::None => "kNoCompression",
            Self::Snappy => "kSnappyCompression",
            Self::Zlib => "kZlibCompression",
            Self::Bzip2 => "kBZip2Compression",
            Self::Lz4 => "kLZ4Compression",
            Self::Lz4hc => "kLZ4HCCompression",
            Self::Zstd => "kZSTD",
        }
    }

    /// The type of this name in RocksDB's options files.
    ///
    /// * Errors: `NotSupported` for XPRESS and custom types; `InvalidArgument` for names without a meaning.
    pub fn from_options_name(name: &str) -> Result<Self> {
        match name {
            "kZSTDNotFinalCompression" => Ok(Self::Zstd),
            "kXpressCompression" => Err(refuse_code(XPRESS_CODE)),
            _ if name.starts_with("kCustomCompression") => {
                Err(Error::not_supported(format!("custom compression type {name:?}")))
            }
            _ => Self::named(name, Self::options_name).ok_or_else(|| {
                Error::invalid_argument(format!("unknown compression type {name:?}"))
            }),
        }
    }

    /// The name for people and command lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
            Self::Lz4hc => "lz4hc",
            Self::Zstd => "zstd",
        }
    }

    /// Whether a file's compression dictionary is used for blocks of this type.
    pub const fn uses_dictionary(self) -> bool {
        matches!(self, Self::Zlib | Self::Lz4 | Self::Lz4hc | Self::Zstd)
    }

    fn named(name: &str, name_of: impl Fn(Self) -> &'static str) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| name_of(kind) == name)
    }
}

impl fmt::Display for CompressionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for CompressionType {
    type Err = Error;

    /// Reads the name that [`CompressionType::as_str`] gives, or one of RocksDB's option names.
    fn from_str(name: &str) -> Result<Self> {
        Self::named(name, Self::as_str).map_or_else(|| Self::from_options_name(name), Ok)
    }
}

#[cold]
fn refuse_code(code: u8) -> Error {
    match code {
        XPRESS_CODE => Error::not_supported("XPRESS compression (type 0x06, Windows only)"),
        0x80..=0xfe => Error::not_supported(format!(
            "custom compression type {code:#04x}: needs the writer's compression manager"
        )),
        _ => Error::corruption(format!("unknown compression type {code:#04x}")),
    }
}
