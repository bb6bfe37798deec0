use std::collections::BTreeMap;

use super::spec::OptionSpec;

/// Values of options on which nothing acts: kept as text, and written back for RocksDB.
///
/// Only what differs from RocksDB's default is kept. They are read and changed through `get` and `set` of the options
/// that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried(BTreeMap<&'static str, String>);

impl Carried {
    /// All as RocksDB has it by default.
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The value of the option.
    pub(super) fn get(&self, spec: &OptionSpec) -> &str {
        self.0.get(spec.name).map_or(spec.rocksdb_default, String::as_str)
    }

    /// Keeps the option's value.
    pub(super) fn put(&mut self, spec: &OptionSpec, value: &str) {
        if value == spec.rocksdb_default {
            self.0.remove(spec.name);
        } else {
            self.0.insert(spec.name, value.to_owned());
        }
    }
}
