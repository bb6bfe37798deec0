//! Decompression framing: any bytes as a stored block of every type, framing and dictionary.
//!
//! * Never more than the caller's limit comes out, and never more memory is taken than the limit and than what the
//!   stored bytes can expand to: a claimed length is not believed.
//! * The same bytes give the same answer twice, and a damaged block leaves no trace in the contexts that are kept from
//!   block to block: a good block decompresses right behind it.

use std::cell::OnceCell;

use partita::util::compression::{
    CompressionType, Compressor, DEFAULT_LEVEL, Dictionary, Framing, decompress,
};

use crate::choices::Choices;
use crate::meter;

/// Longest block that the caller is ready to hold.
const LIMIT: usize = 4 << 20;

/// What decompression may take besides its output: contexts of zlib and bzip2, which are in Rust.
const CONTEXTS: usize = 5 << 20;

/// Decompresses the bytes behind a type, a framing and a dictionary.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let kind = choices.pick(&CompressionType::ALL);
    let framing = if choices.flag() { Framing::Legacy } else { Framing::Varint };
    let dictionary = match choices.byte() % 4 {
        0 => Some(choices.short_bytes().to_vec()),
        1 => Some(b"a dictionary that seeds know".to_vec()),
        _ => None,
    };
    let dictionary = dictionary.and_then(|bytes| Dictionary::new(bytes).ok());
    let stored = choices.rest();

    let limit = CONTEXTS + justified(kind, stored.len()).min(LIMIT);
    let first =
        meter::within(limit, || decompress(kind, framing, dictionary.as_ref(), stored, LIMIT));
    if let Ok(block) = &first {
        assert!(block.len() <= LIMIT);
        assert!(block.len() <= justified(kind, stored.len()));
        let exact = decompress(kind, framing, dictionary.as_ref(), stored, block.len());
        assert!(exact.as_ref().is_ok_and(|exact| exact == block), "the limit is exact: {exact:?}");
        if let Some(less) = block.len().checked_sub(1) {
            assert!(decompress(kind, framing, dictionary.as_ref(), stored, less).is_err());
        }
    }
    good_block_comes_back(kind, framing, dictionary.as_ref());
    let second = decompress(kind, framing, dictionary.as_ref(), stored, LIMIT);
    assert_eq!(first.ok(), second.ok(), "a second run differs");
}

/// Most bytes that so many stored bytes can become, by the type's format; twice that while a buffer grows.
fn justified(kind: CompressionType, stored: usize) -> usize {
    let factor = match kind {
        CompressionType::None => 1,
        CompressionType::Snappy => 22,
        CompressionType::Lz4 | CompressionType::Lz4hc => 255,
        CompressionType::Zlib => 1032,
        CompressionType::Zstd => 32 << 10,
        CompressionType::Bzip2 => 900_000 * 259 / 5 / 20,
    };
    stored.saturating_mul(factor).saturating_add(1)
}

const GOOD: &[u8] = b"a good block, a dictionary, a good block, a dictionary that seeds know";

fn good_block_comes_back(kind: CompressionType, framing: Framing, dictionary: Option<&Dictionary>) {
    let stored = stored_good(kind, framing);
    let block = decompress(kind, framing, None, &stored, GOOD.len());
    assert!(block.is_ok_and(|block| block == GOOD), "{kind} {framing:?} after other bytes");
    let Some(dictionary) = dictionary else { return };
    // A dictionary that zstd refuses is refused here, too.
    let bytes = Some(dictionary.as_bytes());
    let Ok(mut compressor) = Compressor::new(kind, DEFAULT_LEVEL, framing, bytes) else { return };
    let stored = compressor.compress(GOOD).expect("a short block is compressed").to_vec();
    let block = decompress(kind, framing, Some(dictionary), &stored, GOOD.len());
    assert!(block.is_ok_and(|block| block == GOOD), "{kind} {framing:?} with a dictionary");
}

/// The good block, compressed once: the compressors' contexts are large.
fn stored_good(kind: CompressionType, framing: Framing) -> Vec<u8> {
    thread_local! {
        static STORED: OnceCell<Vec<Vec<u8>>> = const { OnceCell::new() };
    }
    let index = 2 * CompressionType::ALL.iter().position(|&other| other == kind).unwrap_or(0)
        + usize::from(framing == Framing::Legacy);
    STORED.with(|stored| {
        stored.get_or_init(|| {
            CompressionType::ALL
                .into_iter()
                .flat_map(|kind| [Framing::Varint, Framing::Legacy].map(|framing| (kind, framing)))
                .map(|(kind, framing)| compressed(kind, framing, None, GOOD))
                .collect()
        })[index]
            .clone()
    })
}

fn compressed(
    kind: CompressionType,
    framing: Framing,
    dictionary: Option<&[u8]>,
    block: &[u8],
) -> Vec<u8> {
    let mut compressor = Compressor::new(kind, DEFAULT_LEVEL, framing, dictionary)
        .expect("these settings are accepted");
    compressor.compress(block).expect("a short block is compressed").to_vec()
}

/// Blocks of every type and framing, with and without a dictionary.
pub fn seeds() -> Vec<Vec<u8>> {
    let runs = [b'x'; 600];
    let blocks: [&[u8]; 3] = [GOOD, &runs, b"short"];
    let mut seeds = Vec::new();
    for (code, kind) in CompressionType::ALL.into_iter().enumerate() {
        for (legacy, framing) in [Framing::Varint, Framing::Legacy].into_iter().enumerate() {
            for block in blocks {
                let known = b"a dictionary that seeds know";
                for (choice, dictionary) in [(1, Some(&known[..])), (2, None)] {
                    let stored = compressed(kind, framing, dictionary, block);
                    seeds.push([&[code as u8, legacy as u8, choice][..], &stored].concat());
                }
            }
        }
    }
    seeds
}
