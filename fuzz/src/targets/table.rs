//! Whole tables: real ones with edits anywhere, checksums put right so that what stands behind them is reached.
//!
//! * Opening, walking both ways, seeking, getting, range tombstones: no panic, no endless walk, memory in proportion to
//!   the file. Every error names the file.
//! * A table that is walked through without error yields the same backwards.
//! * Without edits everything is found; with edits and without repaired checksums, nothing wrong is ever returned.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use partita::error::Error;
use partita::io::{MemoryFile, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, PACKED_LEN, PrefixExtractor, SeqNo};
use partita::table::{
    FilterStatus, LookupKey, ReadContext, ReaderOptions, TableReader, verify_table,
};

use crate::choices::Choices;
use crate::meter;
use crate::models::block::Entry;
use crate::models::sst::{BaseTable, bases};

const PATH: &str = "fuzz.sst";

/// Entries after which a walk is broken off.
const ENTRIES_MAX: usize = 200_000;

/// Edits a base table, or takes the bytes for a table, and reads all of it.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let at = usize::from(choices.byte());
    let options = options(choices.byte());
    let Some(base) = bases().get(at) else {
        let _opened = read(choices.rest().to_vec(), &options, true);
        return;
    };
    let repair = !choices.byte().is_multiple_of(4);
    let (edited, touched) = edit(base, repair, choices);
    if choice_of_verification(&touched) {
        verify(base, &edited, repair, &touched);
    }
    let table = read(edited.clone(), &options, base.is_plain());
    let sound = edited == base.bytes && options.largest_seqno.is_none();
    let footer_touched = touched.contains(&base.blocks.len());
    let guarded = !repair && !footer_touched && base.has_checksums() && options.verify_checksums;
    if sound || guarded && options.largest_seqno.is_none() {
        nothing_wrong(at, table, sound);
    }
}

fn options(choice: u8) -> ReaderOptions {
    ReaderOptions {
        verify_checksums: choice & 1 == 0,
        largest_seqno: if choice & 2 == 0 { None } else { SeqNo::new(u64::from(choice)) },
        prefix_extractor: (choice & 4 != 0).then_some(PrefixExtractor::Fixed(3)),
        ..ReaderOptions::default()
    }
}

/// Applies edits: each names a block, a place in it and new bytes; the footer counts as the last block.
///
/// * Returns the file and the blocks that were edited.
fn edit(base: &BaseTable, repair: bool, mut choices: Choices<'_>) -> (Vec<u8>, BTreeSet<usize>) {
    let mut edited = base.bytes.clone();
    let mut touched = BTreeSet::new();
    for _ in 0..16 {
        if choices.is_empty() {
            break;
        }
        let block = usize::from(choices.word()) % (base.blocks.len() + 1);
        let (start, len) = match base.blocks.get(block) {
            Some(handle) => (handle.offset as usize, handle.size as usize + 1),
            None => (base.bytes.len() - 53, 53),
        };
        touched.insert(block);
        let how = choices.byte();
        let within = usize::from(choices.word());
        // From the end, too, where blocks and filters keep what steers the reader.
        let place = if how & 1 == 0 { within % len } else { len - 1 - within % len };
        let target = &mut edited[start + place..start + len];
        match how >> 1 & 3 {
            0 => target[0] ^= choices.byte(),
            1 => copy(target, choices.short_bytes()),
            2 => copy(target, &choices.long().to_le_bytes()[..1 << (how >> 3 & 3)]),
            // A piece of the same block: entries and handles in other places.
            _ => {
                let piece = target[..target.len().min(usize::from(choices.byte()))].to_vec();
                let to = start + usize::from(choices.word()) % len;
                copy(&mut edited[to..start + len], &piece);
            }
        }
    }
    if repair {
        for block in &touched {
            match *block < base.blocks.len() {
                true => base.repair_block(*block, &mut edited),
                false => base.repair_footer(&mut edited),
            }
        }
    }
    (edited, touched)
}

fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// An opened table, and its entries if it can be walked through.
type Opened = Result<(Arc<TableReader>, Option<Vec<Entry>>), Error>;

