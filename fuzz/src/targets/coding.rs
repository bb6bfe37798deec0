//! Integer coding: every reader of [`Cursor`] against a slow one that computes with 128 bits.

use partita::util::coding::{
    Cursor, MAX_VARINT32_LEN, MAX_VARINT64_LEN, put_length_prefixed, put_varint, put_zigzag,
    varint_len,
};

use crate::choices::Choices;
use crate::meter;

/// Reads the bytes from front to back with readers that the first half chooses.
pub fn run(bytes: &[u8]) {
    let (choices, body) = bytes.split_at(bytes.len() / 2);
    let mut choices = Choices::new(choices);
    let mut cursor = Cursor::new(body);
    while !choices.is_empty() {
        let before = cursor.rest();
        let choice = choices.byte();
        meter::within(0, || step(&mut cursor, choice));
        assert!(before.ends_with(cursor.rest()), "a reader went backwards or elsewhere");
    }
    written_integers_come_back(choices_of(bytes));
}

fn choices_of(bytes: &[u8]) -> u64 {
    Choices::new(bytes).long()
}

fn step(cursor: &mut Cursor<'_>, choice: u8) {
    let rest = cursor.rest();
    match choice % 6 {
        0 => {
            let expected = slow_varint(rest, MAX_VARINT64_LEN, u64::MAX);
            assert_eq!(cursor.varint64(), expected.map(|(value, _)| value));
            moved(rest, cursor, expected.map(|(_, len)| len));
        }
        1 => {
            let expected = slow_varint(rest, MAX_VARINT32_LEN, u64::from(u32::MAX));
            assert_eq!(cursor.varint32().map(u64::from), expected.map(|(value, _)| value));
            if let Some((_, len)) = expected {
                moved(rest, cursor, Some(len));
            }
        }
        2 => {
            let expected = slow_varint(rest, MAX_VARINT64_LEN, u64::MAX).map(|(value, _)| {
                let half = (value >> 1) as i64;
                if value & 1 == 0 { half } else { -half - 1 }
            });
            assert_eq!(cursor.zigzag(), expected);
        }
        3 => {
            let found = cursor.length_prefixed();
            if let Some(found) = found {
                assert!(found.len() < rest.len());
            }
        }
        4 => {
            let expected = rest.get(..4).map(|taken| {
                taken.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte))
            });
            assert_eq!(cursor.fixed32(), expected);
        }
        _ => {
            let expected = rest.get(..8).map(|taken| {
                taken.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
            });
            assert_eq!(cursor.fixed64(), expected);
        }
    }
}

fn moved(before: &[u8], cursor: &Cursor<'_>, len: Option<usize>) {
    assert_eq!(before.len() - cursor.rest().len(), len.unwrap_or(0));
}

/// A varint and its length, or `None` if it has no end within `len_max` bytes or is beyond `value_max`.
fn slow_varint(bytes: &[u8], len_max: usize, value_max: u64) -> Option<(u64, usize)> {
    let len = 1 + bytes.iter().take(len_max).position(|&byte| byte < 0x80)?;
    let value =
        bytes[..len].iter().rev().fold(0u128, |value, &byte| value << 7 | u128::from(byte & 0x7f));
    let value = u64::try_from(value).ok().filter(|&value| value <= value_max)?;
    Some((value, len))
}

fn written_integers_come_back(value: u64) {
    let mut out = Vec::new();
    put_varint(&mut out, value);
    assert_eq!(out.len(), varint_len(value));
    put_zigzag(&mut out, value as i64);
    put_length_prefixed(&mut out, &value.to_be_bytes());
    let mut cursor = Cursor::new(&out);
    assert_eq!(cursor.varint64(), Some(value));
    assert_eq!(cursor.zigzag(), Some(value as i64));
    assert_eq!(cursor.length_prefixed(), Some(&value.to_be_bytes()[..]));
    assert!(cursor.is_empty());
}

/// Long, overlong and cut integers.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![
        vec![0, 1, 2, 3, 4, 5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x80, 0x00],
        vec![0; 40],
        [vec![0; 12], vec![0xff; 9], vec![1], vec![0xff; 9], vec![2]].concat(),
        [vec![1; 8], vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff]].concat(),
        [vec![3; 6], vec![5, b'a', b'b', b'c', b'd', b'e']].concat(),
    ]
}
