//! What a database is opened with, as far as files tell: the newest OPTIONS file, LOG, and what the caller says.

use std::collections::HashMap;

use partita::options::file::{Mode, OptionsFile, ReadReport};
use serde::Serialize;

use crate::cache::{CacheKind, CacheModel};
use crate::model::{Database, LoggedFamily};
use crate::request::Request;

/// How each family is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `max_open_files`: how many tables may be open; -1 stands for all.
    pub(crate) max_open_files: Option<i64>,
    pub(crate) families: Vec<FamilySettings>,
}

/// How a family is opened. What no file says is `None`.
#[derive(Clone, Debug)]
pub(crate) struct FamilySettings {
    pub(crate) name: String,
    pub(crate) cache: CacheModel,
    pub(crate) cache_source: CacheSource,
    /// What tells one cache from another: families with the same share it.
    pub(crate) cache_identity: String,
    /// Whether index and filter blocks go through the cache.
    pub(crate) caches_metadata: Option<bool>,
    pub(crate) no_cache: bool,
}

/// Who says which cache there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheSource {
    /// The caller.
    Asked,
    /// RocksDB's LOG.
    InfoLog,
    /// Nobody: it is the default of the release.
    Default,
}

impl CacheSource {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "as given",
            Self::InfoLog => "as LOG says",
            Self::Default => {
                "RocksDB's default, since no file says otherwise; --cache SIZE tells the real one"
            }
        }
    }
}

impl Settings {
    pub(crate) fn of(database: &Database, request: &Request) -> Self {
        let options = database
            .options
            .as_ref()
            .map(|options| asked(&OptionsFile::read(&options.text, Mode::Lenient)))
            .unwrap_or_default();
        let max_open_files = options.get("").and_then(|db| db.get("max_open_files")?.parse().ok());
        let no_values = HashMap::new();
        let families = database.families.iter().map(|family| {
            let values = options.get(&family.name).unwrap_or(&no_values);
            let logged = database.info_log.family(&family.name);
            FamilySettings::new(&family.name, values, logged, database, request)
        });
        Self { max_open_files, families: families.collect() }
    }

    /// The caches, each with the families that share it.
    pub(crate) fn caches(&self) -> Vec<SharedCache<'_>> {
        let mut caches = Vec::<SharedCache<'_>>::new();
        for family in &self.families {
            let known = caches
                .iter_mut()
                .find(|cache| cache.families[0].cache_identity == family.cache_identity);
            match known {
                Some(cache) => cache.families.push(family),
                None => caches.push(SharedCache { families: vec![family] }),
            }
        }
        caches
    }
}

impl FamilySettings {
    fn new(
        name: &str,
        values: &HashMap<String, String>,
        logged: Option<&LoggedFamily>,
        database: &Database,
        request: &Request,
    ) -> Self {
        let (cache, cache_source) = cache(logged, database, request);
        let switch = |name: &str| {
            let logged = logged.and_then(|logged| logged.get(name));
            let value = values.get(name).map(String::as_str).or(logged)?;
            Some(matches!(value, "true" | "1"))
        };
        Self {
            name: name.to_owned(),
            cache,
            cache_source,
            cache_identity: identity(name, cache_source, logged),
            caches_metadata: switch("cache_index_and_filter_blocks"),
            no_cache: switch("no_block_cache").unwrap_or(false),
        }
    }
}

fn cache(
    logged: Option<&LoggedFamily>,
    database: &Database,
    request: &Request,
) -> (CacheModel, CacheSource) {
    let logged_kind =
        logged.and_then(|logged| logged.cache_name.as_deref()).and_then(CacheKind::from_class);
    if let Some(bytes) = request.cache_bytes {
        let kind = request.cache_kind.or(logged_kind).unwrap_or_default();
        let model = CacheModel { kind, bytes, fixed_bits: request.shard_bits };
        return (model, CacheSource::Asked);
    }
    let known = logged.and_then(|logged| {
        let kind = request.cache_kind.or(logged_kind)?;
        let model = CacheModel::new(kind, logged.cache_bytes?);
        // What RocksDB would choose by itself is not taken for a setting.
        let chosen = logged.cache_shard_bits.filter(|bits| *bits != model.shard_bits());
        Some(CacheModel { fixed_bits: request.shard_bits.or(chosen), ..model })
    });
    match known {
        Some(model) => (model, CacheSource::InfoLog),
        None => {
            let default = CacheModel::default_of(database.release());
            let kind = request.cache_kind.unwrap_or(default.kind);
            let model = CacheModel { kind, fixed_bits: request.shard_bits, ..default };
            (model, CacheSource::Default)
        }
    }
}

/// A cache and the families that share it.
pub(crate) struct SharedCache<'s> {
    /// At least one.
    pub(crate) families: Vec<&'s FamilySettings>,
}

impl SharedCache<'_> {
    pub(crate) fn model(&self) -> &CacheModel {
        &self.families[0].cache
    }

    pub(crate) fn source(&self) -> CacheSource {
        self.families[0].cache_source
    }
}

/// A cache that was given is one for all; one that nobody gave is made for each family.
fn identity(name: &str, source: CacheSource, logged: Option<&LoggedFamily>) -> String {
    match (source, logged.and_then(|logged| logged.cache_address.clone())) {
        (CacheSource::Asked, _) => "the given one".to_owned(),
        (_, Some(address)) => address,
        (_, None) => format!("that of {name}"),
    }
}

/// What an options file says, by family and option; those of the database stand under an empty name.
fn asked(report: &ReadReport) -> HashMap<String, HashMap<String, String>> {
    let mut all = HashMap::<String, HashMap<String, String>>::new();
    for option in report.effective() {
        if let Some(asked) = option.asked {
            let family = option.family.unwrap_or_default();
            all.entry(family).or_default().insert(option.name.to_owned(), asked);
        }
    }
    all
}
