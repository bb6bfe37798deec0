//! What benchmarks keep between runs, as JSON.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A failure, with the path that it happened at.
pub(crate) fn failed(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Reads what was written with [`write_json`].
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let json = fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    serde_json::from_str(&json).map_err(|error| failed(path, &error))
}

/// Writes a value. Who is interrupted leaves the file as it was.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), String> {
    let json = serde_json::to_string_pretty(value).map_err(|error| failed(path, &error))?;
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, json).map_err(|error| failed(&unfinished, &error))?;
    fs::rename(&unfinished, path).map_err(|error| failed(path, &error))
}
