use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};
use std::sync::{Arc, PoisonError};

use super::Unsynced;
use super::content::{Content, KeptEdits};
use crate::error::{Error, Result};
use crate::io::random::SplitMix64;
use crate::util::sync::{Mutex, MutexGuard};

/// A file, whatever its names are.
#[derive(Clone, Debug, Default)]
pub(super) struct FileNode(Arc<Mutex<Content>>);

impl FileNode {
    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a name stands for. Directories are indexes into [`Tree::dirs`].
#[derive(Clone, Debug)]
pub(super) enum Node {
    File(FileNode),
    Dir(usize),
}

/// Names set (`Some`) or removed (`None`) in one step.
type Change = Vec<(OsString, Option<Node>)>;
type Names = BTreeMap<OsString, Node>;

#[derive(Debug, Default)]
struct Directory {
    names: Names,
    /// As at the last sync; `unsynced` leads from there to `names`.
    synced: Names,
    unsynced: Vec<Change>,
}

impl Directory {
    fn apply(&mut self, change: Change) {
        apply(&mut self.names, &change);
        self.unsynced.push(change);
    }
}

fn apply(names: &mut Names, change: &Change) {
    for (name, node) in change {
        match node {
            Some(node) => names.insert(name.clone(), node.clone()),
            None => names.remove(name),
        };
    }
}

/// All directories; the first is the root, which absolute and relative paths start from alike.
#[derive(Debug)]
pub(super) struct Tree {
    dirs: Vec<Directory>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { dirs: vec![Directory::default()] }
    }
}

const ROOT: usize = 0;

fn failed(doing: &str, kind: std::io::ErrorKind, path: &Path) -> Error {
    Error::io(doing, kind.into()).in_file(path)
}

impl Tree {
    /// The node called `path`, if there is one.
    pub(super) fn find(&self, path: &Path) -> Option<Node> {
        let mut node = Node::Dir(ROOT);
        for component in path.components() {
            node = match (component, node) {
                (Component::Normal(name), Node::Dir(dir)) => {
                    self.dirs[dir].names.get(name)?.clone()
                }
                (Component::RootDir | Component::CurDir, node) => node,
                _ => return None,
            };
        }
        Some(node)
    }

