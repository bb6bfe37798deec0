//! Writing an edit, in RocksDB's order of fields.

use super::tags::{edit, wal};
use super::{VersionEdit, WalAddition, file};
use crate::key::SeqNo;
use crate::util::coding::{put_length_prefixed, put_varint};
use crate::version::FileNumber;

impl VersionEdit {
    /// The edit as the payload of a manifest record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_to(&mut out);
        out
    }

    /// Appends the edit to `out`.
    ///
    /// Every field written is one that RocksDB 7.8 knows or skips, unless the edit holds one from later versions.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        self.encode_numbers(out);
        self.encode_files(out);
        self.encode_wals(out);
        self.encode_family(out);
        self.encode_rest(out);
    }

    fn encode_numbers(&self, out: &mut Vec<u8>) {
        put_text(out, edit::DB_ID, self.db_id.as_deref());
        put_text(out, edit::COMPARATOR, self.comparator.as_deref());
        put_integer(out, edit::LOG_NUMBER, self.log_number.map(FileNumber::get));
        put_integer(out, edit::PREV_LOG_NUMBER, self.prev_log_number.map(FileNumber::get));
        put_integer(out, edit::NEXT_FILE_NUMBER, self.next_file_number.map(FileNumber::get));
        put_integer(out, edit::MAX_FAMILY, self.max_family.map(u64::from));
        let min_log = self.min_log_number_to_keep.map(FileNumber::get);
        put_integer(out, edit::MIN_LOG_NUMBER_TO_KEEP, min_log);
        put_integer(out, edit::LAST_SEQUENCE, self.last_sequence.map(SeqNo::get));
    }

    fn encode_files(&self, out: &mut Vec<u8>) {
        for cursor in &self.compact_cursors {
            put_varint(out, u64::from(edit::COMPACT_CURSOR));
            put_varint(out, u64::from(cursor.level));
            put_length_prefixed(out, &cursor.key);
        }
        for deleted in &self.deleted_files {
            put_varint(out, u64::from(edit::DELETED_FILE));
            put_varint(out, u64::from(deleted.level));
            put_varint(out, deleted.number.get());
        }
        let mut min_log = self.min_log_number_to_keep;
        for new in &self.new_files {
            file::encode_to(new.level, &new.file, min_log.take(), out);
        }
        for addition in &self.blob_additions {
            put_varint(out, u64::from(edit::BLOB_FILE_ADDITION));
            addition.encode_to(out);
        }
        for garbage in &self.blob_garbage {
            put_varint(out, u64::from(edit::BLOB_FILE_GARBAGE));
            garbage.encode_to(out);
        }
    }

    fn encode_wals(&self, out: &mut Vec<u8>) {
        for addition in &self.wal_additions {
            put_bytes(out, edit::WAL_ADDITION, &addition.encode());
        }
        if let Some(number) = self.wal_deletion {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number.get());
            put_bytes(out, edit::WAL_DELETION, &bytes);
        }
    }

    fn encode_family(&self, out: &mut Vec<u8>) {
        let family = Some(self.family).filter(|id| *id != 0);
        put_integer(out, edit::FAMILY, family.map(u64::from));
        put_text(out, edit::FAMILY_ADD, self.family_added.as_deref());
        if self.family_dropped {
            put_varint(out, u64::from(edit::FAMILY_DROP));
        }
        put_integer(out, edit::ATOMIC_GROUP, self.atomic_group_remaining.map(u64::from));
    }

    fn encode_rest(&self, out: &mut Vec<u8>) {
        if let Some(low) = &self.full_history_ts_low {
            put_bytes(out, edit::FULL_HISTORY_TS_LOW, low);
        }
        if let Some(persist) = self.persist_user_defined_timestamps {
            put_bytes(out, edit::PERSIST_USER_DEFINED_TIMESTAMPS, &[u8::from(persist)]);
        }
        if let Some(progress) = &self.subcompaction_progress {
            put_bytes(out, edit::SUBCOMPACTION_PROGRESS, progress);
        }
        if let Some(size) = self.last_compacted_manifest_bytes {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, size);
            put_bytes(out, edit::LAST_COMPACTED_MANIFEST_BYTES, &bytes);
        }
        for field in &self.unknown {
            put_bytes(out, field.tag, &field.bytes);
        }
    }
}

impl WalAddition {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.number.get());
        put_integer(&mut out, wal::SYNCED_BYTES, self.synced_bytes);
        put_varint(&mut out, u64::from(wal::END));
        out
    }
}

fn put_integer(out: &mut Vec<u8>, tag: u32, value: Option<u64>) {
    if let Some(value) = value {
        put_varint(out, u64::from(tag));
        put_varint(out, value);
    }
}

fn put_text(out: &mut Vec<u8>, tag: u32, text: Option<&str>) {
    if let Some(text) = text {
        put_bytes(out, tag, text.as_bytes());
    }
}

fn put_bytes(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    put_varint(out, u64::from(tag));
    put_length_prefixed(out, bytes);
}
