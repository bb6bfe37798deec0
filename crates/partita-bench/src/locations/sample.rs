//! What to ask of a directory that somebody else made: entries drawn from it, each as likely as any other, and all ledgers.

use std::fs;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

use partita_ledger::{IndexBuilder, IndexOptions};

use crate::lookups::{Key, LedgerEnd, Sample, SplitMix};
use crate::progress::progress_bar;

/// Entries that are drawn at most: several for each data block of an index of ten million entries.
const ENTRIES_MAX: usize = 1 << 21;
/// Bytes of an entry, and of the end of a ledger, in the file.
const ENTRY_BYTES: usize = 24;
const END_BYTES: usize = 16;
/// For reading everything once.
const BUDGET_BYTES: usize = 64 << 20;

/// Reads all of an index once, and leaves it as it is.
///
/// * Errors: those of reading it; if it has no entries.
pub(super) fn draw(dir: &Path, seed: u64) -> Result<Sample, String> {
    let index = IndexBuilder::new(dir, IndexOptions::new(BUDGET_BYTES)).open_read_only();
    let index = index.map_err(|error| error.to_string())?;
    let entries = index.iter().map_err(|error| error.to_string())?;
    let about = index.count().map_err(|error| error.to_string())?;
    let progress = progress_bar(about, "entries");
    let (mut sample, mut random, mut seen) = (Sample::default(), SplitMix::new(seed), 0_u64);
    for entry in entries {
        let entry = entry.map_err(|error| {
            format!("{}: is this a bookie's `locations` directory? {error}", dir.display())
        })?;
        let (ledger, last) = (entry.ledger_id as u64, entry.entry_id as u64);
        // The last entry of a ledger is that of the greatest number below the negative ones.
        match sample.ledgers.last_mut().filter(|end| end.ledger == ledger) {
            Some(end) if entry.entry_id >= 0 => end.last = last,
            None if entry.entry_id >= 0 => sample.ledgers.push(LedgerEnd { ledger, last }),
            _ => {}
        }
        // Each entry takes the place of an earlier one with the likelihood that makes all alike.
        seen += 1;
        let drawn = (Key::new(ledger, last), entry.location as u64);
        if sample.entries.len() < ENTRIES_MAX {
            sample.entries.push(drawn);
        } else if let Some(place) = sample.entries.get_mut(random.below(seen) as usize) {
            *place = drawn;
        }
        if seen.is_multiple_of(1 << 16) {
            progress.set_position(seen);
        }
    }
    progress.finish_and_clear();
    if sample.entries.is_empty() || sample.ledgers.is_empty() {
        return Err(format!("{}: there are no entries to ask for", dir.display()));
    }
    Ok(sample)
}

/// Writes a sample for other processes.
///
/// ```text
/// u64 number of entries | entries: key, location | ends of ledgers: ledger, last entry      all big-endian
/// ```
pub(super) fn write(sample: &Sample, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    file.write_all(&(sample.entries.len() as u64).to_be_bytes())?;
    for (key, location) in &sample.entries {
        file.write_all(&key.0)?;
        file.write_all(&location.to_be_bytes())?;
    }
    for end in &sample.ledgers {
        file.write_all(&end.ledger.to_be_bytes())?;
        file.write_all(&end.last.to_be_bytes())?;
    }
    file.flush()
}

/// Reads it back.
pub(super) fn read(path: &Path) -> std::io::Result<Sample> {
    let length = fs::metadata(path)?.len();
    let mut file = BufReader::new(fs::File::open(path)?);
    let mut word = [0; 8];
    file.read_exact(&mut word)?;
    let entries = u64::from_be_bytes(word);
    let behind = entries
        .checked_mul(ENTRY_BYTES as u64)
        .and_then(|bytes| length.checked_sub(8)?.checked_sub(bytes))
        .ok_or_else(|| std::io::Error::other("the sample is shorter than it says"))?;
    let mut sample = Sample::default();
    for _ in 0..entries {
        let mut key = Key::default();
        file.read_exact(&mut key.0)?;
        file.read_exact(&mut word)?;
        sample.entries.push((key, u64::from_be_bytes(word)));
    }
    for _ in 0..behind / END_BYTES as u64 {
        file.read_exact(&mut word)?;
        let ledger = u64::from_be_bytes(word);
        file.read_exact(&mut word)?;
        sample.ledgers.push(LedgerEnd { ledger, last: u64::from_be_bytes(word) });
    }
    Ok(sample)
}
