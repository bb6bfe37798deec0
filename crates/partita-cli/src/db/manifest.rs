//! `partita db manifest`: the edits of a manifest.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::Result;
use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::{InternalKey, SeqNo};
use partita::version::edit::{DeletedFile, NewFile};
use partita::version::{FileMeta, FileNumber, ManifestEdit, ManifestReader, VersionEdit};
use serde::Serialize;

use crate::escape::Form;
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::units::exact_size;

/// Print the edits of a manifest: what tables came and went, and the numbers beside them.
///
/// One line for each edit, with the offset of its record; below it a line with + for each table that comes, and one with -
/// for each that goes. A boundary is printed as user key, sequence number and type.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db manifest /var/lib/db                    the manifest that CURRENT names
  partita db manifest /var/lib/db/MANIFEST-000005
  partita db manifest --json db/ | jq 'select(.deleted_files)'

--json prints one object an edit, each on a line of its own; what does not change is left out.
  offset, bytes  where the record is
  family, and db_id, comparator, log_number, next_file_number, last_sequence, min_log_number_to_keep, max_family,
  family_added, family_dropped, atomic_group_remaining, wal_deletion
  deleted_files  [level, number]
  new_files      [level, number, path_id, bytes, smallest, largest, smallest_seqno, largest_seqno, epoch, creation_time,
                 unique_id]
  blob_files     [number, blobs, bytes]
  blob_garbage   [number, blobs, bytes]
  wal_additions  [number, synced_bytes]
  unknown_fields [tag]

Exit code: 0 all was printed, 1 damage was found, 2 the manifest could not be looked at.")]
pub(crate) struct Manifest {
    /// The directory of a database, or a manifest.
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,
    /// Print keys in hexadecimal.
    #[arg(long)]
    hex: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Manifest {
    /// Prints the edits. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let mut out = output::stdout();
        let form = Form::hex_if(self.hex);
        let result = open(&self.path);
        let mut reader = match result {
            Ok(reader) => reader,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::of_error(&error));
            }
        };
        loop {
            match reader.next_edit() {
                Ok(Some(edit)) if self.json => write_json(&edit, form, &mut out)?,
                Ok(Some(edit)) => write_text(&edit, form, &mut out)?,
                Ok(None) => {
                    out.flush()?;
                    return Ok(Outcome::Clean);
                }
                Err(error) => {
                    out.flush()?;
                    output::complain(&error);
                    return Ok(Outcome::of_error(&error));
                }
            }
        }
    }
}

fn open(path: &Path) -> Result<ManifestReader> {
    if path.is_dir() {
        return Ok(ManifestReader::open_current(&DiskFileSystem, path)?.1);
    }
    Ok(ManifestReader::new(DiskFileSystem.open_sequential(path)?))
}

fn write_text(found: &ManifestEdit, form: Form, out: &mut Out) -> io::Result<()> {
    let edit = &found.edit;
    writeln!(out, "{:#x}: {}", found.offset, summary(edit).join(", "))?;
    for DeletedFile { level, number } in &edit.deleted_files {
        writeln!(out, "  - level {level}  {number}.sst")?;
    }
    for NewFile { level, file } in &edit.new_files {
        let boundary = |key: &[u8]| boundary(key, form);
        write!(out, "  + level {level}  {}.sst", file.number)?;
        if file.path_id != 0 {
            write!(out, " in path {}", file.path_id)?;
        }
        write!(out, "  {}", exact_size(file.file_bytes))?;
        write!(out, "  {} .. {}", boundary(&file.smallest), boundary(&file.largest))?;
        write!(out, "  seqnos {}..{}", file.smallest_seqno, file.largest_seqno)?;
        match file.epoch {
            0 => writeln!(out)?,
            epoch => writeln!(out, "  epoch {epoch}")?,
        }
    }
    for blob in &edit.blob_additions {
        let size = exact_size(blob.blob_bytes);
        writeln!(out, "  + {}.blob  {} blobs  {size}", blob.number, blob.blob_count)?;
    }
    for blob in &edit.blob_garbage {
        let size = exact_size(blob.blob_bytes);
        writeln!(out, "  garbage in {}.blob  {} blobs  {size}", blob.number, blob.blob_count)?;
    }
    Ok(())
}

