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

    /// Keeps the option's value. An empty one says nothing, since a file leaves it out.
    pub(super) fn put(&mut self, spec: &OptionSpec, value: &str) {
        if value.is_empty() || value == spec.rocksdb_default {
            self.0.remove(spec.name);
        } else {
            self.0.insert(spec.name, value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TableOptions;

    #[test]
    fn an_empty_value_is_no_value() {
        let mut options = TableOptions::default();
        options.set("flush_block_policy_factory", "").unwrap();
        assert_eq!(options, TableOptions::default());
    }
}
