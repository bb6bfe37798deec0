//! Ingestions beside writes, flushes and compactions, against a model.

use super::*;

/// Random writes, ingestions and flushes with compactions in the background, against a model.
fn random_history(style: CompactionStyle, seed: u64) {
    let disk = MemoryFileSystem::new();
    let family = ColumnFamilyOptions { compaction_style: style, ..family_options() };
    let db = builder(Arc::new(disk.clone()), &family).open().unwrap();
    let family = db.default_family();
    let mut draw = Draw(seed);
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let key = |number: u64| format!("key{number:03}").into_bytes();
    let mut levels_seen = [0; 7];
    for round in 0..160_u64 {
        let value = |at: u64| format!("{round}.{at}{}", "v".repeat(60)).into_bytes();
        match draw.below(6) {
            0..=2 => {
                for at in 0..20 {
                    let (key, value) = (key(draw.below(400)), value(at));
                    db.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
            }
            3 => {
                let from = draw.below(400);
                let (from, to) = (key(from), key(from + 1 + draw.below(30)));
                db.delete_range_cf(&family, &from, &to).unwrap();
                model.retain(|key, _| *key < from || *key >= to);
            }
            _ => {
                let count = 1 + draw.below(3);
                let mut paths = Vec::new();
                for file in 0..count {
                    let path = format!("/x{round}.{file}");
                    let mut writer = db.sst_file_writer(&family, &path).unwrap();
                    let start = draw.below(380);
                    let len = 1 + draw.below(40);
                    if draw.below(3) == 0 {
                        let (from, to) = (key(start + len / 2), key(start + len + 3));
                        writer.delete_range(&from, &to).unwrap();
                        model.retain(|key, _| *key < from || *key >= to);
                    }
                    for at in (start..start + len).step_by(1 + draw.below(3) as usize) {
                        if draw.below(5) == 0 {
                            writer.delete(&key(at)).unwrap();
                            model.remove(&key(at));
                        } else {
                            writer.put(&key(at), &value(file)).unwrap();
                            model.insert(key(at), value(file));
                        }
                    }
                    writer.finish().unwrap();
                    paths.push(path);
                }
                for file in db.ingest(&family, &paths, &DEFAULT).unwrap() {
                    levels_seen[file.level] += 1;
                }
            }
        }
        if round % 9 == 0 {
            db.flush().unwrap();
        }
        if round % 50 == 49 {
            db.compact_range(&family, Some(&key(100)), Some(&key(300))).unwrap();
        }
        let expected: Pairs = model.clone().into_iter().collect();
        assert!(all(&db, &family) == expected, "{style:?}, seed {seed}, round {round}");
        assert_level0_in_order(&family, &format!("{style:?}, seed {seed}, round {round}"));
    }
    db.wait_for_background_work().unwrap();
    assert_eq!(state(&db), model.clone().into_iter().collect::<Pairs>());
    drop((db, family));
    let again = builder(Arc::new(disk), &family_options_of(style)).open().unwrap();
    assert_eq!(state(&again), model.into_iter().collect::<Pairs>());
    let deep: usize = levels_seen[1..].iter().sum();
    assert!(style == CompactionStyle::Fifo || deep > 3, "{levels_seen:?}");
}

fn family_options_of(style: CompactionStyle) -> ColumnFamilyOptions {
    ColumnFamilyOptions { compaction_style: style, ..family_options() }
}

#[test]
fn random_histories_with_compactions_going_on_come_to_what_a_model_says() {
    must_end(|| {
        for seed in 0..4 {
            random_history(CompactionStyle::Level, seed);
            random_history(CompactionStyle::Universal, seed);
        }
    });
}

/// Two threads ingest, one writes: what each wrote last of its own keys is there, and files come whole.
#[test]
fn files_come_whole_beside_writers_and_other_ingestions() {
    must_end(|| {
        let disk = MemoryFileSystem::new();
        let db = builder(Arc::new(disk.clone()), &family_options()).open().unwrap();
        let done = AtomicBool::new(false);
        let family = db.default_family();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..2)
                .map(|worker| {
                    let (db, family) = (&db, &family);
                    scope.spawn(move || -> Result<()> {
                        for round in 0..25 {
                            let path = format!("/w{worker}.{round}");
                            let mut writer = db.sst_file_writer(family, &path)?;
                            for at in 0..20 {
                                let key = format!("k{at:02}.{worker}");
                                writer.put(key.as_bytes(), format!("{round}").as_bytes())?;
                            }
                            writer.finish()?;
                            db.ingest(family, &[path], &DEFAULT)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            scope.spawn(|| {
                let mut number = 0_u32;
                while !done.load(Ordering::Acquire) {
                    number += 1;
                    let key = format!("k{:02}.writer", number % 20);
                    db.put(key.as_bytes(), &number.to_be_bytes()).unwrap();
                }
            });
            let look = || {
                let found = all(&db, &family);
                for worker in 0..2 {
                    let suffix = format!(".{worker}");
                    let mut values: Vec<_> = found
                        .iter()
                        .filter(|(key, _)| key.ends_with(suffix.as_bytes()))
                        .map(|(_, value)| value)
                        .collect();
                    assert!(values.is_empty() || values.len() == 20);
                    values.dedup();
                    assert!(values.len() <= 1, "a part of a file: {values:?}");
                }
            };
            let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                    look();
                }
            }));
            done.store(true, Ordering::Release);
            seen.unwrap();
            for worker in workers {
                worker.join().unwrap().unwrap();
            }
        });
        for worker in 0..2 {
            let value = db.get(format!("k07.{worker}").as_bytes()).unwrap().unwrap();
            assert_eq!(value, b"24");
        }
    });
}
