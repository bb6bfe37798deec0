//! What is wrong with a file, as JSON: the same fields wherever a command prints one.

use partita::Error;
use serde::Serialize;

/// An error in a file, which is named beside it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    kind: &'static str,
    role: Option<&'static str>,
    offset: Option<u64>,
    bytes: Option<u64>,
    message: String,
}

impl Finding {
    pub(super) fn new(error: &Error) -> Self {
        Self {
            kind: error.kind().as_str(),
            role: error.part(),
            offset: error.offset(),
            bytes: error.byte_len(),
            message: error.message().to_owned(),
        }
    }
}
