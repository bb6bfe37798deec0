//! Rewrites one table.

use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;
use std::sync::Arc;

use partita::iter::InternalIterator as _;
use partita::key::{PrefixExtractor, SeqNo, append_internal_key};
use partita::options::TableOptions;
use partita::table::{
    BlockRole, RangeTombstones, ReadContext, ReaderOptions, TableBuilder, TableContext,
    TableProperties, TableReader, verify_table,
};
use partita::{Error, Result};

use super::session_id::new_session_id;
use super::target::Target;
use crate::progress::Progress;
use crate::sst::{open, open_file};

/// What was rewritten.
#[derive(Debug, Default)]
pub(super) struct Copied {
    pub(super) entries: u64,
    pub(super) range_tombstones: u64,
    pub(super) bytes_before: u64,
    pub(super) bytes_after: u64,
}

impl Copied {
    pub(super) fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.range_tombstones += other.range_tombstones;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
    }
}

/// Rewrites the table `from` as `to`, verified before it gets its name.
///
/// * `options`: option strings over the defaults.
/// * Errors: `Corruption` if `from` is damaged; `InvalidArgument` if `to` exists or the options do not go together.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    options: &[String],
    progress: &mut Progress,
) -> Result<Copied> {
    let table = open(from)?;
    let options = table_options(&table, options)?;
    let (target, writer) = Target::create(to)?;
    let context = context_of(table.properties());
    let mut builder =
        TableBuilder::new(Box::new(writer), options, table.key_order().clone(), context)?;
    builder.carry_properties(table.properties());
    let written = write_entries(&table, &mut builder, progress)?;
    let summary = builder.finish()?;

    let kept = verify(target.temporary(), progress)?;
    if kept != written {
        return Err(Error::corruption("what was written reads otherwise; the file is given up")
            .in_file(target.temporary()));
    }
    target.publish()?;
    Ok(Copied {
        entries: written.entries,
        range_tombstones: written.range_tombstones,
        bytes_before: table.file_len(),
        bytes_after: summary.file_size,
    })
}

/// The options for the new file: defaults, what the old file tells of its filter's keys, then what is asked for.
fn table_options(table: &TableReader, asked: &[String]) -> Result<TableOptions> {
    let properties = table.properties();
    let mut options = TableOptions::default();
    options.prefix_extractor = TableProperties::name_of(&properties.prefix_extractor_name)
        .and_then(PrefixExtractor::builtin);
    // A filter without prefixes holds whole keys or nothing.
    options.whole_key_filtering =
        options.prefix_extractor.is_none() || properties.whole_key_filtering.unwrap_or(true);
    options.apply(&asked.join(";"))?;
    options.validate()?;
    Ok(options)
}

/// What tells of the file's origin. The session id is new: see the command's help.
fn context_of(properties: &TableProperties) -> TableContext {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let default = TableContext::default();
    TableContext {
        column_family_id: properties.column_family_id.unwrap_or(default.column_family_id),
        column_family_name: text(&properties.column_family_name),
        db_id: text(&properties.db_id),
        db_session_id: new_session_id(),
        db_host_id: text(&properties.db_host_id),
        file_number: properties.original_file_number.unwrap_or(default.file_number),
        creation_time: properties.creation_time.unwrap_or(0),
        oldest_key_time: properties.oldest_key_time.unwrap_or(0),
        newest_key_time: properties.newest_key_time.unwrap_or(0),
        // Compactions by age go by it, and the data is as old as before.
        file_creation_time: properties.file_creation_time.unwrap_or(0),
        merge_operator_name: TableProperties::name_of(&properties.merge_operator_name)
            .map(str::to_owned),
        ..default
    }
}

/// What a table holds, in few bytes: equal tables have equal digests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Digest {
    entries: u64,
    range_tombstones: u64,
    points: u64,
    ranges: u64,
}

/// Hashes entries one after the other.
#[derive(Default)]
struct EntryHasher {
    hasher: DefaultHasher,
    count: u64,
}

impl EntryHasher {
    fn note(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        for part in [key, value] {
            self.hasher.write_usize(part.len());
            self.hasher.write(part);
        }
    }
}

/// Walks over all entries of `table` and hands each on, by its stored key.
///
/// In a table with a global sequence number all stored numbers are 0; that number stands in a property, which is carried
/// over, so the entries must stay at 0.
fn walk(
    table: &Arc<TableReader>,
    progress: &mut Progress,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<EntryHasher> {
    let mut hasher = EntryHasher::default();
    let mut iter = table.iter();
    iter.pass_cache_by();
    let mut stored_key = Vec::new();
    let mut bytes = 0;
    iter.seek_to_first()?;
    while iter.is_valid() {
        let key = match (table.global_seqno(), iter.key().split_last_chunk::<8>()) {
            (Some(_), Some((user_key, packed))) => {
                stored_key.clear();
                let value_type = u64::from_le_bytes(*packed) & 0xff;
                append_internal_key(&mut stored_key, user_key, value_type);
                &stored_key[..]
            }
            _ => iter.key(),
        };
        hasher.note(key, iter.value());
        each(key, iter.value())?;
        let read = iter.context().bytes_read[BlockRole::Data];
        progress.tick(read - std::mem::replace(&mut bytes, read));
        iter.next()?;
    }
    Ok(hasher)
}

/// The range tombstones as stored.
fn stored_tombstones(table: &TableReader) -> Result<(Arc<RangeTombstones>, Option<SeqNo>)> {
    let tombstones = Arc::clone(table.range_tombstones(&mut ReadContext::default())?);
    Ok((tombstones, table.global_seqno().map(|_| SeqNo::ZERO)))
}

fn write_entries(
    table: &Arc<TableReader>,
    builder: &mut TableBuilder,
    progress: &mut Progress,
) -> Result<Digest> {
    let (tombstones, stored_seqno) = stored_tombstones(table)?;
    for tombstone in tombstones.iter() {
        let seqno = stored_seqno.unwrap_or(tombstone.seqno);
        builder.add_range_tombstone(&tombstone.start, &tombstone.end, seqno)?;
    }
    let points = walk(table, progress, |key, value| builder.add(key, value))?;
    Ok(digest(&points, &tombstones, stored_seqno))
}

fn digest(
    points: &EntryHasher,
    tombstones: &RangeTombstones,
    stored_seqno: Option<SeqNo>,
) -> Digest {
    let mut ranges = EntryHasher::default();
    for tombstone in tombstones.iter() {
        let seqno = stored_seqno.unwrap_or(tombstone.seqno);
        ranges.note(&tombstone.start, &tombstone.end);
        ranges.hasher.write_u64(seqno.get());
    }
    Digest {
        entries: points.count,
        range_tombstones: ranges.count,
        points: points.hasher.finish(),
        ranges: ranges.hasher.finish(),
    }
}

/// Checks every block of a table that was just written, and says what it holds.
fn verify(path: &Path, progress: &mut Progress) -> Result<Digest> {
    let file = open_file(path)?;
    let report = verify_table(&file, &ReaderOptions::default(), &mut |_| {});
    if let Some(error) = report.damages.into_iter().next().or(report.not_opened) {
        return Err(error);
    }
    let table = open(path)?;
    let (tombstones, stored_seqno) = stored_tombstones(&table)?;
    let points = walk(&table, progress, |_, _| Ok(()))?;
    Ok(digest(&points, &tombstones, stored_seqno))
}
