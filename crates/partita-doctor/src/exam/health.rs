//! Health of files: what is missing, damaged or left over, and what can be recovered.

use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::{Problem, TableState};
use crate::units::{counted, size};

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let findings = [
        manifest(case),
        missing(case),
        wrong_size(case),
        damaged(case),
        missing_blobs(case),
        leftover(case),
        elsewhere(case),
    ];
    findings.into_iter().flatten().collect()
}

/// CURRENT or the manifest does not lead to the state of the database.
fn manifest(case: &Case<'_>) -> Option<Finding> {
    let database = case.database;
    let first = database.problems.first()?;
    let names_current = first.file.as_deref().is_some_and(|file| file.ends_with("CURRENT"));
    let (code, what) = match (names_current, &database.manifest) {
        (true, _) => ("current-damaged", "CURRENT does not name a manifest"),
        (false, None) => ("manifest-missing", "the manifest cannot be read"),
        (false, Some(_)) => ("manifest-damaged", "the manifest is damaged"),
    };
    let consequence = "The database does not open: nothing else says which tables belong to it and to which level.";
    let known = database.tables.len() as u64;
    let there = database.layouts().count() as u64;
    let mut finding = Finding::new(Severity::Error, code, what, consequence)
        .evidence(problems(&database.problems))
        .figure("tables_known", "tables known up to the damage", Value::Count(known))
        .figure("tables_there", "of them there and readable", Value::Count(there));
    if let Some(manifest) = &database.manifest {
        finding = finding
            .figure(
                "manifest",
                "manifest that was read",
                Value::text(format!("MANIFEST-{:06}", manifest.number)),
            )
            .figure("edits", "its edits before the damage", Value::Count(manifest.edits));
    }
    let orphans = database.files.orphan_tables.len() as u64;
    if orphans > 0 {
        finding =
            finding.figure("tables_unnamed", "tables that it does not name", Value::Count(orphans));
    }
    let remedy = match (names_current, &database.manifest) {
        (true, Some(manifest)) if known == there => format!(
            "on a copy of the directory, write \"MANIFEST-{:06}\" and a line feed into CURRENT: all tables of that manifest are \
             there",
            manifest.number
        ),
        _ => "restore a backup; without one, ldb repair on a copy finds tables and logs again, but neither column families \
              other than the default nor the right levels"
            .to_owned(),
    };
    Some(
        finding.remedy(
            Remedy::new(remedy).partita(
                "opens nothing that is damaged, and says where; it repairs nothing in place",
            ),
        ),
    )
}

fn problems(list: &[Problem]) -> Evidence {
    let rows = list.iter().map(|problem| vec![Value::text(problem.message.as_str())]);
    Evidence::new("problem", &["what"], rows)
}

fn missing(case: &Case<'_>) -> Option<Finding> {
    let missing: Vec<_> = case
        .database
        .tables
        .iter()
        .filter(|table| matches!(table.state, TableState::Missing))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let title = format!("{} missing", are(missing.len() as u64, "table"));
    let bytes: u64 = missing.iter().map(|table| table.file_bytes).sum();
    // Where the directory changed to the end, they may have been replaced.
    let severity = if case.database.changes_seen > 0 { Severity::Warning } else { Severity::Error };
    let consequence = "The manifest names them. RocksDB does not open the database with paranoid checks, and without these \
        every lookup that needs one fails. The keys of that range at that level are lost; older versions of them may be in \
        levels below.";
    let rows = missing.iter().map(|table| {
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::text(format!("L{}", table.level)),
            Value::Bytes(table.file_bytes),
        ]
    });
    let finding = Finding::new(severity, "tables-missing", title, consequence)
        .figure("bytes", "in them", Value::Bytes(bytes))
        .evidence(Evidence::new("file", &["file", "family", "level", "bytes"], rows))
        .remedy(Remedy::new(
            "put the files back from a backup or checkpoint; else ldb unsafe_remove_sst_file on a copy takes them out of the \
             manifest, with what was in them",
        ));
    Some(finding)
}

fn are(number: u64, noun: &str) -> String {
    format!("{} {}", counted(number, noun), if number == 1 { "is" } else { "are" })
}

fn wrong_size(case: &Case<'_>) -> Option<Finding> {
    let wrong: Vec<_> = case
        .database
        .layouts()
        .filter(|(table, layout)| table.file_bytes != layout.file_bytes)
        .collect();
    if wrong.is_empty() {
        return None;
    }
    let title = format!("{} not as long as the manifest says", are(wrong.len() as u64, "table"));
    let consequence = "RocksDB refuses to open the database with paranoid checks. A file was cut, or replaced by another one.";
    let rows = wrong.iter().map(|(table, layout)| {
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::Count(table.file_bytes),
            Value::Count(layout.file_bytes),
        ]
    });
    let columns = ["file", "family", "manifest", "file has"];
    let finding = Finding::new(Severity::Error, "tables-of-wrong-size", title, consequence)
        .evidence(Evidence::new("file", &columns, rows))
        .remedy(Remedy::new("put the files back from a backup or checkpoint"));
    Some(finding)
}

