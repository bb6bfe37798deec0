//! Partita's engines, whose databases are shown to whoever looks on.

use std::any::Any;
use std::path::Path;
use std::time::Duration;

use partita::db::Db;
use partita_bench::{locations, objects};
use partita_store::Store;

use crate::listen::Stage;

impl objects::Engines for Stage {
    fn open(
        &self,
        _: &str,
        dir: &Path,
        opening: &objects::Opening,
    ) -> Result<Box<dyn objects::Engine>, String> {
        objects::open_partita(dir, opening)
    }

    fn show(&self, store: &Store) -> Box<dyn Any> {
        Box::new(self.watched.show_store(store))
    }

    fn tell_round(&self, took: Duration) {
        self.round(took);
    }
}

impl locations::Engines for Stage {
    fn create(
        &self,
        _: &str,
        dir: &Path,
        tables: locations::Tables,
        budget_bytes: u64,
    ) -> Result<Box<dyn locations::Loader>, String> {
        locations::load_partita(dir, tables, budget_bytes)
    }

    fn open(
        &self,
        _: &str,
        dir: &Path,
        opening: locations::Opening,
    ) -> Result<Box<dyn locations::Index>, String> {
        locations::open_partita(dir, opening)
    }

    fn show(&self, db: &Db) -> Box<dyn Any> {
        Box::new(self.watched.show(db))
    }
}
