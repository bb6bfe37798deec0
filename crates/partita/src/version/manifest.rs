//! The manifest being written: a log of edits that begins with a snapshot of everything.
//!
//! ```text
//! record    {database id}
//! records   of each family: {comparator, number, name}, {tables …}, …, {tables, blob files, log number}
//! records   edits, as they come
//! ```

use std::path::Path;
use std::sync::Arc;

use super::edit::{BlobFileGarbage, NewFile};
use super::family::DEFAULT_FAMILY;
use super::{Family, FileName, FileNumber, Version, VersionEdit};
use crate::error::Result;
use crate::io::FileSystem;
use crate::key::SeqNo;
use crate::util::sync::lock;
use crate::wal::{LogWriter, LogWriterOptions};

/// Tables in one record of a snapshot, so that neither writer nor reader holds all of them as bytes.
const TABLES_PER_RECORD: usize = 1000;

/// What a snapshot is made of.
pub(super) struct SnapshotState<'a> {
    pub(super) db_id: Option<&'a str>,
    pub(super) families: &'a [Arc<Family>],
    pub(super) last_sequence: SeqNo,
    pub(super) min_log_number_to_keep: FileNumber,
    pub(super) max_family: u32,
}

/// Appends edits to a manifest that it has begun.
#[derive(Debug)]
pub(super) struct ManifestWriter {
    log: LogWriter,
    /// Size when the snapshot was written.
    snapshot_bytes: u64,
    record: Vec<u8>,
}

impl ManifestWriter {
    /// Begins a manifest with a snapshot. It is not synced yet.
    pub(super) fn create(
        fs: &dyn FileSystem,
        dir: &Path,
        number: FileNumber,
        state: &SnapshotState<'_>,
    ) -> Result<Self> {
        let file = fs.create_new(&FileName::Manifest(number).in_dir(dir))?;
        let log = LogWriter::new(file, &LogWriterOptions::default())?;
        let mut writer = Self { log, snapshot_bytes: 0, record: Vec::new() };
        state.for_each_record(&mut |edit| writer.append_one(edit))?;
        writer.snapshot_bytes = writer.log.offset();
        Ok(writer)
    }

    /// Appends edits, one record each.
    pub(super) fn append(&mut self, edits: &[VersionEdit]) -> Result<()> {
        edits.iter().try_for_each(|edit| self.append_one(edit))
    }

    fn append_one(&mut self, edit: &VersionEdit) -> Result<()> {
        self.record.clear();
        edit.encode_to(&mut self.record);
        self.log.add_record(&[&self.record])?;
        Ok(())
    }

    /// Bytes of all edits so far.
    pub(super) fn bytes(&self) -> u64 {
        self.log.offset()
    }

    /// Makes all edits durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.log.sync()
    }

    /// Whether a new manifest should be begun: it is over the limit, and a snapshot would be less than half of it.
    pub(super) fn is_full(&self, limit: u64) -> bool {
        self.log.offset() > limit.max(self.snapshot_bytes.saturating_mul(2))
    }
}

impl SnapshotState<'_> {
    fn for_each_record(&self, write: &mut dyn FnMut(&VersionEdit) -> Result<()>) -> Result<()> {
        if let Some(id) = self.db_id {
            write(&VersionEdit { db_id: Some(id.to_owned()), ..VersionEdit::default() })?;
        }
        for family in self.families {
            write(&self.family_record(family))?;
            self.file_records(family, write)?;
        }
        Ok(())
    }

    fn family_record(&self, family: &Family) -> VersionEdit {
        let added = (family.id() != DEFAULT_FAMILY).then(|| family.name().to_owned());
        VersionEdit {
            family: family.id(),
            family_added: added,
            comparator: Some(family.key_order().name().to_owned()),
            // Numbers of families are never used again, those of dropped ones included.
            max_family: (family.id() == DEFAULT_FAMILY).then_some(self.max_family),
            // RocksDB before 8 does not know the field, and the default needs no words.
            persist_user_defined_timestamps: (!family.timestamps_persisted()).then_some(false),
            ..VersionEdit::default()
        }
    }

    fn file_records(
        &self,
        family: &Family,
        write: &mut dyn FnMut(&VersionEdit) -> Result<()>,
    ) -> Result<()> {
        let version = family.current();
        let empty = || VersionEdit { family: family.id(), ..VersionEdit::default() };
        let mut edit = empty();
        for (level, file) in version.files() {
            if edit.new_files.len() == TABLES_PER_RECORD {
                write(&edit)?;
                edit = empty();
            }
            edit.new_files.push(NewFile { level: level as u32, file: file.meta.clone() });
        }
        edit.compact_cursors = version.compact_cursors().to_vec();
        add_blob_files(&version, &mut edit);
        edit.log_number = Some(family.log_number());
        let min_log = Some(self.min_log_number_to_keep);
        edit.min_log_number_to_keep =
            min_log.filter(|number| family.id() == DEFAULT_FAMILY && number.get() != 0);
        edit.full_history_ts_low = lock(&family.full_history_ts_low).clone();
        edit.last_sequence = Some(self.last_sequence);
        write(&edit)
    }
}

fn add_blob_files(version: &Version, edit: &mut VersionEdit) {
    for (number, file) in version.blob_files() {
        edit.blob_additions.push(file.addition.clone());
        if file.garbage_count > 0 {
            edit.blob_garbage.push(BlobFileGarbage {
                number: *number,
                blob_count: file.garbage_count,
                blob_bytes: file.garbage_bytes,
                ..BlobFileGarbage::default()
            });
        }
    }
}
