//! What a database is opened with, as far as files tell: the newest OPTIONS file, LOG, and what the caller says.

use std::collections::HashMap;

use serde::Serialize;

use crate::asked::{self, AskedFile};
use crate::cache::{CacheKind, CacheModel};
use crate::model::{Database, LoggedFamily};
use crate::request::Request;

/// How each family is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `max_open_files`: how many tables may be open; -1 stands for all.
    pub(crate) max_open_files: Option<i64>,
    pub(crate) families: Vec<FamilySettings>,
    /// The OPTIONS file: by family and option; those of the database stand under an empty name.
    options: HashMap<String, HashMap<String, String>>,
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
    Given,
    /// RocksDB's LOG.
    InfoLog,
    /// The file of settings that the caller named.
    Asked,
    /// Nobody: it is the default of the release.
    Default,
}

impl CacheSource {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Given => "as given",
            Self::InfoLog => "as LOG says",
            Self::Asked => "as the given file says",
            Self::Default => {
                "RocksDB's default, since no file says otherwise; --cache SIZE tells the real one"
            }
        }
    }
}

impl Settings {
    pub(crate) fn of(database: &Database, request: &Request, asked: Option<&AskedFile>) -> Self {
        let text = database.options.as_ref().map(|options| &*options.text);
        let options = text.map(asked::by_family).unwrap_or_default();
        let no_values = HashMap::new();
        let families = database.families.iter().map(|family| {
            let sources = Sources {
                name: &family.name,
                values: options.get(&family.name).unwrap_or(&no_values),
                logged: database.info_log.family(&family.name),
                database,
                request,
                asked,
            };
            sources.settings()
        });
        Self {
            max_open_files: options.get("").and_then(|db| db.get("max_open_files")?.parse().ok()),
            families: families.collect(),
            options,
        }
    }

    /// What the OPTIONS file says; `None` of the family is the database.
    pub(crate) fn option(&self, family: Option<&str>, name: &str) -> Option<&str> {
        self.options.get(family.unwrap_or_default())?.get(name).map(String::as_str)
    }

    /// A setting of a family's tables, as OPTIONS or else LOG has it.
    pub(crate) fn table_option<'s>(
        &'s self,
        database: &'s Database,
        family: &str,
        name: &str,
    ) -> Option<&'s str> {
        self.option(Some(family), name).or_else(|| database.info_log.family(family)?.get(name))
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

/// Where settings of a family come from.
struct Sources<'s> {
    name: &'s str,
    /// The OPTIONS file.
    values: &'s HashMap<String, String>,
    logged: Option<&'s LoggedFamily>,
    database: &'s Database,
    request: &'s Request,
    asked: Option<&'s AskedFile>,
}

impl Sources<'_> {
    fn settings(&self) -> FamilySettings {
        let (cache, cache_source) = self.cache();
        FamilySettings {
            name: self.name.to_owned(),
            cache,
            cache_source,
            cache_identity: identity(self.name, cache_source, self.logged),
            caches_metadata: self.switch("cache_index_and_filter_blocks"),
            no_cache: self.switch("no_block_cache").unwrap_or(false),
        }
    }

    /// OPTIONS is written at every open; LOG may have gone, and what was asked for may not have come about.
    fn switch(&self, name: &str) -> Option<bool> {
        let asked = || {
            let options = self.asked?.options.as_ref()?;
            let option = options.option(Some(self.name), name)?;
            // RocksDB does not see that line, and has it off.
            if options.is_dropped(option) { Some("false") } else { option.asked.as_deref() }
        };
        let written = self.values.get(name).map(String::as_str);
        let value = written.or_else(|| self.logged?.get(name)).or_else(asked)?;
        Some(matches!(value, "true" | "1"))
    }

    fn cache(&self) -> (CacheModel, CacheSource) {
        let request = self.request;
        let logged_kind = self
            .logged
            .and_then(|logged| logged.cache_name.as_deref())
            .and_then(CacheKind::from_class);
        if let Some(bytes) = request.cache_bytes {
            let kind = request.cache_kind.or(logged_kind).unwrap_or_default();
            let model = CacheModel { kind, bytes, fixed_bits: request.shard_bits };
            return (model, CacheSource::Given);
        }
        if let Some(model) = self.logged_cache(request.cache_kind.or(logged_kind)) {
            return (model, CacheSource::InfoLog);
        }
        if let Some(bytes) = self.asked.and_then(|asked| asked.cache_bytes(self.name)) {
            let kind = request.cache_kind.unwrap_or_default();
            let model = CacheModel { kind, bytes, fixed_bits: request.shard_bits };
            return (model, CacheSource::Asked);
        }
        let default = CacheModel::default_of(self.database.release());
        let kind = request.cache_kind.unwrap_or(default.kind);
        (CacheModel { kind, fixed_bits: request.shard_bits, ..default }, CacheSource::Default)
    }

    fn logged_cache(&self, kind: Option<CacheKind>) -> Option<CacheModel> {
        let model = CacheModel::new(kind?, self.logged?.cache_bytes?);
        // What RocksDB would choose by itself is not taken for a setting.
        let set = self.logged?.cache_shard_bits.filter(|bits| *bits != model.shard_bits());
        Some(CacheModel { fixed_bits: self.request.shard_bits.or(set), ..model })
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
        (CacheSource::Given | CacheSource::Asked, _) => "the given one".to_owned(),
        (_, Some(address)) => address,
        (_, None) => format!("that of {name}"),
    }
}
