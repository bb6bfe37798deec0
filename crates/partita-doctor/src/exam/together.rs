//! What only all databases together show: caches that everybody has by default.

use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::report::{CacheOf, Examined};
use crate::request::Request;
use crate::setting;
use crate::settings::CacheSource;
use crate::units::{counted, size};

/// Caches that are worth a word only in such numbers.
const CACHES_MIN: u64 = 2;

/// Looks at what was found of all databases.
pub(crate) fn examine(databases: &[Examined], request: &Request) -> Vec<Finding> {
    default_caches(databases, request).into_iter().collect()
}

/// Column families that nobody gave a cache: each makes one.
fn default_caches(databases: &[Examined], request: &Request) -> Option<Finding> {
    let mut rows: Vec<(u64, u64, &Examined)> = Vec::new();
    let mut like = None;
    for database in databases {
        let of_default = |cache: &&CacheOf| cache.source == CacheSource::Default;
        let caches: Vec<&CacheOf> = database.caches.iter().filter(of_default).collect();
        let bytes = caches.iter().map(|cache| cache.cache.bytes).sum();
        if let Some(cache) = caches.first() {
            like = Some(cache.cache);
            rows.push((bytes, caches.len() as u64, database));
        }
    }
    let caches: u64 = rows.iter().map(|(_, caches, _)| caches).sum();
    let bytes: u64 = rows.iter().map(|(bytes, _, _)| bytes).sum();
    let like = like.filter(|_| caches >= CACHES_MIN)?;
    rows.sort_by_key(|(bytes, _, database)| (std::cmp::Reverse(*bytes), database.dir.clone()));
    let is_too_much = request.memory_bytes.is_some_and(|memory| bytes > memory);
    let severity = if is_too_much { Severity::Warning } else { Severity::Note };
    let title = format!(
        "no file says which cache {} of {} have: by default each makes its own, {} in all",
        counted(caches, "column family"),
        counted(rows.len() as u64, "database"),
        size(bytes)
    );
    let consequence = "Where a program hands no cache over, or loads options from a file, every column family of every database gets \
        one of its own. They fill one by one, none can use the room of another, and their sum grows with every family.";
    let evidence = rows.iter().map(|(bytes, caches, database)| {
        vec![
            Value::Bytes(*bytes),
            Value::Count(*caches),
            Value::text(database.dir.display().to_string()),
        ]
    });
    let finding = Finding::new(severity, "default-caches-together", title, consequence)
        .figure("caches", "caches", Value::Count(caches))
        .figure("total_bytes", "all together", Value::Bytes(bytes))
        .evidence(Evidence::new("database", &["caches", "number", "directory"], evidence))
        .remedy(
            Remedy::new("make one cache in the process, and hand it to every column family of every database")
                .settings([setting::cache_like(&like, bytes)])
                .partita("one Cache is the budget of all databases of a process: clone it"),
        );
    Some(finding)
}
