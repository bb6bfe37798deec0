//! Legacy Bloom filters of any probes, lines and length of a line.
//!
//! What must hold is what [`filter_bytes`](super::filter_bytes) states; here nearly every input is a filter of the kind.

use super::filter_bytes::check;
use crate::choices::Choices;

/// Builds a filter block and keys from the bytes, and asks.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let lines = usize::from(choices.byte());
    let len = lines << (choices.byte() % 9);
    let metadata = [1 + choices.byte() % 127, lines as u8, 0, 0, 0];
    let keys: Vec<&[u8]> = (0..choices.byte() % 48).map(|_| choices.short_bytes()).collect();
    // Bits beyond the input repeat it, so that short inputs make long filters.
    let rest = choices.rest();
    let mut block: Vec<u8> = rest.iter().copied().cycle().take(len).collect();
    block.resize(len, 0xa5);
    block.extend(metadata);
    check(&block, &keys);
}

/// A few sizes, with keys and some bits.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for size in [0, 1, 2, 3, 5, 8, 13, 40, 200] {
        for other in [0, 1, 6, 30] {
            let header = [size, other, size / 3, other, size, 4];
            let keys =
                [&[0, 1][..], b"a", &[5], b"apple", &[20], b"twenty bytes of a key"].concat();
            let bits = (0..80u8).map(|i| if i % 3 == 0 { i } else { 0xff });
            seeds.push(header.into_iter().chain(keys).chain(bits).collect());
        }
    }
    seeds
}
