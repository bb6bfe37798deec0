//! The doctor on directories with damage anywhere.
//!
//! ```text
//! input:  base u8 | how u8 | edit, edit, …        edits: see models/directory.rs
//! how:    bit 0 without verification | bit 1 a capacity of the cache | bit 2 memory outside of the cache
//!         | bit 3 the directory's OPTIONS file as what the user asked for | bit 4 the other kind of cache
//! ```
//!
//! * Whatever the damage: a report, in memory in proportion to the directory, that can be written as JSON. No call that could
//!   change anything on disk.
//! * A sound directory is clean. If the bytes of a live table are not those that were written, or the table is missing, it is
//!   not: there is no way past a damage (rocksdb#6909).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::io::{CallKind, FaultFileSystem};
use partita_doctor::cache::CacheKind;
use partita_doctor::{Report, Request, examine};

use crate::choices::Choices;
use crate::meter;
use crate::models::directory::{DIR, Damaged, FOOTER_BYTES, base};

/// Damages a base directory and has it looked at.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let base = base(choices.byte());
    let how = choices.byte();
    let damaged = base.damage(choices);
    let fs = FaultFileSystem::new(Arc::new(damaged.disk()));
    fs.set_rule(|call| {
        let writes = call.kind.changes() && call.kind != CallKind::Modified;
        assert!(!writes, "{:?} {}: the doctor writes nothing", call.kind, call.path.display());
        None
    });
    let request = request(&damaged, how);
    // Filters are asked, blocks decompressed, and options files read several times.
    let limit = (24 << 20) + 64 * damaged.files.values().map(Vec::len).sum::<usize>();
    let report = meter::within(limit, || examine(&fs, &[PathBuf::from(DIR)], &request));
    let text = serde_json::to_string(&report).expect("a report is JSON");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    if request.verify {
        judge(&damaged, &report);
    }
}

fn request(damaged: &Damaged, how: u8) -> Request {
    let options = damaged.files.keys().find(|name| name.starts_with("OPTIONS-"));
    let options = options.map(|name| Path::new(DIR).join(name));
    Request {
        cache_bytes: (how & 2 != 0).then_some(8 << 20),
        cache_kind: (how & 16 != 0).then_some(CacheKind::HyperClock),
        memory_bytes: (how & 4 != 0).then_some(1 << 20),
        options_file: options.filter(|_| how & 8 != 0),
        verify: how & 1 == 0,
        ..Request::default()
    }
}

/// Holds what the report says of the tables against what was done to them.
fn judge(damaged: &Damaged, report: &Report) {
    let base = &damaged.base.files;
    let is_table = |name: &str| name.ends_with(".sst");
    let others_are_sound = base
        .iter()
        .filter(|(name, _)| !is_table(name))
        .all(|(name, bytes)| damaged.files.get(name) == Some(bytes));
    if !others_are_sound {
        return;
    }
    let before_footer = |bytes: &[u8]| bytes[..bytes.len().saturating_sub(FOOTER_BYTES)].to_vec();
    let changed = base.iter().filter(|(name, _)| is_table(name)).any(|(name, bytes)| {
        damaged.files.get(name).is_none_or(|now| before_footer(now) != before_footer(bytes))
    });
    let clean = is_clean(report);
    if damaged.files == *base {
        assert!(clean, "{}: {:?}", damaged.base.name, report.databases);
    } else if changed && damaged.guarded {
        assert!(!clean, "damage to a table is not told of");
    }
}

fn is_clean(report: &Report) -> bool {
    let [database] = &report.databases[..] else { return false };
    let verified = database.verified.as_ref().expect("it was asked for");
    let told = ["tables-missing", "tables-of-wrong-size", "tables-damaged"];
    report.problems.is_empty()
        && verified.damages.is_empty()
        && verified.unread.is_empty()
        && !told.iter().any(|code| database.findings_of(code).next().is_some())
}

/// Base directories as they are, and with each kind of edit.
pub fn seeds() -> Vec<Vec<u8>> {
    crate::models::directory::seeds()
}
