//! Random operations on objects against maps, over flushes, restarts, and restarts that lose what was not written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partita::io::MemoryFileSystem;
use partita_store::Schema;
use partita_store::objects::{KeyPath, Listing, NewKey, ObjectStore, OpenKey};
use proptest::prelude::*;

use crate::objects::{open, path};
use crate::support::{disk, write};

const BUCKETS: [&str; 2] = ["b", "bb"];
const BATCH_TRANSACTIONS: u64 = 7;

#[derive(Clone, Debug)]
enum Operation {
    Allocate(usize, String),
    /// Of the open keys that many from the front, modulo their number.
    AllocateBlock(usize),
    Commit(usize, u64),
    Rename(usize, String, String),
    Delete(usize, String),
    Lookup(usize, String),
    List {
        bucket: usize,
        prefix: String,
        start_after: Option<String>,
        limit: usize,
    },
    Purge(usize),
    Flush,
    /// Memtables become files.
    FlushTables,
    /// Closed and opened.
    Reopen,
    /// The same, without what was not written.
    Crash,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    // Names that are prefixes of one another, and that meet the separators of paths.
    let name = || "[a/]{1,3}|[ab0-9]{1,2}";
    let bucket = || 0..BUCKETS.len();
    let one = prop_oneof![
        6 => (bucket(), name()).prop_map(|(bucket, key)| Operation::Allocate(bucket, key)),
        1 => any::<usize>().prop_map(Operation::AllocateBlock),
        6 => (any::<usize>(), 0..100u64).prop_map(|(at, size)| Operation::Commit(at, size)),
        2 => (bucket(), name(), name()).prop_map(|(b, from, to)| Operation::Rename(b, from, to)),
        2 => (bucket(), name()).prop_map(|(bucket, key)| Operation::Delete(bucket, key)),
        2 => (bucket(), name()).prop_map(|(bucket, key)| Operation::Lookup(bucket, key)),
        3 => (bucket(), "[ab/]{0,1}", proptest::option::of(name()), 0..8usize).prop_map(
            |(bucket, prefix, start_after, limit)| Operation::List { bucket, prefix, start_after, limit }
        ),
        1 => (1..4usize).prop_map(Operation::Purge),
        1 => Just(Operation::Flush),
        1 => Just(Operation::FlushTables),
        1 => Just(Operation::Reopen),
        1 => Just(Operation::Crash),
    ];
    proptest::collection::vec(one, 1..120)
}

/// Bucket and key -> size and object.
type Keys = BTreeMap<(usize, String), (u64, u64)>;

#[derive(Clone, Default)]
struct Model {
    keys: Keys,
    open: Vec<(usize, OpenKey)>,
    /// Rows of the table of deleted keys that were not purged.
    deleted: BTreeSet<String>,
    index: u64,
}

impl Model {
    fn remove(&mut self, bucket: usize, key: &str) -> Option<(u64, u64)> {
        let (size, object) = self.keys.remove(&(bucket, key.to_owned()))?;
        self.deleted.insert(format!("/v/{}/{key}/{object}", BUCKETS[bucket]));
        Some((size, object))
    }

    fn usage(&self, bucket: usize) -> (u64, u64) {
        let of_bucket = self.keys.iter().filter(|((of, _), _)| *of == bucket);
        of_bucket.fold((0, 0), |(bytes, count), (_, (size, _))| (bytes + size, count + 1))
    }

    fn list(&self, bucket: usize, prefix: &str, after: Option<&str>, limit: usize) -> Vec<String> {
        let names = self.keys.keys().filter(|(of, _)| *of == bucket).map(|(_, key)| key);
        let names = names.filter(|key| key.starts_with(prefix));
        names.filter(|key| after.is_none_or(|after| &***key > after)).take(limit).cloned().collect()
    }
}

struct Run {
    disk: Arc<MemoryFileSystem>,
    /// `None` while it is opened again.
    objects: Option<ObjectStore>,
    model: Model,
    /// As it was when all was written.
    written: Model,
}

impl Run {
    fn new() -> Self {
        let disk = disk();
        // Small enough that there are files and compactions.
        let tables = ["keyTable", "openKeyTable", "deletedTable"].map(|table| {
            format!(
                "[CFOptions \"{table}\"]\nwrite_buffer_size=16k\nlevel0_file_num_compaction_trigger=2\n\
                 [TableOptions/BlockBasedTable \"{table}\"]\nblock_size=128\nmetadata_block_size=64\n"
            )
        });
        write(&disk, "/data/shop.db.ini", &tables.concat());
        let objects = open(&disk, BATCH_TRANSACTIONS);
        objects.create_volume("v", "anne").unwrap();
        BUCKETS.iter().for_each(|bucket| objects.create_bucket("v", bucket).unwrap());
        objects.flush().unwrap();
        let model = Model { index: 3, ..Model::default() };
        Self { disk, objects: Some(objects), written: model.clone(), model }
    }

