use std::path::{Path, PathBuf};

use partita::io::FileSystem;
use partita::version::FileName;

use crate::model::Problem;

/// How deep below a path databases are looked for: Kafka Streams has `state/app/0_1/rocksdb/store`.
const DEPTH_MAX: usize = 12;
/// Directories that are listed at most, so that links which lead back end somewhere.
const DIRECTORIES_MAX: usize = 100_000;

/// The directories of databases at `path` or below it, sorted, and what could not be listed.
///
/// A directory holds a database if it has a CURRENT or a manifest; what lies below it is not looked at.
pub fn find_databases(fs: &dyn FileSystem, path: &Path) -> (Vec<PathBuf>, Vec<Problem>) {
    let mut search = Search { fs, found: Vec::new(), problems: Vec::new(), listed: 0 };
    match fs.list(path) {
        Ok(_) => search.directory(path, 0),
        Err(error) => search.problems.push(Problem::new(&error)),
    }
    search.found.sort_unstable();
    (search.found, search.problems)
}

struct Search<'f> {
    fs: &'f dyn FileSystem,
    found: Vec<PathBuf>,
    problems: Vec<Problem>,
    listed: usize,
}

impl Search<'_> {
    fn directory(&mut self, dir: &Path, depth: usize) {
        self.listed += 1;
        if self.listed > DIRECTORIES_MAX || depth > DEPTH_MAX {
            return;
        }
        // Below the top nearly all names are files, and a directory may go while we look.
        let Ok(names) = self.fs.list(dir) else { return };
        let is_database = names.iter().any(|name| {
            matches!(FileName::parse(name), Some(FileName::Current | FileName::Manifest(_)))
        });
        if is_database {
            self.found.push(dir.to_owned());
            return;
        }
        for name in names.iter().filter(|name| FileName::parse(name).is_none()) {
            self.directory(&dir.join(name), depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita::io::MemoryFileSystem;

    #[test]
    fn databases_are_found_below_a_directory_and_not_within_each_other() {
        let fs = MemoryFileSystem::new();
        for name in [
            "/b/current/locations/CURRENT",
            "/b/current/ledgers/MANIFEST-000004",
            "/b/current/a.log",
        ] {
            let path = Path::new(name);
            fs.create_dir_all(path.parent().unwrap()).unwrap();
            fs.create(path).unwrap().flush().unwrap();
        }
        fs.create_dir_all(Path::new("/b/current/locations/archive")).unwrap();
        let (found, problems) = find_databases(&fs, Path::new("/b"));
        assert_eq!(found, ["/b/current/ledgers", "/b/current/locations"].map(PathBuf::from));
        assert!(problems.is_empty());

        let (found, problems) = find_databases(&fs, Path::new("/none"));
        assert_eq!((found.len(), problems.len()), (0, 1));
    }
}
