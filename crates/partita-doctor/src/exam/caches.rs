//! Caches: families that each have their own, and caches of the size that nobody chose.

use crate::asked::AskedOptions;
use crate::cache::{CacheKind, CacheModel};
use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::setting;
use crate::settings::{CacheSource, SharedCache};
use crate::units::{counted, size};

/// The data is so many times the cache before its default size is worth a word.
const TIMES_WORTH_TELLING: u64 = 20;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let caches = case.settings.caches();
    let asked = case.asked.and_then(|asked| asked.options.as_ref());
    let mut findings: Vec<Finding> =
        asked.and_then(|asked| lost_on_load(case, asked)).into_iter().collect();
    let logged = caches.iter().all(|cache| cache.source() == CacheSource::InfoLog);
    if logged && caches.len() > 1 {
        findings.push(private(&caches));
    } else if logged {
        findings.extend(caches.first().and_then(|cache| default_size(case, cache)));
    }
    findings
}

/// Families whose caches have different addresses in LOG.
fn private(caches: &[SharedCache<'_>]) -> Finding {
    let total: u64 = caches.iter().map(|cache| cache.model().bytes).sum();
    let title = format!(
        "{} instead of one, {} in all",
        counted(caches.len() as u64, "block cache"),
        size(total)
    );
    let consequence = "A family cannot use the room that another leaves, and the sum grows with every family. That happens where \
        families are opened with options of their own and no cache is handed over, for instance with options loaded from a \
        file, which cannot hold one.";
    let rows = caches.iter().map(|cache| {
        let names: Vec<&str> = cache.families.iter().map(|family| &*family.name).collect();
        vec![
            Value::Bytes(cache.model().bytes),
            Value::text(cache.model().kind.to_string()),
            Value::text(names.join(", ")),
        ]
    });
    let setting = setting::cache_like(caches[0].model(), total);
    Finding::new(Severity::Warning, "private-caches", title, consequence)
        .figure("caches", "caches", Value::Count(caches.len() as u64))
        .figure("total_bytes", "all together", Value::Bytes(total))
        .evidence(Evidence::new("cache", &["capacity", "kind", "families"], rows))
        .remedy(
            Remedy::new("make one cache and hand it to every family (and every database of the process)")
                .settings([setting])
                .partita("one Cache is the budget of all families; clone it to share it with other databases"),
        )
}

/// One cache, of the size that RocksDB takes where nobody says one.
fn default_size(case: &Case<'_>, cache: &SharedCache<'_>) -> Option<Finding> {
    let model = cache.model();
    let bytes: u64 = case.tables_of(cache).map(|table| table.file_bytes).sum();
    if *model != CacheModel::default_of(case.database.release()) || cache.families[0].no_cache {
        return None;
    }
    if bytes / TIMES_WORTH_TELLING < model.bytes {
        return None;
    }
    let title =
        format!("the cache has the size that RocksDB takes by default, {}", size(model.bytes));
    let consequence = "Nobody chose it for this database. The larger part of the lookups reads files, or the page cache, whose \
        memory is counted nowhere.";
    let setting = setting::cache(model.kind, bytes.div_ceil(4).next_power_of_two(), None);
    let finding = Finding::new(Severity::Note, "default-cache", title, consequence)
        .figure("table_bytes", "tables", Value::Bytes(bytes))
        .figure("cache_bytes", "cache", Value::Bytes(model.bytes))
        .remedy(
            Remedy::new("give it what the machine can spare, up to the size of what is read often")
                .settings([setting]),
        );
    Some(finding)
}

/// An options file without a cache: each family that is opened from it gets one by default.
fn lost_on_load(case: &Case<'_>, asked: &AskedOptions) -> Option<Finding> {
    let without = |family: &&String| asked.value(Some(family), "block_cache").is_none();
    let families: Vec<&String> = asked.families.iter().filter(without).collect();
    if families.is_empty() || case.asked.is_some_and(|asked| asked.bookie.is_some()) {
        return None;
    }
    let default = CacheModel::default_of(case.database.release());
    let title = format!(
        "{} sets no cache for {}",
        asked.path.display(),
        counted(families.len() as u64, "family")
    );
    let consequence = format!(
        "A family whose options are loaded from the file gets a {} cache of {} of its own, whatever cache the program had \
         before, unless it puts one in behind.",
        default.kind,
        size(default.bytes)
    );
    let rows = families.iter().map(|family| vec![Value::text(family.as_str())]);
    let finding = Finding::new(Severity::Note, "cache-lost-on-load", title, consequence)
        .figure("families", "families", Value::Count(families.len() as u64))
        .figure(
            "total_bytes",
            "their caches together",
            Value::Bytes(default.bytes * families.len() as u64),
        )
        .evidence(Evidence::new("family", &["family"], rows))
        .remedy(
            Remedy::new(
                "set the cache behind the load (LoadOptionsFromFile takes one), or in the file",
            )
            .settings([setting::cache(CacheKind::Lru, 256 << 20, None)])
            .partita("the budget is handed over at open; no file can replace it"),
        );
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;
    use crate::model::{Database, Family, InfoLog, LoggedFamily, Table, TableState};
    use crate::settings::Settings;
    use partita::key::SeqNo;

    /// A database of 7.8.3 with one table, whose cache LOG tells.
    fn findings(table_bytes: u64, cache_bytes: u64) -> Vec<Finding> {
        let family = Family { name: "default".to_owned(), ..Family::default() };
        let table = Table {
            family: family.id,
            level: 6,
            number: 9,
            path_id: 0,
            file_bytes: table_bytes,
            largest_seqno: SeqNo::MAX,
            smallest: Box::default(),
            largest: Box::default(),
            state: TableState::Missing,
        };
        let logged = LoggedFamily {
            name: "default".to_owned(),
            cache_name: Some("LRUCache".to_owned()),
            cache_address: Some("0x1".to_owned()),
            cache_bytes: Some(cache_bytes),
            ..LoggedFamily::default()
        };
        let info_log = InfoLog {
            rocksdb_version: Some("7.8.3".to_owned()),
            families: vec![logged],
            ..InfoLog::default()
        };
        let database = Database {
            families: vec![family],
            tables: vec![table],
            info_log,
            ..Database::default()
        };
        let request = Request::default();
        let settings = Settings::of(&database, &request, None);
        let (database, settings, request) = (&database, &settings, &request);
        examine(&Case { database, settings, request, asked: None, verified: None })
    }

    #[test]
    fn a_cache_of_the_size_that_nobody_chose_is_told_where_there_is_much_data() {
        let found = findings(1 << 30, 8 << 20);
        assert_eq!((found.len(), found[0].code), (1, "default-cache"));
        assert_eq!(found[0].value("cache_bytes"), Some(&Value::Bytes(8 << 20)));
        assert!(found[0].remedies[0].rocksdb[0].cpp.contains("268435456"), "{found:?}");
    }

    #[test]
    fn a_cache_that_was_chosen_or_little_data_is_no_matter() {
        assert!(findings(1 << 30, 9 << 20).is_empty());
        assert!(findings(159 << 20, 8 << 20).is_empty());
    }
}
