//! Footer: any 53 bytes at the end of a file of any length.
//!
//! * An accepted footer's blocks lie in the file, before the footer.
//! * What was read is written as a footer that reads as the same.
//! * Errors name the footer and an offset within the file.

use partita::table::{BlockChecksum, BlockHandle, FOOTER_LEN_MAX, Footer};
use partita::util::checksum::{ChecksumType, context_modifier};

use crate::choices::Choices;
use crate::meter;

/// Reads a footer from the bytes behind the first nine, which choose the file's length and whether the footer's own
/// checksum is put right.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let repair = choices.flag();
    let file_len = choices.long();
    let mut tail = choices.rest().to_vec();
    if repair {
        repair_checksum(&mut tail, file_len);
    }
    match meter::within(4096, || Footer::decode(&tail, file_len)) {
        Ok(footer) => accepted(&footer, file_len),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.offset().is_none_or(|offset| offset <= file_len), "{error}");
        }
    }
}

/// From format version 6 a footer carries a checksum that a fuzzer does not find by chance.
fn repair_checksum(tail: &mut [u8], file_len: u64) {
    let Some(footer) = tail.last_chunk_mut::<FOOTER_LEN_MAX>() else { return };
    let Some(offset) = file_len.checked_sub(FOOTER_LEN_MAX as u64) else { return };
    let Some(checksum) = ChecksumType::from_code(footer[0]) else { return };
    if !matches!(footer[41], 6 | 7) {
        return;
    }
    footer[1..5].copy_from_slice(&[0x3e, 0x00, 0x7a, 0x00]);
    footer[5..9].fill(0);
    let base = u32::from_le_bytes([footer[9], footer[10], footer[11], footer[12]]);
    let value = checksum.of_buffer(footer).wrapping_add(context_modifier(base, offset));
    footer[5..9].copy_from_slice(&value.to_le_bytes());
}

fn accepted(footer: &Footer, file_len: u64) {
    for handle in [Some(footer.metaindex), footer.index].into_iter().flatten() {
        let end = handle.end().expect("an accepted handle has an end");
        assert!(end <= file_len, "{footer:?} in {file_len} bytes");
    }
    // Version 0 and null handles included: what was accepted can be written again.
    let encoded = footer.encode().expect("an accepted footer can be written");
    assert_eq!(Footer::decode(&encoded, file_len).expect("a written footer is accepted"), *footer);
}

/// A footer of every version and checksum, at the end of a file of 10,000 bytes.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for format_version in 0..=7 {
        for checksum in ChecksumType::ALL {
            let v6 = format_version >= 6;
            let footer_len = if format_version == 0 { 48 } else { FOOTER_LEN_MAX as u64 };
            let footer = Footer {
                format_version,
                checksum: BlockChecksum {
                    checksum,
                    base_context: if v6 { 0x1234_5678 } else { 0 },
                },
                metaindex: BlockHandle { offset: 10_000 - footer_len - 505, size: 500 },
                index: (!v6).then_some(BlockHandle { offset: 300, size: 200 }),
            };
            // Version 0 is written with CRC32C only.
            let Ok(encoded) = footer.encode() else { continue };
            seeds.push([&[1][..], &10_000u64.to_le_bytes(), &encoded].concat());
        }
    }
    seeds
}
