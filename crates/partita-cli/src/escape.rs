//! Keys and values as text on one line, without ambiguity.
//!
//! ```text
//! escaped:  printable ASCII as it is, but `\` as \\ ; tab \t, line feed \n, carriage return \r ; others \xHH
//! hex:      two lower-case digits a byte
//! ```
//!
//! Both forms are read back by [`Form::parse`], so that a key can be copied from the output into the next command.

use std::io::{self, Write};

/// How bytes are written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Escaped,
    Hex,
}

impl Form {
    /// Hexadecimal if `hex`.
    pub(crate) fn hex_if(hex: bool) -> Self {
        if hex { Self::Hex } else { Self::Escaped }
    }

    /// Writes `bytes`.
    pub(crate) fn write(self, out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Escaped => write_escaped(out, bytes),
            Self::Hex => write_hex(out, bytes),
        }
    }

    /// `bytes` as text.
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        let mut out = Vec::new();
        self.write(&mut out, bytes).expect("writing to memory cannot fail");
        String::from_utf8(out).expect("both forms are ASCII")
    }

    /// Reads what [`Form::write`] wrote; text outside of ASCII is taken as its UTF-8 bytes.
    ///
    /// * Errors: says which part of `text` is not in this form.
    pub(crate) fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let mut buffer = Vec::new();
        self.decode(text.as_bytes(), &mut buffer).map(<[u8]>::to_vec)
    }

    /// The same for text that may be no UTF-8: other bytes than ASCII stand for themselves.
    ///
    /// * `buffer`: holds what had to be translated; what it held before is lost.
    pub(crate) fn decode<'t>(
        self,
        text: &'t [u8],
        buffer: &'t mut Vec<u8>,
    ) -> Result<&'t [u8], String> {
        buffer.clear();
        match self {
            Self::Escaped if !text.contains(&b'\\') => return Ok(text),
            Self::Escaped => decode_escaped(text, buffer)?,
            Self::Hex => decode_hex(text, buffer)?,
        }
        Ok(buffer)
    }
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hex_pair(byte: u8) -> [u8; 2] {
    [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]
}

fn write_hex(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    const CHUNK: usize = 64;
    let mut text = [[0; 2]; CHUNK];
    for chunk in bytes.chunks(CHUNK) {
        for (pair, &byte) in text.iter_mut().zip(chunk) {
            *pair = hex_pair(byte);
        }
        out.write_all(text[..chunk.len()].as_flattened())?;
    }
    Ok(())
}

fn write_escaped(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let plain = rest.iter().take_while(|&&byte| is_plain(byte)).count();
        out.write_all(&rest[..plain])?;
        rest = &rest[plain..];
        if let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'\\' => out.write_all(b"\\\\")?,
                b'\t' => out.write_all(b"\\t")?,
                b'\n' => out.write_all(b"\\n")?,
                b'\r' => out.write_all(b"\\r")?,
                _ => {
                    let [high, low] = hex_pair(byte);
                    out.write_all(&[b'\\', b'x', high, low])?;
                }
            }
        }
    }
    Ok(())
}

fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'\\'
}

fn decode_escaped(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = text;
    loop {
        let plain = rest.iter().take_while(|&&byte| byte != b'\\').count();
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        let Some((_, after)) = rest.split_first() else { return Ok(()) };
        let (decoded, len) = match after {
            [b'\\', ..] => (b'\\', 1),
            [b't', ..] => (b'\t', 1),
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b'x', high, low, ..] => (hex_byte(*high, *low)?, 3),
            _ => {
                let at = text.len() - rest.len();
                return Err(format!(r"unknown escape at byte {at}: use \\, \t, \n, \r or \xHH"));
            }
        };
        out.push(decoded);
        rest = &after[len..];
    }
}

fn decode_hex(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("odd number of hexadecimal digits".to_owned());
    }
    out.reserve(pairs.len());
    for &[high, low] in pairs {
        out.push(hex_byte(high, low)?);
    }
    Ok(())
}

fn hex_byte(high: u8, low: u8) -> Result<u8, String> {
    const fn digit(byte: u8) -> Option<u8> {
        match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            b'A'..=b'F' => Some(byte - b'A' + 10),
            _ => None,
        }
    }
    match (digit(high), digit(low)) {
        (Some(high), Some(low)) => Ok(high << 4 | low),
        _ => Err(format!("{:?} is not a byte in hexadecimal", Form::Escaped.text(&[high, low]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back_in_both_forms() {
        let bytes: Vec<u8> = (0..=255).collect();
        for form in [Form::Escaped, Form::Hex] {
            let text = form.text(&bytes);
            assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{text}");
            assert_eq!(form.parse(&text).unwrap(), bytes);
        }
    }

    #[test]
    fn text_stays_readable() {
        assert_eq!(Form::Escaped.text(b"/a b\\c\td\n\r\0\xff"), r"/a b\\c\td\n\r\x00\xff");
        assert_eq!(Form::Hex.text(b"\0a\xff"), "0061ff");
    }

    #[test]
    fn different_bytes_never_look_the_same() {
        // A literal backslash followed by "x00" against the byte 0.
        assert_eq!(Form::Escaped.text(br"\x00"), r"\\x00");
        assert_ne!(Form::Escaped.text(br"\x00"), Form::Escaped.text(b"\0"));
    }

    #[test]
    fn what_is_not_in_the_form_is_refused() {
        for text in [r"\", r"a\q", r"\x1", r"\xg0"] {
            assert!(Form::Escaped.parse(text).is_err(), "{text}");
        }
        for text in ["1", "0g", "é"] {
            assert!(Form::Hex.parse(text).is_err(), "{text}");
        }
        assert_eq!(Form::Escaped.parse("é").unwrap(), "é".as_bytes());
    }
}
