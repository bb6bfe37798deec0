use std::fmt;
use std::sync::OnceLock;

use zstd_safe::DDict;

use crate::error::{Error, Result};

/// Most history that an LZ4 block can refer to.
pub(super) const LZ4_DICTIONARY_LEN_MAX: usize = 64 * 1024;

/// A file's compression dictionary, ready for decompression by any number of threads.
///
/// The bytes serve zlib and LZ4 as history before the block. For zstd they are a trained dictionary if they start
/// with zstd's dictionary magic, else history too; its digested form is made at first use and kept.
pub struct Dictionary {
    bytes: Vec<u8>,
    zstd: OnceLock<Option<DDict<'static>>>,
}

impl Dictionary {
    /// A dictionary of the contents of the dictionary block.
    ///
    /// * Errors: `Corruption` if it is empty, which no writer produces.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Error::corruption("compression dictionary of 0 bytes"));
        }
        Ok(Self { bytes, zstd: OnceLock::new() })
    }

    /// The dictionary as it stands in the file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The part that an LZ4 block can refer to.
    pub(super) fn lz4_history(&self) -> &[u8] {
        lz4_history(&self.bytes)
    }

    /// The digested form for zstd.
    ///
    /// * Errors: `Corruption` if the bytes have zstd's dictionary magic but are no such dictionary.
    pub(super) fn zstd(&self) -> Result<&DDict<'static>> {
        self.zstd
            .get_or_init(|| DDict::try_create(&self.bytes))
            .as_ref()
            .ok_or_else(|| Error::corruption("zstd refuses the compression dictionary"))
    }

    /// Bytes of memory held now, for the cache's accounts.
    pub fn memory_bytes(&self) -> usize {
        let digested = self.zstd.get().and_then(Option::as_ref).map_or(0, DDict::sizeof);
        size_of::<Self>() + self.bytes.capacity() + digested
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

pub(super) fn lz4_history(dictionary: &[u8]) -> &[u8] {
    &dictionary[dictionary.len().saturating_sub(LZ4_DICTIONARY_LEN_MAX)..]
}

/// Trains a zstd dictionary of at most `len_max` bytes.
///
/// * `samples`: all samples, one after another; `sample_lens`: their lengths, which add up to `samples.len()`.
/// * Returns an empty vector if zstd finds the samples too few or too small to train on, as RocksDB does; the caller
///   then writes no dictionary.
pub fn train_zstd_dictionary(samples: &[u8], sample_lens: &[usize], len_max: usize) -> Vec<u8> {
    if samples.is_empty() || sample_lens.iter().sum::<usize>() != samples.len() {
        return Vec::new();
    }
    let mut dictionary = Vec::with_capacity(len_max);
    match zstd_safe::train_from_buffer(&mut dictionary, samples, sample_lens) {
        Ok(_) => dictionary,
        Err(_) => Vec::new(),
    }
}