/// Opens a table and asks everything that can be asked.
///
/// * `plain`: whether no block was compressed before the edits.
fn read(bytes: Vec<u8>, options: &ReaderOptions, plain: bool) -> Opened {
    let file_len = bytes.len();
    // A compressed block of a few bytes can truly be large; what it claims is held against that elsewhere.
    let limit = if plain { (4 << 20) + 600 * file_len } else { 1 << 30 };
    let file = Arc::new(MemoryFile::new(PATH, bytes));
    meter::within(limit, || {
        let mut ctx = ReadContext::default();
        let table = TableReader::open(file, options, &mut ctx).map(Arc::new);
        let table = table.inspect_err(names_file)?;
        let walked = walks(&table, file_len);
        if let Some(entries) = &walked {
            questions(&table, entries, &mut ctx);
        }
        Ok((table, walked))
    })
}

/// A verification is as long as all other reads together, so that not every input gets one.
fn choice_of_verification(touched: &BTreeSet<usize>) -> bool {
    touched.iter().sum::<usize>() % 4 == 0
}

/// A verification ends, names the file in each damage, and misses no block whose checksum does not fit.
fn verify(base: &BaseTable, edited: &[u8], repair: bool, touched: &BTreeSet<usize>) {
    let file: Arc<dyn RandomAccessFile> = Arc::new(MemoryFile::new(PATH, edited.to_vec()));
    let limit = if base.is_plain() { (8 << 20) + 600 * edited.len() } else { 1 << 30 };
    let report =
        meter::within(limit, || verify_table(&file, &ReaderOptions::default(), &mut |_| ()));
    report.damages.iter().for_each(names_file);
    report.not_opened.iter().for_each(names_file);
    assert!(report.bytes <= 2 * edited.len() as u64, "{} bytes verified", report.bytes);
    let footer_touched = touched.contains(&base.blocks.len());
    if edited == base.bytes {
        assert!(report.is_clean() && report.complete, "{}: {:?}", base.name, report.damages);
    } else if !repair && !footer_touched && base.has_checksums() {
        assert!(!report.is_clean(), "{}: damage to {touched:?} is not noticed", base.name);
    }
}

fn names_file(error: &Error) {
    assert_eq!(error.file().and_then(|file| file.to_str()), Some(PATH), "{error}");
}

/// Walks both ways; returns the entries if both got through.
fn walks(table: &Arc<TableReader>, file_len: usize) -> Option<Vec<Entry>> {
    let mut iter = table.iter();
    let mut entries = Vec::new();
    let mut bytes = 0;
    let mut moved = iter.seek_to_first();
    while moved.is_ok() && iter.is_valid() && entries.len() < ENTRIES_MAX && bytes < 1 << 20 {
        assert!(iter.key().len() >= PACKED_LEN);
        bytes += iter.key().len() + iter.value().len();
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        moved = iter.next();
    }
    if let Err(error) = &moved {
        names_file(error);
        assert!(!iter.is_valid());
    }
    let whole = moved.is_ok() && !iter.is_valid();
    let reads = iter.context().blocks_read_total() as usize;
    assert!(reads <= 2 + file_len / 5, "{reads} blocks read in a file of {file_len} bytes");

    let mut left = entries.len();
    let mut moved = iter.seek_to_last();
    while moved.is_ok() && iter.is_valid() {
        if whole {
            left = left.checked_sub(1).expect("more entries backwards than forwards");
            assert!(entries[left].0 == iter.key() && entries[left].1 == iter.value());
        } else if left > ENTRIES_MAX / 10 {
            break;
        } else {
            left += 1;
        }
        moved = iter.prev();
    }
    match moved {
        Err(error) => {
            names_file(&error);
            assert!(!whole, "damage is met backwards only: {error}");
        }
        Ok(()) => assert!(!whole || left == 0, "{left} entries fewer backwards"),
    }
    whole.then_some(entries)
}

