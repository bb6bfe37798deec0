//! Imports point down: a module names only modules that stand below it in ARCHITECTURE.md's picture. And unsafe code
//! stands only where that page says.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers from top to bottom. Modules of one layer do not know each other.
const LAYERS: &[&[&str]] = &[
    &["db"],
    &["compaction"],
    &["version"],
    &["memtable", "table"],
    &["wal", "batch"],
    &["options"],
    &["iter", "filter", "cache"],
    &["merge"],
    &["io"],
    &["key", "statistics"],
    &["util"],
    &["error"],
];

/// The homes of unsafe code: files, or folders with a slash.
const UNSAFE_HOMES: &[&str] = &[
    "cache/entry.rs",
    "cache/epoch/shared.rs",
    "cache/loom_models.rs",
    "filter/bloom/",
    "filter/lines.rs",
    "filter/ribbon/",
    "memtable/arena.rs",
    "memtable/skiplist.rs",
    "util/compression/lz4.rs",
    "util/prefetch.rs",
];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The top-level modules that `line` names as `crate::module`, in code, not in comments.
fn modules_named(line: &str) -> Vec<&str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
        .collect()
}

/// Upward or sideways references in one file of `module`.
fn violations(module: &str, name: &str, source: &str) -> Vec<String> {
    let own = layer_of(module)
        .unwrap_or_else(|| panic!("module `{module}` has no place in LAYERS: give it one"));
    let mut found = Vec::new();
    for (number, line) in source.lines().enumerate() {
        for target in modules_named(line) {
            let below = layer_of(target).is_some_and(|layer| layer > own);
            if target != module && !below {
                found.push(format!("{name}:{}: {module} names crate::{target}", number + 1));
            }
        }
    }
    found
}

#[test]
fn imports_point_down() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let mut checked = 0;
    let mut found = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&src).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        found.extend(violations(module, &inside.display().to_string(), &source));
        checked += 1;
    }
    assert!(checked > 10, "only {checked} files found below {}", src.display());
    assert!(found.is_empty(), "upward imports:\n{}", found.join("\n"));
}

#[test]
fn unsafe_code_stands_only_in_its_homes() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let mut homes_in_use = 0;
    for file in files {
        let inside = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&file).unwrap();
        let has_unsafe = source
            .lines()
            .any(|line| line.split("//").next().unwrap_or_default().contains("unsafe {"));
        let is_home = UNSAFE_HOMES.iter().any(|home| inside.starts_with(home));
        assert!(is_home || !has_unsafe, "{inside} has unsafe code and is none of {UNSAFE_HOMES:?}");
        homes_in_use += u32::from(has_unsafe);
    }
    assert!(homes_in_use >= 5, "only {homes_in_use} files have unsafe code: the list is too long");
}

#[test]
fn an_upward_import_is_found() {
    assert_eq!(violations("key", "x.rs", "use crate::table::BlockHandle;").len(), 1);
    assert_eq!(violations("filter", "x.rs", "let i = crate::iter::next();").len(), 1);
    assert!(violations("table", "x.rs", "use crate::key::SeqNo; // crate::db").is_empty());
}

/// Files that take locks from the standard library, and why none of them is held where another thread may go on.
const STD_LOCKS: &[&str] = &[
    // Statics, held for a few words.
    "cache/epoch/garbage.rs",
    "cache/epoch/threads.rs",
    "io/disk/lock.rs",
    // It waits for the time of the machine.
    "io/scheduler/timer.rs",
    // They say which ones the others take.
    "memtable/sync.rs",
    "util/sync.rs",
];

/// Lines outside of tests that take locks from the standard library.
fn std_locks(source: &str) -> Vec<&str> {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let names = ["Mutex", "Condvar", "RwLock"];
    let of_std = |line: &&str| line.contains("std::sync::");
    code.lines()
        .filter(of_std)
        .filter(|line| names.iter().any(|name| line.contains(name)))
        .collect()
}

/// Else the schedules of `partita-proof` could neither draw who gets a lock nor end when somebody waits for it.
#[test]
fn locks_are_taken_from_util_sync() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    for file in files {
        let inside = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        let is_test =
            ["tests.rs", "testing.rs", "models.rs"].iter().any(|end| inside.ends_with(end));
        if is_test || STD_LOCKS.contains(&&*inside) {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        let found = std_locks(&source);
        assert!(found.is_empty(), "{inside}: use crate::util::sync in place of {found:?}");
    }
}

#[test]
fn a_lock_of_the_standard_library_is_found() {
    assert_eq!(std_locks("use std::sync::{Arc, Mutex};\n").len(), 1);
    assert!(
        std_locks("use std::sync::Arc;\n\n#[cfg(test)]\nmod tests {\nuse std::sync::Mutex;")
            .is_empty()
    );
}