    pub(super) fn file(&self, doing: &str, path: &Path) -> Result<FileNode> {
        match self.find(path) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Dir(_)) => Err(Error::invalid_argument("not a regular file").in_file(path)),
            None => Err(failed(doing, std::io::ErrorKind::NotFound, path)),
        }
    }

    fn dir(&self, doing: &str, path: &Path) -> Result<usize> {
        match self.find(path) {
            Some(Node::Dir(dir)) => Ok(dir),
            Some(Node::File(_)) => Err(failed(doing, std::io::ErrorKind::NotADirectory, path)),
            None => Err(failed(doing, std::io::ErrorKind::NotFound, path)),
        }
    }

    /// The directory that holds `path`, and the name there.
    fn parent<'p>(&self, doing: &str, path: &'p Path) -> Result<(usize, &'p OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(doing, std::io::ErrorKind::InvalidInput, path));
        };
        let dir = self.dir(doing, parent).map_err(|_| {
            // The path asked for is named, not the one that is missing above it: so do operating systems.
            failed(doing, std::io::ErrorKind::NotFound, path)
        })?;
        Ok((dir, name))
    }

    /// The file called `path`, made if there is none.
    pub(super) fn file_or_new(&mut self, path: &Path) -> Result<FileNode> {
        if self.find(path).is_some() {
            return self.file("create", path);
        }
        let file = FileNode::default();
        self.link(&file, "create", path)?;
        Ok(file)
    }

    /// Gives a file another name.
    pub(super) fn link(&mut self, file: &FileNode, doing: &str, path: &Path) -> Result<()> {
        let (dir, name) = self.parent(doing, path)?;
        if self.dirs[dir].names.contains_key(name) {
            return Err(failed(doing, std::io::ErrorKind::AlreadyExists, path));
        }
        self.dirs[dir].apply(vec![(name.to_owned(), Some(Node::File(file.clone())))]);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        self.file("remove", path)?;
        let (dir, name) = self.parent("remove", path)?;
        self.dirs[dir].apply(vec![(name.to_owned(), None)]);
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<()> {
        let doing = "rename";
        let Some(node) = self.find(from) else {
            return Err(failed(doing, std::io::ErrorKind::NotFound, from));
        };
        let (from_dir, from_name) = self.parent(doing, from)?;
        let (to_dir, to_name) = self.parent(doing, to)?;
        let there = self.find(to);
        match (&node, &there) {
            // Two names of one file, or one name: nothing to do, says POSIX.
            (Node::File(from), Some(Node::File(to))) if from.is(to) => return Ok(()),
            (Node::Dir(from), Some(Node::Dir(to))) if from == to => return Ok(()),
            // Nothing goes into itself.
            _ if to.starts_with(from) => {
                return Err(failed(doing, std::io::ErrorKind::InvalidInput, from));
            }
            (_, None) | (Node::File(_), Some(Node::File(_))) => {}
            (Node::Dir(_), Some(Node::Dir(to))) if self.dirs[*to].names.is_empty() => {}
            _ => return Err(failed(doing, std::io::ErrorKind::InvalidInput, from)),
        }
        let gone = (from_name.to_owned(), None);
        let arrived = (to_name.to_owned(), Some(node));
        if from_dir == to_dir {
            self.dirs[from_dir].apply(vec![gone, arrived]);
        } else {
            self.dirs[to_dir].apply(vec![arrived]);
            self.dirs[from_dir].apply(vec![gone]);
        }
        Ok(())
    }

    pub(super) fn list(&self, path: &Path) -> Result<Vec<OsString>> {
        let dir = self.dir("list", path)?;
        Ok(self.dirs[dir].names.keys().cloned().collect())
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> Result<()> {
        for ancestor in path.ancestors().collect::<Vec<_>>().into_iter().rev() {
            match self.find(ancestor) {
                Some(Node::Dir(_)) => continue,
                Some(Node::File(_)) => {
                    let kind = std::io::ErrorKind::AlreadyExists;
                    return Err(failed("create directory", kind, path));
                }
                None => {}
            }
            let (parent, name) = self.parent("create directory", ancestor)?;
            let new = Node::Dir(self.dirs.len());
            self.dirs.push(Directory::default());
            self.dirs[parent].apply(vec![(name.to_owned(), Some(new))]);
        }
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> Result<()> {
        let doing = "remove directory";
        let dir = self.dir(doing, path)?;
        if !self.dirs[dir].names.is_empty() {
            return Err(failed(doing, std::io::ErrorKind::DirectoryNotEmpty, path));
        }
        let (parent, name) = self.parent(doing, path)?;
        self.dirs[parent].apply(vec![(name.to_owned(), None)]);
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> Result<()> {
        let dir = self.dir("sync directory", path)?;
        let dir = &mut self.dirs[dir];
        dir.synced.clone_from(&dir.names);
        dir.unsynced.clear();
        Ok(())
    }

    /// The tree after a power cut. Everything in it is synced.
    pub(super) fn after_crash(&self, unsynced: Unsynced) -> Self {
        let seed = if let Unsynced::Random(seed) = unsynced { seed } else { 0 };
        let mut crash = Crash {
            unsynced,
            random: SplitMix64::new(seed),
            old: self,
            new: Self { dirs: Vec::new() },
            files: HashMap::new(),
        };
        crash.copy_dir(ROOT);
        crash.new
    }
}

/// A copy of a tree in the making.
struct Crash<'a> {
    unsynced: Unsynced,
    random: SplitMix64,
    old: &'a Tree,
    new: Tree,
    /// Copies by the address of the original, so that a file of two names stays one file.
    files: HashMap<*const Mutex<Content>, FileNode>,
}

impl Crash<'_> {
    fn copy_dir(&mut self, dir: usize) -> usize {
        let names = self.surviving_names(&self.old.dirs[dir]);
        let copy = self.new.dirs.len();
        self.new.dirs.push(Directory::default());
        for (name, node) in names {
            let node = match node {
                Node::File(file) => Node::File(self.copy_file(&file)),
                Node::Dir(dir) => Node::Dir(self.copy_dir(dir)),
            };
            self.new.dirs[copy].synced.insert(name, node);
        }
        let dir = &mut self.new.dirs[copy];
        dir.names.clone_from(&dir.synced);
        copy
    }

    fn surviving_names(&mut self, dir: &Directory) -> Names {
        let count = dir.unsynced.len();
        let random = &mut self.random;
        let survives: Vec<bool> = match self.unsynced {
            Unsynced::Lost => vec![false; count],
            Unsynced::Kept | Unsynced::KeptUpTo(_) => vec![true; count],
            Unsynced::Random(_) => match random.below(4) {
                0 => vec![false; count],
                1 => vec![true; count],
                2 => {
                    let first = random.below(count as u64 + 1) as usize;
                    (0..count).map(|at| at < first).collect()
                }
                _ => (0..count).map(|_| random.below(2) == 0).collect(),
            },
        };
        let mut names = dir.synced.clone();
        let changes = dir.unsynced.iter().zip(survives);
        for (change, _) in changes.filter(|(_, survives)| *survives) {
            apply(&mut names, change);
        }
        names
    }

    fn copy_file(&mut self, file: &FileNode) -> FileNode {
        if let Some(copy) = self.files.get(&Arc::as_ptr(&file.0)) {
            return copy.clone();
        }
        let content = file.content();
        let kept = match self.unsynced {
            Unsynced::Lost => KeptEdits::None,
            Unsynced::Kept => KeptEdits::ALL,
            Unsynced::KeptUpTo(bytes) => KeptEdits::UpTo(bytes),
            Unsynced::Random(_) => KeptEdits::random(&mut self.random, &content),
        };
        let copy = Content::synced(content.after_crash(kept));
        let copy = FileNode(Arc::new(Mutex::new(copy)));
        self.files.insert(Arc::as_ptr(&file.0), copy.clone());
        copy
    }
}