/// Point lookups, seeks and the rest: whatever they answer, they answer.
fn questions(table: &Arc<TableReader>, entries: &[Entry], ctx: &mut ReadContext) {
    let step = entries.len() / 8 + 1;
    let mut keys: Vec<&[u8]> =
        entries.iter().step_by(step).map(|(key, _)| &key[..key.len() - PACKED_LEN]).collect();
    keys.extend([&b""[..], b"\xff\xff\xff\xff", b"key5"]);
    for key in keys {
        let lookup = LookupKey::new(key, SeqNo::MAX);
        answered(table.get(&lookup, ctx));
        answered(table.may_contain(&lookup, ctx));
        answered(table.prefix_may_match(key, ctx));
        answered(table.approximate_offset_of(key, ctx));
        if let Some(mut versions) = answered(table.versions(&lookup, ctx)) {
            let mut count = 0;
            while let Some(Some(_)) = answered(versions.next_entry()) {
                count += 1;
                assert!(count <= entries.len() + 1);
            }
        }
        let mut iter = table.iter();
        let target = InternalKey::for_seek(key, SeqNo::MAX).encode();
        answered(iter.seek(&target));
        answered(iter.seek_for_prev(&target));
    }
    if let Some(tombstones) = answered(table.range_tombstones(ctx)) {
        for tombstone in tombstones.iter().take(50) {
            tombstones.covering_seqno(&tombstone.start, SeqNo::MAX);
        }
    }
    assert!(!format!("{:?}", table.filter_status()).is_empty());
}

fn answered<T>(result: Result<T, Error>) -> Option<T> {
    result.map_err(|error| names_file(&error)).ok()
}

/// What an undamaged table holds is found, entry by entry. A damaged one whose checksums tell gives the same answers
/// or errors: a damaged filter does not hide a key.
fn nothing_wrong(at: usize, opened: Opened, sound: bool) {
    let name = &bases()[at].name;
    let (table, walked) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            assert!(!sound, "{name} is refused: {error}");
            return;
        }
    };
    assert!(walked.is_some() || !sound, "{name} is not walked through");
    let entries = &base_entries()[at];
    if let Some(walked) = walked {
        assert!(walked == *entries, "{name}: other entries");
    }
    let mut ctx = ReadContext::default();
    for (key, value) in entries.iter().step_by(entries.len() / 50 + 1) {
        let key = InternalKey::decode(key).expect("an entry's key");
        let lookup = LookupKey::new(key.user_key, key.seqno);
        match table.get(&lookup, &mut ctx) {
            Ok(Some(found)) => {
                assert_eq!((found.seqno, found.value_type), (key.seqno, key.value_type), "{name}");
                assert!(*found.value == **value, "{name}");
            }
            Ok(None) => panic!("{name}: {key:?} is not found"),
            Err(error) => assert!(!sound, "{name}: {error}"),
        }
    }
    assert!(!sound || !matches!(table.filter_status(), FilterStatus::Unreadable(_)), "{name}");
}

/// The entries of all base tables.
fn base_entries() -> &'static [Vec<Entry>] {
    static ENTRIES: OnceLock<Vec<Vec<Entry>>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let entries = |base: &BaseTable| {
            let opened = read(base.bytes.clone(), &ReaderOptions::default(), false);
            let walked = opened.unwrap_or_else(|error| panic!("{}: {error}", base.name)).1;
            walked.unwrap_or_else(|| panic!("{} is not walked through", base.name))
        };
        bases().iter().map(entries).collect()
    })
}

/// Base tables as they are, and with an edit of each kind in each of their blocks' ends.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (at, base) in bases().iter().enumerate() {
        seeds.push(vec![at as u8, 0, 1]);
        seeds.push(vec![at as u8, 4, 1]);
        for how in 0..8 {
            let block = (base.blocks.len() - how % base.blocks.len().min(5)) as u16;
            let [low, high] = block.to_le_bytes();
            seeds.push(vec![
                at as u8,
                how as u8 & 4,
                how as u8,
                low,
                high,
                how as u8,
                4,
                0,
                3,
                1,
                2,
                3,
                4,
                5,
                6,
                7,
                8,
            ]);
        }
    }
    let small = bases().iter().filter(|base| base.bytes.len() < 2500);
    seeds.extend(small.map(|base| [&[255, 0][..], &base.bytes].concat()));
    seeds
}
