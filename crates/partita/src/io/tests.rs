//! The disk and memory do the same.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::error::{ErrorKind, Result};

/// A file or a directory below the root. No path is both: what a system says to a file used as a directory differs.
fn path_of(is_dir: bool, number: u8) -> &'static Path {
    let files = ["a", "b", "dir/a", "dir/b", "dir/sub/a", "no/a"];
    let dirs = ["dir", "dir/sub", "other", "no/dir"];
    let names = if is_dir { &dirs[..] } else { &files };
    Path::new(names[usize::from(number) % names.len()])
}

/// One step and two paths; the answer as text, in which the root does not occur.
fn step(fs: &dyn FileSystem, root: &Path, (what, one, two): (u8, u8, u8)) -> String {
    let is_dir = what % 13 >= 9;
    let (one, two) = (root.join(path_of(is_dir, one)), root.join(path_of(is_dir, two)));
    let write = |file: Result<Box<dyn WritableFile>>| -> Result<String> {
        let mut file = file?;
        file.append(b"flushed ")?;
        file.flush()?;
        file.append(&[what; 3])?;
        file.sync()?;
        file.append(b"lost")?;
        Ok(file.offset().to_string())
    };
    let done = |outcome: Result<()>| outcome.map(|()| "done".to_owned());
    let outcome = match what % 13 {
        0 => write(fs.create(&one)),
        1 => write(fs.create_new(&one)),
        2 => write(fs.append(&one)),
        3 => write(fs.overwrite(&one)),
        4 | 9 => done(fs.rename(&one, &two)),
        5 => done(fs.remove(&one)),
        6 => done(fs.hard_link(&one, &two)),
        7 => fs.exists(&one).map(|exists| exists.to_string()),
        10 => fs.list(&one).map(|names| format!("{names:?}")),
        11 => done(fs.create_dir_all(&one)),
        12 => done(fs.remove_dir(&one)),
        _ => fs.read(&one).and_then(|bytes| {
            let file = fs.open(&one)?;
            assert_eq!((file.len(), fs.file_len(&one)?), (bytes.len() as u64, bytes.len() as u64));
            let mut again = vec![0; bytes.len()];
            file.read_exact_at(0, &mut again)?;
            assert_eq!(bytes, again);
            let behind = file.read_exact_at(1, &mut again);
            assert_eq!(behind.is_ok(), bytes.is_empty());
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }),
    };
    outcome.unwrap_or_else(|error| match (error.is_not_found(), error.is_already_there()) {
        (true, _) => "not found".to_owned(),
        (_, true) => "already there".to_owned(),
        _ => "refused".to_owned(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn disk_and_memory_give_the_same_answers(steps in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let memory = MemoryFileSystem::new();
        let memory_root = Path::new("/root");
        memory.create_dir_all(memory_root).unwrap();
        for (fs, root) in [(&DiskFileSystem as &dyn FileSystem, dir.path()), (&memory, memory_root)] {
            fs.create_dir_all(&root.join("dir/sub")).unwrap();
            fs.sync_dir(root).unwrap();
        }
        for what in steps {
            let on_disk = step(&DiskFileSystem, dir.path(), what);
            let in_memory = step(&memory, memory_root, what);
            prop_assert_eq!(on_disk, in_memory, "{:?}", what);
        }
    }
}

#[test]
fn a_directory_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryFileSystem::new();
    for (fs, root) in [(&DiskFileSystem as &dyn FileSystem, dir.path()), (&memory, Path::new("/"))]
    {
        let path = root.join("dir");
        fs.create_dir_all(&path).unwrap();
        assert!(fs.exists(&path).unwrap());
        assert_eq!(fs.open(&path).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(fs.open_sequential(&path).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert!(fs.create(&path).is_err());
        assert!(fs.append(&path).is_err());
        assert!(fs.remove(&path).is_err());
        assert!(fs.file_len(&path).is_err());
        assert!(fs.create_new(&path).unwrap_err().is_already_there());
    }
}

#[test]
fn a_lock_of_either_file_system_excludes_a_second_one() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryFileSystem::new();
    for (fs, root) in [(&DiskFileSystem as &dyn FileSystem, dir.path()), (&memory, Path::new("/"))]
    {
        let path = root.join("LOCK");
        let lock = fs.lock(&path).unwrap();
        assert_eq!(lock.path(), path);
        assert_eq!(fs.lock(&path).unwrap_err().kind(), ErrorKind::Busy);
        drop(lock);
        assert!(fs.exists(&path).unwrap());
        drop(fs.lock(&path).unwrap());
    }
}

#[test]
fn an_open_file_outlives_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryFileSystem::new();
    for (fs, root) in [(&DiskFileSystem as &dyn FileSystem, dir.path()), (&memory, Path::new("/"))]
    {
        let path = root.join("000001.sst");
        let mut writer = fs.create(&path).unwrap();
        writer.append(b"abc").unwrap();
        writer.sync().unwrap();
        let (file, mut reader) = (fs.open(&path).unwrap(), fs.open_sequential(&path).unwrap());
        fs.remove(&path).unwrap();
        let mut buf = [0; 3];
        file.read_exact_at(0, &mut buf).unwrap();
        assert_eq!(&buf, b"abc");
        assert_eq!(reader.read_full(&mut [0; 8]).unwrap(), 3);
        let mut writer = fs.create_new(&path).unwrap();
        writer.append(b"new").unwrap();
        writer.flush().unwrap();
        file.read_exact_at(0, &mut buf).unwrap();
        assert_eq!(&buf, b"abc");
    }
}

/// Names and bytes of a memory file system, directories left out.
fn files(fs: &MemoryFileSystem) -> Vec<(String, Vec<u8>)> {
    let names = fs.list(Path::new("/")).unwrap();
    let read = |name: String| {
        let bytes = fs.read(Path::new(&name)).unwrap();
        (name, bytes)
    };
    names.into_iter().map(|name| read(name.into_string().unwrap())).collect()
}

#[test]
fn names_that_were_not_synced_come_and_go() {
    let fs = MemoryFileSystem::new();
    for name in ["kept", "removed", "renamed"] {
        fs.create(Path::new(name)).unwrap();
    }
    fs.sync_dir(Path::new("/")).unwrap();
    fs.remove(Path::new("removed")).unwrap();
    fs.rename(Path::new("renamed"), Path::new("other")).unwrap();
    fs.create(Path::new("created")).unwrap();
    let names = |fs: &MemoryFileSystem| -> Vec<String> {
        files(fs).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&fs.after_crash(Unsynced::Lost)), ["kept", "removed", "renamed"]);
    assert_eq!(names(&fs.after_crash(Unsynced::Kept)), ["created", "kept", "other"]);
    let images: std::collections::BTreeSet<_> =
        (0..100).map(|seed| names(&fs.after_crash(Unsynced::Random(seed)))).collect();
    // Each of the three changes took place or not.
    assert_eq!(images.len(), 8);
    // An image has nothing unsynced.
    let image = fs.after_crash(Unsynced::Random(1));
    assert_eq!(files(&image.after_crash(Unsynced::Lost)), files(&image));
}

#[test]
fn a_file_of_two_names_stays_one_file() {
    let fs = MemoryFileSystem::new();
    fs.create(Path::new("a")).unwrap();
    fs.hard_link(Path::new("a"), Path::new("b")).unwrap();
    let image = fs.after_crash(Unsynced::Kept);
    let mut writer = image.append(Path::new("a")).unwrap();
    writer.append(b"x").unwrap();
    writer.flush().unwrap();
    assert_eq!(image.read(Path::new("b")).unwrap(), b"x");
}
