//! LOG files: what RocksDB tells people, read for what no other file says: the capacity and shards of the cache that a
//! family was opened with, and what held writes up.
//!
//! ```text
//! 2026/11/30-19:34:03.434570 14475 RocksDB version: 7.8.3
//! 2026/11/30-19:34:03.435782 14475 [db/column_family.cc:630] --------------- Options for column family [default]:
//! 2026/11/30-19:34:03.435805 14475            table_factory options:   flush_block_policy_factory: …
//!   cache_index_and_filter_blocks: 1                 more lines of the same message, without a time
//!   block_cache: 0x55b481f0f6e0
//!   block_cache_name: LRUCache
//!     capacity : 67108864
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use partita::io::{FileSystem, SequentialFile};
use partita::version::FileName;

use crate::model::{InfoLog, LoggedError, LoggedFamily, Stall, StallCause};

/// Bytes of LOG files that are read at most; the newest first.
const BYTES_MAX: u64 = 256 << 20;
/// Bytes of a line that are looked at: all we look for stands at its start.
const LINE_BYTES_MAX: usize = 4096;
/// What the names of statistics begin with.
const TICKER_PREFIX: &str = "rocksdb.";
const CHUNK_BYTES: usize = 256 << 10;

/// Reads the LOG files of a directory. What cannot be read is left out: nothing depends on them.
pub(super) fn read(
    fs: &dyn FileSystem,
    dir: &Path,
    names: &BTreeMap<FileName, Vec<String>>,
) -> InfoLog {
    let (mut log, mut places) = (InfoLog::default(), Places::default());
    let mut names: Vec<&String> = names.get(&FileName::InfoLog).into_iter().flatten().collect();
    // `LOG` is the newest; the others carry the time in their names.
    names.sort_unstable_by_key(|name| std::cmp::Reverse(age_of(name)));
    for (at, name) in names.iter().enumerate() {
        let path = dir.join(name);
        log.files += 1;
        log.bytes += fs.file_len(&path).unwrap_or(0);
        if log.bytes_read >= BYTES_MAX {
            continue;
        }
        if let Ok(file) = fs.open_sequential(&path) {
            read_file(file, at == 0, &mut log, &mut places);
        }
    }
    log.stalls.sort_unstable();
    log
}

fn age_of(name: &str) -> u64 {
    name.strip_prefix("LOG.old.").map_or(u64::MAX, |time| time.parse().unwrap_or(0))
}

fn read_file(
    mut file: Box<dyn SequentialFile>,
    is_newest: bool,
    log: &mut InfoLog,
    places: &mut Places,
) {
    let mut reader = LineReader { log, places, is_newest, family: None };
    let mut line = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match file.read_full(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        reader.log.bytes_read += count as u64;
        let mut rest = &chunk[..count];
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            take(&mut line, &rest[..end]);
            reader.line(&String::from_utf8_lossy(&line));
            line.clear();
            rest = &rest[end + 1..];
        }
        take(&mut line, rest);
        if reader.log.bytes_read >= BYTES_MAX {
            break;
        }
    }
    reader.line(&String::from_utf8_lossy(&line));
}

fn take(line: &mut Vec<u8>, more: &[u8]) {
    let room = LINE_BYTES_MAX.saturating_sub(line.len());
    line.extend_from_slice(&more[..more.len().min(room)]);
}

/// Where what was met before stands in its list: there may be as many of a kind as there are lines.
#[derive(Default)]
struct Places {
    families: BTreeMap<String, usize>,
    stalls: BTreeMap<(String, bool, StallCause), usize>,
}

struct LineReader<'l> {
    log: &'l mut InfoLog,
    places: &'l mut Places,
    /// Settings are taken from the newest file only: they hold since the last open.
    is_newest: bool,
    /// Of which family options are being told.
    family: Option<usize>,
}

