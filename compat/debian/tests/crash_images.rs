//! What a power cut may leave of a history of ours, opened by RocksDB 7.8.3: it finds what we find, a state that there was.
//!
//! `PARTITA_COMPAT_SEEDS=20` takes 20 times as many histories.

use std::collections::BTreeMap;
use std::path::Path;

use partita::io::{FileSystem, MemoryFileSystem};
use partita_compat_rocks::Row;
use partita_compat_rocks::guests::families_on_disk;
use partita_compat_rocks::setups::seeds;
use partita_compat_rocks::whole::WholeDb;
use partita_proof::crash::{self, Image};
use partita_proof::driven::DIR;
use partita_proof::options::Readers;
use partita_proof::step::Slot;

/// Of the calls of a history, one in so many is a cut that is looked at here.
const EVERY: u64 = 13;

fn write_to_disk(image: &Image, target: &Path) {
    std::fs::create_dir_all(target).unwrap();
    let dir = Path::new(DIR);
    for name in image.disk.list(dir).unwrap() {
        let bytes = image.disk.read(&dir.join(&name)).unwrap();
        std::fs::write(target.join(name), bytes).unwrap();
    }
}

fn is_database(disk: &MemoryFileSystem) -> bool {
    // Before that, there is nothing that RocksDB could open, and nothing was promised.
    disk.exists(&Path::new(DIR).join("CURRENT")).unwrap_or(false)
}

fn rows_of_theirs(image: &Image, dir: &Path) -> Result<BTreeMap<Slot, Vec<Row>>, String> {
    let set = &image.options[image.cut as usize % image.options.len()];
    let names = families_on_disk(dir)?;
    let slots: Vec<Slot> = (0..Slot::COUNT)
        .map(Slot)
        // Where the cut came while it was created, the families are.
        .filter(|slot| slot.0 < Slot::RESIDENTS || names.iter().any(|name| name == slot.name()))
        .collect();
    let names: Vec<&str> = slots.iter().map(|slot| slot.name()).collect();
    let db = WholeDb::create(dir, &set.db_string(), &names, &set.family_string())?;
    slots.iter().enumerate().map(|(at, slot)| Ok((*slot, db.rows_forward(at)?))).collect()
}

#[test]
fn what_a_power_cut_leaves_rocksdb_finds_to_be_a_state_that_there_was() {
    let mut images = 0;
    for seed in 0..3 * seeds() {
        let mut visit = |image: Image| -> Result<(), String> {
            if !is_database(&image.disk) {
                return Ok(());
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("db");
            write_to_disk(&image, &path);
            let what = |said: String| format!("{}: {said}", image.name);
            let found = rows_of_theirs(&image, &path).map_err(what)?;
            image.find(&found).map_err(what)?;
            images += 1;
            Ok(())
        };
        crash::visit(seed, 40, EVERY, Readers::Rocks78, &mut visit)
            .unwrap_or_else(|said| panic!("seed {seed}: {said}"));
    }
    println!("{images} images");
    assert!(images > 60, "{images} images");
}
