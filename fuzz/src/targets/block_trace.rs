//! Block-cache traces of RocksDB, which the doctor takes lookups from: any bytes, and records of any fields.
//!
//! * Memory stays in proportion to the file, and damage is told with its place.
//! * What was read, written again, is read as the same; all of a file is a header, accesses and a torn end.

use std::path::Path;

use partita::io::{FileSystem, MemoryFileSystem};
use partita::util::coding::put_length_prefixed;
use partita_doctor::read::{BlockAccess, BlockTraceReader, TracedBlock};

use crate::choices::Choices;
use crate::meter;

const PATH: &str = "/trace";
/// What the reader takes at once, and has beside it when it grows.
const BUFFER_BYTES: usize = 4 * (256 << 10);
const CALLERS: [u8; 6] = [1, 2, 3, 10, 14, 200];
const CODES: [u8; 8] = [7, 8, 9, 10, 11, 14, 1, 6];

/// Reads the bytes behind the first as a trace; or, if that is odd, as fields of records.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let file = match choices.byte() % 2 {
        0 => choices.rest().to_vec(),
        _ => records(&mut choices),
    };
    let fs = disk(&file);
    let limit = 4 * file.len() + BUFFER_BYTES;
    let Some(again) = meter::within(limit + 64 * file.len(), || read(&fs, file.len())) else {
        return;
    };
    let fs = disk(&again);
    assert_eq!(read(&fs, again.len()).as_ref(), Some(&again), "written again");
}

/// The accesses of a file as they are written; `None` if it is refused.
fn read(fs: &dyn FileSystem, len: usize) -> Option<Vec<u8>> {
    let mut trace = match BlockTraceReader::open(fs, Path::new(PATH)) {
        Ok(trace) => trace,
        Err(error) => {
            assert_eq!(error.file(), Some(Path::new(PATH)), "{error}");
            return None;
        }
    };
    let mut written = header(trace.release());
    loop {
        match trace.next_access() {
            Ok(Some(access)) => put(&mut written, &access),
            Ok(None) => break,
            Err(error) => {
                let offset = error.offset().expect("damage has a place") as usize;
                assert!(error.is_corruption() && offset < len, "{error}");
                return None;
            }
        }
    }
    // Lengths can be written in more bytes than they need.
    assert!(written.len() + trace.torn_bytes() as usize <= len);
    Some(written)
}

fn disk(bytes: &[u8]) -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    let mut file = fs.create(Path::new(PATH)).expect("memory has room");
    file.append(bytes).and_then(|()| file.flush()).expect("memory has room");
    drop(file);
    fs
}

fn put_record(out: &mut Vec<u8>, time: u64, code: u8, payload: &[u8]) {
    out.extend_from_slice(&time.to_le_bytes());
    out.push(code);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(payload);
}

fn header((major, minor): (u32, u32)) -> Vec<u8> {
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    put_length_prefixed(&mut payload, b"feedcafedeadbeef");
    payload.extend_from_slice(&major.to_le_bytes());
    payload.extend_from_slice(&minor.to_le_bytes());
    put_record(&mut out, 0, 1, &payload);
    out
}

fn put(out: &mut Vec<u8>, access: &BlockAccess<'_>) {
    let code = match access.block {
        TracedBlock::Index => 7,
        TracedBlock::Filter => 8,
        TracedBlock::Data => 9,
        TracedBlock::Dictionary => 10,
        TracedBlock::RangeDeletions => 11,
        TracedBlock::Unsaid => 14,
    };
    let mut payload = Vec::new();
    put_length_prefixed(&mut payload, access.block_key);
    payload.extend_from_slice(&access.block_bytes.to_le_bytes());
    payload.extend_from_slice(&access.family.to_le_bytes());
    put_length_prefixed(&mut payload, access.family_name);
    payload.extend_from_slice(&access.level.to_le_bytes());
    payload.extend_from_slice(&access.table.to_le_bytes());
    payload.extend_from_slice(&[access.caller, access.is_hit.into(), access.no_insert.into()]);
    if let Some(get) = &access.get {
        assert!(get.user_key().is_none_or(|key| get.key.starts_with(key)));
        payload.extend_from_slice(&get.id.to_le_bytes());
        payload.push(get.is_of_snapshot.into());
        put_length_prefixed(&mut payload, get.key);
        if let Some(found) = get.in_block {
            payload.extend_from_slice(&found.bytes.to_le_bytes());
            payload.extend_from_slice(&found.keys_in_block.to_le_bytes());
            payload.push(found.is_found.into());
        }
    }
    put_record(out, access.time_micros, code, &payload);
}

/// A trace whose records have the right form more often than not.
fn records(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut out = header((7, 8));
    for _ in 0..choices.byte() % 16 {
        let (caller, code) = (choices.pick(&CALLERS), choices.pick(&CODES));
        let mut payload = Vec::new();
        put_length_prefixed(&mut payload, choices.short_bytes());
        payload.extend_from_slice(&choices.long().to_le_bytes());
        payload.extend_from_slice(&choices.long().to_le_bytes());
        put_length_prefixed(&mut payload, choices.short_bytes());
        payload.extend_from_slice(&u32::from(choices.word()).to_le_bytes());
        payload.extend_from_slice(&choices.long().to_le_bytes());
        payload.extend_from_slice(&[caller, choices.flag().into(), choices.byte() % 3]);
        if caller <= 2 {
            payload.extend_from_slice(&choices.long().to_le_bytes());
            payload.push(choices.flag().into());
            put_length_prefixed(&mut payload, choices.short_bytes());
            if code == 9 {
                payload.extend_from_slice(&choices.long().to_le_bytes());
                payload.extend_from_slice(&choices.long().to_le_bytes());
                payload.push(choices.flag().into());
            }
        }
        put_record(&mut out, choices.long(), code, &payload);
    }
    out
}

/// Traces of RocksDB 7.8.3, whole and in parts, and records of any fields.
pub fn seeds() -> Vec<Vec<u8>> {
    let home = tempfile::tempdir().expect("a temporary directory");
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/partita-doctor/tests/data/block-cache-traces.tar.zst");
    partita_testkit::archive::unpack(&packed, home.path()).expect("the traces in the repository");
    let mut seeds = Vec::new();
    for name in ["locations-full-filter", "locations-partitioned"] {
        let trace = std::fs::read(home.path().join(format!("{name}.trace"))).expect("a trace");
        for len in [trace.len(), 4000, 200] {
            seeds.push([&[0], &trace[..len]].concat());
        }
        seeds.push([&[0][..], &trace[..38], &trace[trace.len() - 3000..]].concat());
    }
    seeds.push([1, 7].into_iter().chain((0..250).cycle().take(900)).collect());
    seeds
}
