use crate::error::{Error, Result};
use crate::merge::MergeOperator;

/// Stands in for a merge operator that is neither built in nor registered, in a database that is opened to be read: keys
/// without operands can be read, and where it is needed it is missed by name.
#[derive(Debug)]
pub(super) struct MissingOperator {
    name: String,
    family: String,
}

impl MissingOperator {
    pub(super) fn new(name: &str, family: &str) -> Self {
        Self { name: name.to_owned(), family: family.to_owned() }
    }

    /// What is wrong with it.
    pub(super) fn error(&self) -> Error {
        Error::not_supported(format!(
            "column family {:?} has merge operator {:?}, which is neither built in nor registered",
            self.family, self.name
        ))
    }
}

impl MergeOperator for MissingOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn full_merge(
        &self,
        _user_key: &[u8],
        _base: Option<&[u8]>,
        _operands: &[&[u8]],
        _out: &mut Vec<u8>,
    ) -> Result<()> {
        Err(self.error())
    }
}
