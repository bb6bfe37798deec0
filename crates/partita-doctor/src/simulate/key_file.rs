//! Keys in a file, one a line.

use std::path::Path;

use partita::io::{FileSystem, SequentialFile};
use partita::{Error, Result};

const CHUNK_BYTES: usize = 256 << 10;
/// What a line may take: four digits for a byte of a key of 8 MiB, which RocksDB refuses long before.
const LINE_BYTES_MAX: usize = 32 << 20;

/// The first `count` keys of a file; the rest of it is not read.
///
/// * `hex`: hexadecimal digits; else text in which `\xHH` and `\\` stand for bytes.
pub(super) fn read(
    fs: &dyn FileSystem,
    path: &Path,
    hex: bool,
    count: usize,
) -> Result<Vec<Box<[u8]>>> {
    let file = fs.open_sequential(path)?;
    let mut lines = Lines { file, buffer: Vec::new(), from: 0, is_at_end: false };
    let (mut keys, mut number) = (Vec::new(), 0_u64);
    while keys.len() < count {
        let Some(line) = lines.next()? else { break };
        number += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let Some(key) = (if hex { from_hex(line) } else { from_escaped(line) }) else {
            let expected =
                if hex { "hexadecimal digits" } else { "\\xHH or \\\\ behind a backslash" };
            let message = format!("line {number}: expected {expected}");
            return Err(Error::invalid_argument(message).in_file(path));
        };
        keys.push(key);
    }
    if keys.is_empty() {
        return Err(Error::invalid_argument("no key in it").in_file(path));
    }
    Ok(keys)
}

/// The lines of a file, with memory for one of them.
struct Lines {
    file: Box<dyn SequentialFile>,
    buffer: Vec<u8>,
    /// What of the buffer was not handed out yet.
    from: usize,
    is_at_end: bool,
}

impl Lines {
    fn next(&mut self) -> Result<Option<&[u8]>> {
        let mut looked = self.from;
        let end = loop {
            let unseen = self.buffer.get(looked..).unwrap_or_default();
            if let Some(len) = unseen.iter().position(|&byte| byte == b'\n') {
                break looked + len;
            }
            if self.is_at_end {
                break self.buffer.len();
            }
            self.buffer.drain(..self.from);
            self.from = 0;
            looked = self.buffer.len();
            if looked > LINE_BYTES_MAX {
                let message = format!("a line of more than {LINE_BYTES_MAX} bytes: expected keys");
                return Err(Error::invalid_argument(message).in_file(self.file.path()));
            }
            self.buffer.resize(looked + CHUNK_BYTES, 0);
            let count = self.file.read_full(&mut self.buffer[looked..])?;
            self.buffer.truncate(looked + count);
            self.is_at_end = count < CHUNK_BYTES;
        };
        let start = self.from;
        if start == self.buffer.len() {
            return Ok(None);
        }
        self.from = (end + 1).min(self.buffer.len());
        Ok(self.buffer.get(start..end))
    }
}

fn from_hex(line: &[u8]) -> Option<Box<[u8]>> {
    let line = line.strip_prefix(b"0x").unwrap_or(line);
    if !line.len().is_multiple_of(2) {
        return None;
    }
    line.chunks_exact(2).map(hex_byte).collect()
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn from_escaped(line: &[u8]) -> Option<Box<[u8]>> {
    let mut key = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, behind @ ..] = rest {
        if *first != b'\\' {
            key.push(*first);
            rest = behind;
            continue;
        }
        let (byte, behind) = match behind {
            [b'\\', behind @ ..] => (b'\\', behind),
            [b't', behind @ ..] => (b'\t', behind),
            [b'n', behind @ ..] => (b'\n', behind),
            [b'r', behind @ ..] => (b'\r', behind),
            [b'x', high, low, behind @ ..] => (hex_byte(&[*high, *low])?, behind),
            _ => return None,
        };
        key.push(byte);
        rest = behind;
    }
    Some(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita::io::MemoryFileSystem;

    fn keys_of(text: &[u8], hex: bool) -> Result<Vec<Box<[u8]>>> {
        read_of(text, hex, 10)
    }

    #[test]
    fn keys_are_read_from_text_and_from_hexadecimal_digits() {
        let keys = |bytes: &[&[u8]]| bytes.iter().map(|&key| key.into()).collect::<Vec<_>>();
        assert_eq!(
            keys_of(b"a b\nc\\x00\\\\\r\n\nd", false).unwrap(),
            keys(&[b"a b", b"c\0\\", b"d"])
        );
        assert_eq!(keys_of(b"0x6162\n63\n", true).unwrap(), keys(&[b"ab", b"c"]));
        for (text, hex) in [(&b"a\nb\\q"[..], false), (b"616", true), (b"zz", true), (b"\n", true)]
        {
            let error = keys_of(text, hex).unwrap_err();
            assert_eq!(error.kind(), partita::ErrorKind::InvalidArgument, "{error}");
        }
    }

    #[test]
    fn lines_that_lie_across_reads_come_whole_and_the_rest_of_the_file_is_not_read() {
        let long = vec![b'k'; CHUNK_BYTES - 3];
        let text = [&long[..], b"\nabcdef\n", &long, b"\n", &[b'\\'; 40]].concat();
        let keys = read_of(&text, false, 3).unwrap();
        assert_eq!(
            keys.iter().map(|key| key.len()).collect::<Vec<_>>(),
            [long.len(), 6, long.len()]
        );
        assert_eq!(&*keys[1], b"abcdef");
    }

    fn read_of(text: &[u8], hex: bool, count: usize) -> Result<Vec<Box<[u8]>>> {
        let fs = MemoryFileSystem::new();
        let mut file = fs.create(Path::new("/keys")).unwrap();
        file.append(text).unwrap();
        file.flush().unwrap();
        drop(file);
        read(&fs, Path::new("/keys"), hex, count)
    }
}
