//! Manifests of any records: recovery, and going on from it.
//!
//! ```text
//! input:  mode u8 | record, record, …     mode even: length u8, bytes; odd: the rest is the file
//! ```
//!
//! * What is recovered is recovered as the same after a rewrite of the manifest.
//! * The search finds in every level what a look at all its tables finds.

use std::path::Path;
use std::sync::Arc;

use partita::io::{FileSystem, MemoryFileSystem};
use partita::key::SeqNo;
use partita::table::LookupKey;
use partita::version::{FileMeta, FileNumber, Version, VersionEdit, VersionSet, VersionSetOptions};
use partita::wal::{LogWriter, LogWriterOptions};

use super::version_edit;
use crate::choices::Choices;

const DB: &str = "/db";

/// Recovers from a manifest.
pub fn run(bytes: &[u8]) {
    let disk = MemoryFileSystem::new();
    write_manifest(&disk, bytes).expect("memory can be written");
    let recover =
        || VersionSet::recover(Arc::new(disk.clone()), Path::new(DB), VersionSetOptions::default());
    let Ok(set) = recover() else { return };
    for family in set.families() {
        search(&family.current());
    }
    let before = state(&set);
    set.log_and_apply(vec![VersionEdit::default()]).expect("an empty edit fits");
    let again = recover().expect("what was written is read");
    assert_eq!(state(&again), before);
}

type State = Vec<(u32, String, FileNumber, Vec<(usize, FileMeta)>)>;

fn state(set: &VersionSet) -> State {
    let files = |version: &Version| -> Vec<(usize, FileMeta)> {
        version.files().map(|(level, file)| (level, FileMeta::clone(file))).collect()
    };
    let families = set.families();
    families
        .iter()
        .map(|family| {
            let name = family.name().to_owned();
            (family.id(), name, family.log_number(), files(&family.current()))
        })
        .collect()
}

fn search(version: &Version) {
    let order = version.key_order();
    let keys: Vec<Vec<u8>> = version
        .files()
        .flat_map(|(_, file)| [file.smallest_user_key(), file.largest_user_key()])
        .map(<[u8]>::to_vec)
        .take(64)
        .collect();
    for user_key in &keys {
        let key = LookupKey::new(user_key, SeqNo::MAX);
        let found: Vec<FileNumber> =
            version.candidates(&key).map(|candidate| candidate.file.number).collect();
        let expected: Vec<FileNumber> = version
            .files()
            .filter(|(_, file)| {
                order.compare(file.smallest_user_key(), user_key).is_le()
                    && order.compare_internal(&key.seek_key().encode(), &file.largest).is_le()
            })
            .map(|(_, file)| file.number)
            .collect();
        assert_eq!(found, expected, "{}", user_key.escape_ascii());
    }
}

fn write_manifest(disk: &MemoryFileSystem, bytes: &[u8]) -> partita::Result<()> {
    let dir = Path::new(DB);
    disk.create_dir_all(dir)?;
    let mut current = disk.create(&dir.join("CURRENT"))?;
    current.append(b"MANIFEST-000001\n")?;
    current.sync()?;
    let mut file = disk.create(&dir.join("MANIFEST-000001"))?;
    let mut choices = Choices::new(bytes);
    if choices.byte() % 2 == 1 {
        file.append(choices.rest())?;
        return file.sync();
    }
    let mut log = LogWriter::new(file, &LogWriterOptions::default())?;
    while !choices.is_empty() {
        log.add_record(&[choices.short_bytes()])?;
    }
    log.sync()
}

/// Manifests that can be recovered.
pub fn seeds() -> Vec<Vec<u8>> {
    let globals = VersionEdit {
        log_number: Some(3.into()),
        next_file_number: Some(100.into()),
        last_sequence: SeqNo::new(9),
        ..VersionEdit::default()
    };
    let family = |id, name: &str| VersionEdit {
        family: id,
        family_added: Some(name.to_owned()),
        ..VersionEdit::default()
    };
    let table = |level: u8, number: u8, from: u8, to: u8| -> Vec<u8> {
        let key = |user_key| [8 + 1, user_key, 1, 7, 0, 0, 0, 0, 0, 0];
        let end = [5, 7, 13, 1, number, 1];
        [&[103, level, number, 50][..], &key(from), &key(to), &end].concat()
    };
    let tables = |tables: &[[u8; 4]]| -> Vec<u8> {
        tables
            .iter()
            .flat_map(|[level, number, from, to]| table(*level, *number, *from, *to))
            .collect()
    };
    let start = globals.encode();
    let inputs: [Vec<Vec<u8>>; 4] = [
        vec![start.clone(), tables(&[[0, 5, 1, 9], [0, 6, 4, 5], [1, 7, 1, 3], [1, 8, 4, 9]])],
        vec![
            start.clone(),
            family(1, "x").encode(),
            [&[200, 1, 1][..], &table(1, 7, 1, 3)].concat(),
        ],
        vec![start.clone(), tables(&[[1, 7, 1, 3]]), vec![6, 1, 7], tables(&[[2, 7, 1, 3]])],
        vec![start, [&tables(&[[0, 5, 1, 9]])[..], &[172, 2, 1]].concat(), vec![172, 2, 0]],
    ];
    let pack = |records: &Vec<Vec<u8>>| -> Vec<u8> {
        let records =
            records.iter().flat_map(|record| [&[record.len() as u8][..], record].concat());
        [0].into_iter().chain(records).collect()
    };
    let mut seeds: Vec<Vec<u8>> = inputs.iter().map(pack).collect();
    seeds.extend(
        version_edit::seeds().into_iter().map(|record| pack(&vec![globals.encode(), record])),
    );
    seeds
}