impl LineReader<'_> {
    fn line(&mut self, line: &str) {
        let Some(message) = message(line) else { return self.setting(line) };
        if self.is_newest {
            if let Some(version) = message.strip_prefix("RocksDB version: ") {
                self.log.rocksdb_version = Some(version.trim().to_owned());
            } else if let Some(name) = between(message, "Options for column family [", "]:") {
                self.family = Some(self.family_at(name));
            } else if !message.trim_start().starts_with("table_factory options") {
                // Options of families are told one by one, and the table's are one message.
                if !message.trim_start().starts_with("Options.") {
                    self.family = None;
                }
            }
        }
        self.event(message);
    }

    fn family_at(&mut self, name: &str) -> usize {
        let families = &mut self.log.families;
        let fresh = LoggedFamily { name: name.to_owned(), ..LoggedFamily::default() };
        match self.places.families.get(name) {
            Some(&at) => {
                families[at] = fresh;
                at
            }
            None => {
                families.push(fresh);
                self.places.families.insert(name.to_owned(), families.len() - 1);
                families.len() - 1
            }
        }
    }

    /// A further line of a message: a setting of the table.
    fn setting(&mut self, line: &str) {
        if self.is_newest && line.trim_start().starts_with(TICKER_PREFIX) {
            return self.ticker(line);
        }
        let Some(family) = self.family.and_then(|at| self.log.families.get_mut(at)) else { return };
        let Some((name, value)) = line.split_once(':') else { return };
        let (name, value) = (name.trim(), value.trim());
        match name {
            "block_cache" => family.cache_address = Some(value.to_owned()),
            "block_cache_name" => family.cache_name = Some(value.to_owned()),
            // A compressed secondary cache has a capacity, too, and comes later.
            "capacity" if family.cache_bytes.is_none() => family.cache_bytes = value.parse().ok(),
            "num_shard_bits" if family.cache_shard_bits.is_none() => {
                family.cache_shard_bits = value.parse().ok();
            }
            _ => family.table.push((name.to_owned(), value.to_owned())),
        }
    }

    /// ` rocksdb.bloom.filter.useful COUNT : 17`; histograms have more behind their name.
    fn ticker(&mut self, line: &str) {
        let counted = line.trim().strip_prefix(TICKER_PREFIX).and_then(|rest| {
            let (name, count) = rest.split_once(" COUNT : ")?;
            Some((name, count.trim().parse().ok()?))
        });
        if let Some((name, count)) = counted.filter(|(name, _)| !name.contains(' ')) {
            self.log.tickers.insert(name.to_owned(), count);
        }
    }

    fn event(&mut self, message: &str) {
        if let Some(found) = stall(message) {
            let stalls = &mut self.log.stalls;
            let place = (found.family.clone(), found.stopped, found.cause);
            match self.places.stalls.get(&place) {
                Some(&at) => stalls[at].count += 1,
                None => {
                    self.places.stalls.insert(place, stalls.len());
                    stalls.push(found);
                }
            }
        } else if let Some(kind) = error(message) {
            let known = self.log.errors.iter_mut().find(|known| known.kind == kind);
            match known {
                Some(known) => known.count += 1,
                None => self.log.errors.push(LoggedError {
                    kind,
                    count: 1,
                    example: message.trim().to_owned(),
                }),
            }
        }
    }
}