/// Damage in tables: met on the way, or found block by block.
fn damaged(case: &Case<'_>) -> Option<Finding> {
    let met = case.database.tables.iter().flat_map(|table| match &table.state {
        TableState::Unread(problem) => std::slice::from_ref(problem),
        TableState::Seen(layout) => &layout.damage[..],
        _ => &[],
    });
    let mut all: Vec<&Problem> = met.collect();
    if let Some(verified) = case.verified {
        for problem in verified.damages.iter().chain(&verified.unread) {
            if all.iter().all(|known| known.message != problem.message) {
                all.push(problem);
            }
        }
    }
    if all.is_empty() {
        return None;
    }
    let files: std::collections::BTreeSet<&str> =
        all.iter().filter_map(|problem| problem.file.as_deref()).collect();
    let title = match files.len() as u64 {
        1 => "1 table is damaged".to_owned(),
        files => format!("{} are damaged", counted(files, "table")),
    };
    let consequence = "Lookups that need a damaged block fail, and so does every compaction that takes the table in: then \
        writes stop. A damaged filter or property costs speed alone.";
    let unreadable = all.iter().all(|problem| !problem.is_damage);
    let severity = if unreadable { Severity::Warning } else { Severity::Error };
    let rows = all.iter().map(|problem| vec![Value::text(problem.message.as_str())]);
    let mut finding = Finding::new(severity, "tables-damaged", title, consequence)
        .figure("damages", "damages", Value::Count(all.len() as u64))
        .evidence(Evidence::new("damage", &["what"], rows));
    if let Some(verified) = case.verified {
        finding =
            finding.figure("blocks", "blocks verified", Value::Count(verified.blocks)).figure(
                "incomplete",
                "tables with parts out of reach",
                Value::Count(verified.incomplete_tables),
            );
    }
    Some(finding.remedy(Remedy::new(
        "put the files back from a backup or checkpoint; where the device is at fault, move first",
    ).partita("partita sst rewrite copies what can be read of a table")))
}

fn missing_blobs(case: &Case<'_>) -> Option<Finding> {
    let files = &case.database.files;
    let is_there = |number: &&u64| files.blobs.iter().any(|(there, _)| there == *number);
    let missing: Vec<&u64> = files.live_blobs.iter().filter(|number| !is_there(number)).collect();
    if missing.is_empty() || case.database.changes_seen > 0 {
        return None;
    }
    let title = format!("{} missing", are(missing.len() as u64, "blob file"));
    let rows = missing.iter().map(|number| vec![Value::text(format!("{number:06}.blob"))]);
    let finding = Finding::new(Severity::Error, "blobs-missing", title, "Values in them are lost.")
        .evidence(Evidence::new("file", &["file"], rows))
        .remedy(Remedy::new("put the files back from a backup or checkpoint"));
    Some(finding)
}

/// What no manifest names.
fn leftover(case: &Case<'_>) -> Option<Finding> {
    let files = &case.database.files;
    // Without a manifest every table would be one.
    if !case.database.problems.is_empty() {
        return None;
    }
    let orphans = &files.orphan_tables;
    if orphans.is_empty() && files.temporaries.is_empty() {
        return None;
    }
    let bytes: u64 = orphans.iter().map(|(_, bytes)| bytes).sum();
    let title = format!(
        "{} in the directory that the database does not know, {}",
        are(orphans.len() as u64 + files.temporaries.len() as u64, "file"),
        size(bytes)
    );
    let consequence = "They were being written, or were about to be removed, when a process ended; or somebody is writing them \
        right now. They do no harm but take room, and RocksDB removes them at its next open.";
    let mut rows: Vec<Vec<Value>> = orphans
        .iter()
        .map(|(number, bytes)| vec![Value::text(format!("{number:06}.sst")), Value::Bytes(*bytes)])
        .collect();
    rows.extend(
        files.temporaries.iter().map(|name| vec![Value::text(name.as_str()), Value::text("")]),
    );
    let finding = Finding::new(Severity::Note, "orphan-files", title, consequence)
        .figure("bytes", "bytes", Value::Bytes(bytes))
        .evidence(Evidence::new("file", &["file", "bytes"], rows))
        .remedy(Remedy::new("nothing, unless they are still there after the next open"));
    Some(finding)
}

/// Tables in directories that nobody named.
fn elsewhere(case: &Case<'_>) -> Option<Finding> {
    let unseen = || {
        let tables = case.database.tables.iter();
        tables.filter(|table| matches!(table.state, TableState::Elsewhere))
    };
    let count = unseen().count() as u64;
    if count == 0 {
        return None;
    }
    let bytes: u64 = unseen().map(|table| table.file_bytes).sum();
    let rows = unseen().map(|table| {
        vec![
            Value::text(table.name()),
            Value::Count(u64::from(table.path_id)),
            Value::Bytes(table.file_bytes),
        ]
    });
    let title = format!("{} in other directories were not looked at", counted(count, "table"));
    let consequence = "The database spreads its tables over several directories (db_paths, cf_paths), and no file says which these \
        are. All that is said here is about the others.";
    Some(
        Finding::new(Severity::Note, "tables-elsewhere", title, consequence)
            .figure("tables", "tables", Value::Count(count))
            .figure("bytes", "their bytes", Value::Bytes(bytes))
            .evidence(Evidence::new("table", &["file", "directory number", "size"], rows))
            .remedy(Remedy::new(
                "name all of them, in the order of db_paths: --db-path DIR --db-path DIR",
            )),
    )
}