    fn step(&mut self, operation: &Operation) {
        let Self { objects, model, .. } = self;
        let objects = objects.as_ref().unwrap();
        match operation {
            Operation::Allocate(bucket, key) => {
                let path = path(BUCKETS[*bucket], key);
                let open = objects.allocate(path, &NewKey::default()).unwrap();
                model.index += 1;
                assert_eq!(open.client_id, model.index);
                assert_eq!(open.overwrites, model.keys.contains_key(&(*bucket, key.clone())));
                model.open.push((*bucket, open));
            }
            Operation::AllocateBlock(at) if !model.open.is_empty() => {
                objects.allocate_block(&model.open[at % model.open.len()].1, 5).unwrap();
                model.index += 1;
            }
            Operation::Commit(at, size) if !model.open.is_empty() => {
                let (bucket, open) = model.open.remove(at % model.open.len());
                let info = objects.commit(&open, *size).unwrap();
                model.index += 1;
                assert_eq!((info.object_id, info.update_id), (open.client_id, model.index));
                model.remove(bucket, &open.path.key);
                model.keys.insert((bucket, open.path.key), (*size, open.client_id));
            }
            Operation::AllocateBlock(_) | Operation::Commit(..) => {}
            Operation::Rename(bucket, from, to) => {
                let renamed = objects.rename(path(BUCKETS[*bucket], from), to);
                let (from, to) = ((*bucket, from.clone()), (*bucket, to.clone()));
                if !model.keys.contains_key(&from) {
                    assert!(renamed.unwrap_err().is_not_found());
                } else if model.keys.contains_key(&to) {
                    assert!(renamed.unwrap_err().is_already_there());
                } else {
                    renamed.unwrap();
                    model.index += 1;
                    let key = model.keys.remove(&from).unwrap();
                    model.keys.insert(to, key);
                }
            }
            Operation::Delete(bucket, key) => {
                let deleted = objects.delete(path(BUCKETS[*bucket], key));
                match model.remove(*bucket, key) {
                    Some(_) => {
                        deleted.unwrap();
                        model.index += 1;
                    }
                    None => assert!(deleted.unwrap_err().is_not_found()),
                }
            }
            Operation::Lookup(bucket, key) => {
                let found = objects.lookup(path(BUCKETS[*bucket], key)).unwrap();
                let found = found.map(|info| {
                    assert_eq!(&info.key, key);
                    (info.data_size, info.object_id)
                });
                assert_eq!(found, model.keys.get(&(*bucket, key.clone())).copied());
            }
            Operation::List { bucket, prefix, start_after, limit } => {
                let start_after = start_after.as_deref();
                let listing = Listing { prefix, start_after, limit: *limit };
                let found = objects.list("v", BUCKETS[*bucket], &listing).unwrap();
                let found: Vec<String> = found.into_iter().map(|info| info.key).collect();
                assert_eq!(found, model.list(*bucket, prefix, start_after, *limit), "{listing:?}");
            }
            Operation::Purge(limit) => self.purge(*limit),
            Operation::Flush => drop(objects.flush().unwrap()),
            Operation::FlushTables => objects.tables().store().flush().unwrap(),
            Operation::Reopen => {
                objects.close().unwrap();
                self.written = self.model.clone();
                self.reopen();
            }
            Operation::Crash => {
                self.model = self.written.clone();
                self.reopen();
            }
        }
        if self.objects().unwritten_transactions() == 0 {
            self.written = self.model.clone();
        }
        assert_eq!(self.objects().last_transaction().index, self.model.index);
    }

    /// What is given out stands at the front of what is written.
    fn purge(&mut self, limit: usize) {
        let purged = self.objects().purge_deleted(limit).unwrap();
        let rows = self.written.deleted.intersection(&self.model.deleted);
        let expected: Vec<String> = rows.take(limit).cloned().collect();
        assert_eq!(purged.rows, expected.len());
        let objects = purged.keys.iter().map(|info| info.object_id.to_string());
        let of_rows = expected.iter().map(|row| row.rsplit('/').next().unwrap().to_owned());
        assert!(objects.eq(of_rows), "{expected:?}");
        self.model.index += u64::from(purged.rows > 0);
        self.model.deleted.retain(|row| !expected.contains(row));
    }

    fn reopen(&mut self) {
        // This one has to let go of the directory first.
        self.objects = None;
        self.objects = Some(open(&self.disk, BATCH_TRANSACTIONS));
    }

    fn objects(&self) -> &ObjectStore {
        self.objects.as_ref().unwrap()
    }

    fn check(&self) {
        let (objects, model) = (self.objects(), &self.model);
        for (bucket, name) in BUCKETS.iter().enumerate() {
            let info = objects.bucket("v", name).unwrap();
            assert_eq!((info.used_bytes, info.key_count), model.usage(bucket), "{name}");
            let found = objects.list("v", name, &Listing::default()).unwrap();
            let found: Keys = found
                .into_iter()
                .map(|info| ((bucket, info.key), (info.data_size, info.object_id)))
                .collect();
            let of_bucket = |((of, _), _): &(&(usize, String), &(u64, u64))| *of == bucket;
            let expected: Keys = model
                .keys
                .iter()
                .filter(of_bucket)
                .map(|(key, value)| (key.clone(), *value))
                .collect();
            assert_eq!(found, expected);
        }
        objects.flush().unwrap();
        let open: BTreeSet<(String, u64)> = objects
            .tables()
            .open_keys
            .scan()
            .keys()
            .unwrap()
            .map(|key| key.map(|(path, client)| (path.key, client)).unwrap())
            .collect();
        let expected = model.open.iter().map(|(_, open)| (open.path.key.clone(), open.client_id));
        assert_eq!(open, expected.collect());
        let deleted = objects.tables().deleted.scan().keys().unwrap();
        let deleted: BTreeSet<String> = deleted
            .map(|key| {
                let (path, object) = key.unwrap();
                let KeyPath { volume, bucket, key } = path.as_path();
                format!("/{volume}/{bucket}/{key}/{object}")
            })
            .collect();
        assert_eq!(deleted, model.deleted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn random_operations_come_to_what_maps_say(operations in operations()) {
        let mut run = Run::new();
        operations.iter().for_each(|operation| run.step(operation));
        run.check();
    }
}