/// What an edit says besides files, in words.
fn summary(edit: &VersionEdit) -> Vec<String> {
    let mut words = vec![match (&edit.family_added, edit.family_dropped) {
        (Some(name), _) => format!("family {} {name:?} comes", edit.family),
        (None, true) => format!("family {} goes", edit.family),
        (None, false) => format!("family {}", edit.family),
    }];
    let mut say = |what: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{what} {value}")));
    };
    say("database id", edit.db_id.clone());
    say("comparator", edit.comparator.clone());
    say("log", edit.log_number.map(|number| number.to_string()));
    say("logs to keep from", edit.min_log_number_to_keep.map(|number| number.to_string()));
    say("next file", edit.next_file_number.map(|number| number.to_string()));
    say("last sequence", edit.last_sequence.map(|seqno| seqno.to_string()));
    say("greatest family", edit.max_family.map(|id| id.to_string()));
    say("atomic group, to follow:", edit.atomic_group_remaining.map(|left| left.to_string()));
    say("logs are gone before", edit.wal_deletion.map(|number| number.to_string()));
    for wal in &edit.wal_additions {
        let synced = wal.synced_bytes.map_or(String::new(), |bytes| format!(" ({bytes} bytes)"));
        say("log comes", Some(format!("{}{synced}", wal.number)));
    }
    say("persisted timestamps", edit.persist_user_defined_timestamps.map(|yes| yes.to_string()));
    let size = edit.last_compacted_manifest_bytes.map(|bytes| bytes.to_string());
    say("manifest began with bytes", size);
    for field in &edit.unknown {
        say("unknown field", Some(field.tag.to_string()));
    }
    words
}

fn boundary(key: &[u8], form: Form) -> String {
    match InternalKey::decode(key) {
        Ok(key) => format!("{} @{} {}", form.text(key.user_key), key.seqno, key.value_type),
        Err(_) => form.text(key),
    }
}

fn write_json(found: &ManifestEdit, form: Form, out: &mut Out) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &EditJson::new(found, form))?;
    writeln!(out)
}

/// An edit as JSON; what does not change is left out.
#[derive(Serialize)]
struct EditJson<'e> {
    offset: u64,
    bytes: usize,
    family: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    db_id: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparator: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_file_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_log_number_to_keep: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_family: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    family_added: Option<&'e str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    family_dropped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    atomic_group_remaining: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wal_deletion: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deleted_files: Vec<DeletedJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    new_files: Vec<FileJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blob_files: Vec<BlobJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blob_garbage: Vec<BlobJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wal_additions: Vec<WalJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_fields: Vec<u32>,
}

#[derive(Serialize)]
struct DeletedJson {
    level: u32,
    number: u64,
}

#[derive(Serialize)]
struct FileJson {
    level: u32,
    number: u64,
    path_id: u8,
    bytes: u64,
    smallest: String,
    largest: String,
    smallest_seqno: u64,
    largest_seqno: u64,
    epoch: u64,
    creation_time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_id: Option<String>,
}

#[derive(Serialize)]
struct BlobJson {
    number: u64,
    blobs: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct WalJson {
    number: u64,
    synced_bytes: Option<u64>,
}

impl<'e> EditJson<'e> {
    fn new(found: &'e ManifestEdit, form: Form) -> Self {
        let edit = &found.edit;
        let deleted =
            |file: &DeletedFile| DeletedJson { level: file.level, number: file.number.get() };
        let blob = |number: u64, blobs, bytes| BlobJson { number, blobs, bytes };
        let wals = edit.wal_additions.iter();
        Self {
            offset: found.offset,
            bytes: found.record_bytes,
            family: edit.family,
            db_id: edit.db_id.as_deref(),
            comparator: edit.comparator.as_deref(),
            log_number: edit.log_number.map(FileNumber::get),
            next_file_number: edit.next_file_number.map(FileNumber::get),
            last_sequence: edit.last_sequence.map(SeqNo::get),
            min_log_number_to_keep: edit.min_log_number_to_keep.map(FileNumber::get),
            max_family: edit.max_family,
            family_added: edit.family_added.as_deref(),
            family_dropped: edit.family_dropped,
            atomic_group_remaining: edit.atomic_group_remaining,
            wal_deletion: edit.wal_deletion.map(FileNumber::get),
            deleted_files: edit.deleted_files.iter().map(deleted).collect(),
            new_files: edit
                .new_files
                .iter()
                .map(|new| FileJson::new(new.level, &new.file, form))
                .collect(),
            blob_files: edit
                .blob_additions
                .iter()
                .map(|file| blob(file.number.get(), file.blob_count, file.blob_bytes))
                .collect(),
            blob_garbage: edit
                .blob_garbage
                .iter()
                .map(|file| blob(file.number.get(), file.blob_count, file.blob_bytes))
                .collect(),
            wal_additions: wals
                .map(|wal| WalJson { number: wal.number.get(), synced_bytes: wal.synced_bytes })
                .collect(),
            unknown_fields: edit.unknown.iter().map(|field| field.tag).collect(),
        }
    }
}

impl FileJson {
    fn new(level: u32, file: &FileMeta, form: Form) -> Self {
        Self {
            level,
            number: file.number.get(),
            path_id: file.path_id,
            bytes: file.file_bytes,
            smallest: boundary(&file.smallest, form),
            largest: boundary(&file.largest, form),
            smallest_seqno: file.smallest_seqno.get(),
            largest_seqno: file.largest_seqno.get(),
            epoch: file.epoch,
            creation_time: file.creation_time,
            unique_id: file.unique_id.map(|id| Form::Hex.text(&id)),
        }
    }
}
