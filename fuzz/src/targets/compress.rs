//! Compression round trip: any block, type, level, framing and dictionary comes back.

use partita::util::compression::{
    CompressionType, Compressor, DEFAULT_LEVEL, Dictionary, Framing, decompress,
};

use crate::choices::Choices;

/// Compresses parts of the bytes behind the choices, one after the other with one compressor, and takes them back.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let kind = choices.pick(&CompressionType::ALL);
    let framing = if choices.flag() { Framing::Legacy } else { Framing::Varint };
    // High levels of zstd take tens of megabytes for a context: slow to fuzz, and the format is the same.
    let level = choices.pick(&[DEFAULT_LEVEL, -5, 0, 1, 2, 4, 6]);
    let dictionary = if choices.flag() { Some(choices.short_bytes().to_vec()) } else { None };
    let dictionary = dictionary.filter(|bytes| !bytes.is_empty());
    let Ok(mut compressor) = Compressor::new(kind, level, framing, dictionary.as_deref()) else {
        assert!(dictionary.is_some(), "{kind} at level {level} is refused");
        return;
    };
    let dictionary = dictionary.and_then(|bytes| Dictionary::new(bytes).ok());
    while !choices.is_empty() {
        let block = part(&mut choices);
        let stored = compressor.compress(&block).expect("short blocks are compressed").to_vec();
        let back = decompress(kind, framing, dictionary.as_ref(), &stored, block.len());
        match back {
            Ok(back) => assert!(back == block, "{kind} {framing:?}: another block came back"),
            Err(error) => panic!("{kind} {framing:?}, {} bytes: {error}", block.len()),
        }
    }
}

/// A block with repetitions that the fuzzer steers: a piece, repeated.
fn part(choices: &mut Choices<'_>) -> Vec<u8> {
    let piece = choices.short_bytes();
    let times = 1 + usize::from(choices.byte());
    piece.repeat(times)
}

/// Short and long repetitions with every type.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in 0..CompressionType::ALL.len() as u8 {
        for legacy in [0, 1] {
            let body =
                [&[11][..], b"hello hello", &[40, 3], b"abc", &[255, 1], b"x", &[0]].concat();
            seeds.push([&[kind, legacy, 0, 0][..], &body].concat());
            seeds.push([&[kind, legacy, 3, 1, 5][..], b"hello", &body].concat());
        }
    }
    seeds
}
