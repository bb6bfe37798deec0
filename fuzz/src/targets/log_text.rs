//! RocksDB's LOG files, which the doctor reads for what no other file says: any bytes.
//!
//! * Memory stays in proportion to the text, and all of it is read.
//! * What happened is counted the same wherever a file ends and the next begins, and wherever it is cut into reads.

use std::path::Path;
use std::sync::OnceLock;

use partita_doctor::model::{InfoLog, StallCause};
use partita_doctor::read::read_database;

use crate::choices::Choices;
use crate::meter;
use crate::models::directory::{DIR, Files, base, count, disk};

/// What a read takes at once: the reader's business, stated here to put text across its end.
const CHUNK_BYTES: usize = 256 << 10;
/// The part of a line that is looked at.
const LINE_BYTES_MAX: usize = 4096;

/// Reads the bytes behind the first two as LOG; these say where it is cut.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let cut = usize::from(choices.word());
    let text = choices.rest();
    let limit = 160 * text.len() + 2 * CHUNK_BYTES + (1 << 20);
    let whole = meter::within(limit, || read(&[("LOG", text)]));
    assert_eq!((whole.bytes, whole.bytes_read), (text.len() as u64, text.len() as u64));
    let lines = text.split(|byte| *byte == b'\n').count() as u64;
    let count = whole.stalls.iter().map(|stall| stall.count).sum::<u64>()
        + whole.errors.iter().map(|error| error.count).sum::<u64>();
    assert!(count <= lines, "{count} events in {lines} lines");
    let kept = whole.stalls.iter().map(|stall| &stall.example);
    // A byte that is no text becomes three.
    assert!(
        kept.chain(whole.errors.iter().map(|error| &error.example))
            .all(|example| { example.len() <= 3 * LINE_BYTES_MAX })
    );

    let starts: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    if let Some(at) = starts.get(cut % starts.len().max(1)) {
        let parts = read(&[("LOG.old.7", &text[..*at]), ("LOG", &text[*at..])]);
        assert_eq!(events(&parts), events(&whole), "cut at byte {at}");
    }
    if cut % 64 == 0 {
        let before = CHUNK_BYTES - cut % (text.len() + 1);
        let filler = [&vec![b'#'; before - 1][..], b"\n"].concat();
        let moved = read(&[("LOG", &[&filler, text].concat())]);
        assert_eq!(events(&moved), events(&whole), "{before} bytes further back");
        assert_eq!(moved.families, whole.families);
        assert_eq!(moved.tickers, whole.tickers);
    }
}

type Events = (Vec<(String, bool, StallCause, u64)>, Vec<(&'static str, u64)>);

fn events(log: &InfoLog) -> Events {
    let stalls = log.stalls.iter();
    let stalls = stalls.map(|one| (one.family.clone(), one.stopped, one.cause, one.count));
    let mut errors: Vec<_> = log.errors.iter().map(|error| (error.kind, error.count)).collect();
    errors.sort_unstable();
    (stalls.collect(), errors)
}

/// What the doctor finds in these files beside the manifest of a database without tables.
fn read(logs: &[(&str, &[u8])]) -> InfoLog {
    static START: OnceLock<Files> = OnceLock::new();
    let start =
        START.get_or_init(|| Files::from([("CURRENT".to_owned(), b"MANIFEST-000001\n".to_vec())]));
    let mut files = start.clone();
    files.extend(logs.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())));
    read_database(&disk(&files), Path::new(DIR)).expect("a directory with a CURRENT").info_log
}

/// The LOG of a real database, in parts, and lines of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        "2026/11/30-19:34:03.434570 14475 RocksDB version: 7.8.3\n",
        "2026/11/30-19:34:03.435782 14475 [db/column_family.cc:630] --------------- Options for column family [default]:\n\
         2026/11/30-19:34:03.435805 14475            table_factory options:   flush_block_policy_factory: F (0x5)\n  \
         cache_index_and_filter_blocks: 1\n  block_cache: 0x55b481f0f6e0\n  block_cache_name: LRUCache\n    \
         capacity : 67108864\n    num_shard_bits : 6\n",
        "2026/11/30-19:34:04.000000 7 [WARN] [db/column_family.cc:1102] [b] Stalling writes because we have 21 level-0 files\n",
        "2026/11/30-19:34:04.000000 7 [WARN] [db/column_family.cc:1102] [a] Stopping writes because of estimated pending \
         compaction bytes 99\n",
        "2026/11/30-19:34:04.000000 7 [WARN] [x] [a] Stopping writes because we have 2 immutable memtables (waiting)\n",
        "2026/11/30-19:34:04.000000 7 [ERROR] IO error: No space left on device: 000009.sst\n",
        "2026/11/30-19:58:29.07 7 [x.cc:788] STATISTICS:\n rocksdb.block.cache.miss COUNT : 3\n rocksdb.db.get.micros P50 \
         : 0.5 COUNT : 9 SUM : 1\n",
    ];
    let mut seeds: Vec<Vec<u8>> =
        lines.iter().map(|line| [&[0, 0][..], line.as_bytes()].concat()).collect();
    seeds.push([&[1, 0][..], lines.concat().as_bytes()].concat());
    let real = (0..count()).find_map(|at| base(at).files.get("LOG")).expect("a LOG");
    seeds.extend(real.chunks(6000).map(|part| [&[3, 0][..], part].concat()));
    seeds
}