/// What a line says behind its time and thread; `None` if it goes on with the message before it.
fn message(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let is_time = time.len() > 10 && time.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if !is_time || time.as_bytes().get(4) != Some(&b'/') {
        return None;
    }
    Some(rest.split_once(' ').map_or(rest, |(_, message)| message))
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

/// `[WARN] [db/column_family.cc:1102] [default] Stalling writes because we have 21 level-0 files …`
fn stall(message: &str) -> Option<Stall> {
    let (stopped, (head, why)) = match message.split_once("Stopping writes because ") {
        Some(parts) => (true, parts),
        None => (false, message.split_once("Stalling writes because ")?),
    };
    let cause = if why.contains("immutable memtables") {
        StallCause::Memtables
    } else if why.contains("level-0 files") {
        StallCause::Level0
    } else if why.contains("pending compaction bytes") {
        StallCause::PendingCompaction
    } else {
        return None;
    };
    let family = head.trim_end().strip_suffix(']')?.rsplit_once('[')?.1.to_owned();
    Some(Stall { family, stopped, cause, count: 1, example: message.trim().to_owned() })
}

fn error(message: &str) -> Option<&'static str> {
    const KINDS: &[(&str, &str)] = &[
        ("No space left on device", "the disk was full"),
        ("Corruption:", "damage was met"),
        ("checksum mismatch", "damage was met"),
        ("Waiting after background compaction error", "a compaction failed"),
        ("Waiting after background flush error", "a flush failed"),
        ("Cache is full", "an insert into a strict cache failed"),
        ("Insert failed due to", "an insert into a strict cache failed"),
        ("IO error:", "the disk failed"),
    ];
    KINDS.iter().find(|(sign, _)| message.contains(sign)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita::io::MemoryFileSystem;

    fn read_logs(files: &[(&str, &str)]) -> InfoLog {
        let fs = MemoryFileSystem::new();
        let dir = Path::new("/db");
        fs.create_dir_all(dir).unwrap();
        let mut names = BTreeMap::<FileName, Vec<String>>::new();
        for (name, text) in files {
            let mut file = fs.create(&dir.join(name)).unwrap();
            file.append(text.as_bytes()).unwrap();
            file.flush().unwrap();
            names.entry(FileName::InfoLog).or_default().push((*name).to_owned());
        }
        read(&fs, dir, &names)
    }

    const OPENED: &str = "\
2026/11/30-19:34:03.434570 14475 RocksDB version: 7.8.3
2026/11/30-19:34:03.435782 14475 [db/column_family.cc:630] --------------- Options for column family [default]:
2026/11/30-19:34:03.435784 14475               Options.comparator: leveldb.BytewiseComparator
2026/11/30-19:34:03.435805 14475            table_factory options:   flush_block_policy_factory: F (0x5)
  cache_index_and_filter_blocks: 1
  block_cache: 0x55b481f0f6e0
  block_cache_name: LRUCache
  block_cache_options:
    capacity : 67108864
    num_shard_bits : 6
2026/11/30-19:34:03.435834 14475        Options.write_buffer_size: 67108864
2026/11/30-19:34:03.436000 14475 [db/column_family.cc:630] --------------- Options for column family [b]:
2026/11/30-19:34:03.436001 14475            table_factory options:   flush_block_policy_factory: F (0x6)
  block_cache: 0x55b481f0ffff
    capacity : 8388608
2026/11/30-19:34:04.000000 14475 [db/version_set.cc:1] Recovered from manifest
  capacity : 1
";

    #[test]
    fn caches_and_settings_are_those_of_the_newest_log() {
        let old = OPENED.replace("67108864", "1").replace("7.8.3", "6.0.0");
        let log = read_logs(&[("LOG", OPENED), ("LOG.old.1700000000", &old)]);
        assert_eq!(log.files, 2);
        assert_eq!(log.rocksdb_version.as_deref(), Some("7.8.3"));
        let family = log.family("default").unwrap();
        assert_eq!(family.get("cache_index_and_filter_blocks"), Some("1"));
        assert_eq!((family.cache_bytes, family.cache_shard_bits), (Some(64 << 20), Some(6)));
        assert_eq!(family.cache_name.as_deref(), Some("LRUCache"));
        let other = log.family("b").unwrap();
        assert_eq!(other.cache_bytes, Some(8 << 20));
        assert_ne!(other.cache_address, family.cache_address);
    }

    #[test]
    fn stalls_of_all_logs_are_counted_by_family_and_cause() {
        let line = |family: &str, what: &str| {
            format!(
                "2026/11/30-19:34:04.000000 7 [WARN] [db/column_family.cc:1102] [{family}] {what}\n"
            )
        };
        let slow = "Stalling writes because we have 21 level-0 files rate 16777216";
        let stop = "Stopping writes because of estimated pending compaction bytes 99";
        let memtables = "Stopping writes because we have 2 immutable memtables (waiting for flush)";
        let newest = line("default", slow) + &line("default", slow) + &line("b", stop);
        let log = read_logs(&[("LOG", &newest), ("LOG.old.5", &line("default", memtables))]);
        let found: Vec<_> = log
            .stalls
            .iter()
            .map(|stall| (&*stall.family, stall.stopped, stall.cause, stall.count))
            .collect();
        assert_eq!(
            found,
            [
                ("b", true, StallCause::PendingCompaction, 1),
                ("default", false, StallCause::Level0, 2),
                ("default", true, StallCause::Memtables, 1),
            ]
        );
    }

    /// A search among all for each line took hours for a LOG of some megabytes.
    #[test]
    fn lines_about_ever_other_families_take_no_longer_than_lines_about_one() {
        const FAMILIES: usize = 40_000;
        let time = "2026/11/30-19:34:04.000000 7 [WARN] [x]";
        let line = |n: usize| {
            format!(
                "{time} --- Options for column family [f{n}]:\n{time} [f{n}] Stopping writes because we have 9 level-0 files\n"
            )
        };
        let text: String = (0..FAMILIES).chain(0..5).map(line).collect();
        let log = read_logs(&[("LOG", &text), ("LOG.old.1", &line(3))]);
        assert_eq!((log.families.len(), log.stalls.len()), (FAMILIES, FAMILIES));
        let count = |name: &str| log.stalls.iter().find(|it| it.family == name).unwrap().count;
        assert_eq!((count("f3"), count("f4"), count("f5")), (3, 2, 1));
    }

    #[test]
    fn statistics_are_those_that_were_printed_last() {
        let dump = |count: u32| {
            format!(
                "2026/11/30-19:58:29.07 7 [x.cc:788] STATISTICS:\n rocksdb.block.cache.miss COUNT : {count}\n\
                 rocksdb.bloom.filter.useful COUNT : 4\nrocksdb.db.get.micros P50 : 0.5 COUNT : 9 SUM : 1\n"
            )
        };
        let log = read_logs(&[("LOG", &(dump(3) + &dump(5))), ("LOG.old.1", &dump(99))]);
        assert_eq!(
            (log.ticker("block.cache.miss"), log.ticker("bloom.filter.useful")),
            (Some(5), Some(4))
        );
        assert_eq!(log.tickers.len(), 2);
    }

    #[test]
    fn trouble_is_counted_by_its_kind() {
        let full =
            "2026/11/30-19:34:04.000000 7 [ERROR] IO error: No space left on device: 000009.sst\n";
        let log = read_logs(&[("LOG", &full.repeat(3))]);
        assert_eq!((log.errors[0].kind, log.errors[0].count), ("the disk was full", 3));
    }
}
