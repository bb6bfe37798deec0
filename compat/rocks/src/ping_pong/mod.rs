//! Ping-pong: one directory is handed back and forth between engines, each of which does its share of a random history
//! (`partita_proof::history`).
//!
//! ```text
//! script    a history cut into turns: who, with which options, which steps, and how the turn ends
//! play      the turns are taken; after each hand-over all that can be read is compared with the model
//! partita   Partita takes turns
//! rocksdb   RocksDB takes turns, through its C API
//! command   the command line
//! ```
//!
//! A turn ends with a close, with a copy of the directory while the engine has it open (what a kill leaves), or with a real
//! kill of a process.

pub mod command;
pub mod partita;
pub mod play;
pub mod rocksdb;
pub mod script;

use std::path::{Path, PathBuf};

use partita_proof::ours::Place;
use partita_proof::step::Slot;
use partita_proof::subject::Subject;

use crate::Row;

/// An engine that can take turns.
pub trait Engine: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// What it can do and others cannot.
    fn abilities(&self) -> Abilities;

    /// Opens the database, or creates it, with the option set of this number (modulo the number of sets).
    fn open(&self, place: &Place, options: usize) -> Result<Box<dyn Player>, String>;

    /// Makes an external file, if it can, for a family that has the options of this set.
    fn write_external_file(
        &self,
        place: &Place,
        options: usize,
        path: &Path,
        rows: &[Row],
    ) -> Result<(), String>;
}

/// What one engine can do and another cannot, for want of an API.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// Creates databases with given options; else it opens them with those of their OPTIONS file.
    pub creates: bool,
    /// Exports and imports families.
    pub exports: bool,
    /// Makes external files.
    pub makes_files: bool,
    /// Runs in this process, so that a kill needs a process of its own.
    pub is_in_process: bool,
}

/// An engine with an open database.
///
/// Checks, external files and what ends a turn are not among the steps that it is given.
pub trait Player: Subject<Error = String> {
    /// Makes a checkpoint in a directory that is not there.
    fn checkpoint(&mut self, dir: &Path) -> Result<(), String>;

    /// Ingests a file for each of these families. The files may be moved.
    fn ingest(&mut self, files: &[(Slot, PathBuf)]) -> Result<(), String>;

    /// Closes the database in order; a player that is just dropped leaves it somehow.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// A directory beside a database, whose name begins as that of the database.
pub(crate) fn beside(dir: &Path, what: &str) -> PathBuf {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!("{name}.{what}"))
}
