use std::fmt;

use crate::key::InternalKey;

/// A caller's code that sees every entry of a table and adds properties to it.
pub trait PropertiesCollector: Send + fmt::Debug {
    /// The name that the table's properties list.
    fn name(&self) -> &str;

    /// Called with each entry, in order; range tombstones come when they are added, with the end of the range as value.
    fn add(&mut self, key: InternalKey<'_>, value: &[u8]);

    /// Called once at the end; names and values of the properties. A name of the table's own is ignored.
    fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)>;
}
