//! Which keys are looked up: drawn from the entries of the tables, or read from a file.

use std::path::PathBuf;

use partita::io::FileSystem;
use partita::{Error, Result};
use serde::{Serialize, Serializer};

use crate::random::{Random, mix};

/// How keys are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookups {
    /// Every entry is as likely as the next.
    Uniform,
    /// Few are asked for often: the entry of rank `n` with a weight of `1 / n^theta`, ranks scattered over all keys.
    Zipf {
        /// How steep it is: 0.99 is what benchmarks take.
        theta: f64,
    },
    /// The same, the newest entries first: those of the newest tables, and of a table the last.
    Recent {
        /// How steep it is.
        theta: f64,
    },
    /// Keys that are not there: each a key that is, and eight bytes behind it.
    Absent,
    /// The keys of a file, one a line, in their order; from the start again if there are fewer than are asked for.
    Trace {
        /// The file.
        path: PathBuf,
        /// Whether the lines are hexadecimal digits; else text in which `\xHH` and `\\` stand for bytes.
        hex: bool,
        /// The column family that they are looked up in.
        family: String,
    },
}

impl Lookups {
    /// In a line.
    pub fn describe(&self) -> String {
        match self {
            Self::Uniform => "keys that are there, one as likely as the other".to_owned(),
            Self::Zipf { theta } => format!("keys that are there, some often (Zipf, {theta})"),
            Self::Recent { theta } => {
                format!("keys that are there, the newest most often (Zipf, {theta})")
            }
            Self::Absent => "keys that are not there".to_owned(),
            Self::Trace { path, family, .. } => {
                format!("the keys in {}, in family {family}", path.display())
            }
        }
    }
}

impl Serialize for Lookups {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.describe())
    }
}

/// Draws entries out of `entries`, as their places in an order from new to old.
pub(super) struct Draw<'l> {
    lookups: &'l Lookups,
    entries: u64,
    random: Random,
}

impl<'l> Draw<'l> {
    pub(super) fn new(lookups: &'l Lookups, entries: u64, seed: u64) -> Self {
        Self { lookups, entries, random: Random::new(seed) }
    }

    pub(super) fn next(&mut self) -> u64 {
        match self.lookups {
            Lookups::Zipf { theta } => {
                let rank = zipf_rank(self.random.unit(), self.entries, *theta);
                mix(rank) % self.entries.max(1)
            }
            Lookups::Recent { theta } => zipf_rank(self.random.unit(), self.entries, *theta),
            _ => self.random.below(self.entries),
        }
    }
}

/// The rank from 0 on below which `share` of the weights lie, weights taken as a function of a real number.
fn zipf_rank(share: f64, ranks: u64, theta: f64) -> u64 {
    let (last, flat) = (ranks as f64, 1.0 - theta);
    let rank = if flat.abs() < 1e-9 {
        (share * last.ln()).exp()
    } else {
        (share * (last.powf(flat) - 1.0) + 1.0).powf(1.0 / flat)
    };
    (rank as u64).saturating_sub(1).min(ranks.saturating_sub(1))
}

/// Bytes of a file of keys that are read at most.
const TRACE_BYTES_MAX: u64 = 1 << 30;
/// What RocksDB's own traces begin with, behind the head of their first record.
const ROCKSDB_TRACE: &[u8] = b"feedcafedeadbeef";

/// The first `count` keys of a file.
pub(super) fn read_trace(
    fs: &dyn FileSystem,
    path: &std::path::Path,
    hex: bool,
    count: usize,
) -> Result<Vec<Box<[u8]>>> {
    let len = fs.file_len(path)?;
    if len > TRACE_BYTES_MAX {
        let message = format!("{len} bytes of keys, of at most {TRACE_BYTES_MAX}");
        return Err(Error::not_supported(message).in_file(path));
    }
    let bytes = fs.read(path)?;
    if bytes.windows(ROCKSDB_TRACE.len()).take(64).any(|start| start == ROCKSDB_TRACE) {
        let message = "a trace in RocksDB's own format, which is documented nowhere but in its sources: let its \
                       trace_analyzer or block_cache_trace_analyzer write it as text, and take the column of keys, one a line";
        return Err(Error::not_supported(message).in_file(path));
    }
    let mut keys = Vec::new();
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let key = if hex { from_hex(line) } else { from_escaped(line) };
        let Some(key) = key else {
            let expected =
                if hex { "hexadecimal digits" } else { "\\xHH or \\\\ behind a backslash" };
            let message = format!("line {}: expected {expected}", at + 1);
            return Err(Error::invalid_argument(message).in_file(path));
        };
        keys.push(key);
        if keys.len() == count {
            break;
        }
    }
    if keys.is_empty() {
        return Err(Error::invalid_argument("no key in it").in_file(path));
    }
    Ok(keys)
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
    use std::path::Path;

    #[test]
    fn a_steep_draw_prefers_the_first_and_reaches_the_last() {
        let lookups = Lookups::Recent { theta: 0.99 };
        let mut draw = Draw::new(&lookups, 1_000_000, 7);
        let drawn: Vec<u64> = (0..20_000).map(|_| draw.next()).collect();
        let below = |bound| drawn.iter().filter(|&&place| place < bound).count();
        // ln(1000) / ln(1000000) is a half.
        assert!((9_000..11_500).contains(&below(1000)), "{}", below(1000));
        assert!(drawn.iter().all(|&place| place < 1_000_000));
        assert!(drawn.iter().any(|&place| place > 900_000));
        let mut again = Draw::new(&lookups, 1_000_000, 7);
        assert!(drawn.iter().all(|&place| place == again.next()), "a seed means the same row");
    }

    #[test]
    fn scattered_ranks_fall_all_over_the_keys() {
        let lookups = Lookups::Zipf { theta: 0.99 };
        let mut draw = Draw::new(&lookups, 1_000_000, 7);
        let upper = (0..10_000).filter(|_| draw.next() >= 500_000).count();
        assert!((3_500..6_500).contains(&upper), "{upper}");
    }

    fn trace(text: &[u8], hex: bool) -> Result<Vec<Box<[u8]>>> {
        let fs = MemoryFileSystem::new();
        let mut file = fs.create(Path::new("/keys")).unwrap();
        file.append(text).unwrap();
        file.flush().unwrap();
        drop(file);
        read_trace(&fs, Path::new("/keys"), hex, 10)
    }

    #[test]
    fn keys_are_read_from_text_and_from_hexadecimal_digits() {
        let keys = |bytes: &[&[u8]]| bytes.iter().map(|&key| key.into()).collect::<Vec<_>>();
        assert_eq!(
            trace(b"a b\nc\\x00\\\\\r\n\nd", false).unwrap(),
            keys(&[b"a b", b"c\0\\", b"d"])
        );
        assert_eq!(trace(b"0x6162\n63\n", true).unwrap(), keys(&[b"ab", b"c"]));
        for (text, hex) in [(&b"a\nb\\q"[..], false), (b"616", true), (b"zz", true), (b"\n", true)]
        {
            let error = trace(text, hex).unwrap_err();
            assert_eq!(error.kind(), partita::ErrorKind::InvalidArgument, "{error}");
        }
    }

    #[test]
    fn a_trace_of_rocksdb_is_refused_by_name() {
        let mut bytes = vec![0; 13];
        bytes.extend_from_slice(b"feedcafedeadbeef\tTrace Version: 0.2");
        let error = trace(&bytes, false).unwrap_err();
        assert!(error.to_string().contains("RocksDB's own format"), "{error}");
    }
}
