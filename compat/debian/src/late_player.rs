//! RocksDB 9.8.4 takes turns at ping-pong, in a Python process (`player.py` says in which words, and what is done instead of
//! what its API lacks).

use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use partita_compat_rocks::Row;
use partita_compat_rocks::ping_pong::{Abilities, Engine, Player};
use partita_proof::ours::Place;
use partita_proof::state::Order;
use partita_proof::step::{Change, Durability, Op, Slot, Step};
use partita_proof::subject::Subject;
use partita_testkit::archive;

/// RocksDB 9.8.4.
#[derive(Debug)]
pub struct Rocksdict;

impl Engine for Rocksdict {
    fn name(&self) -> &'static str {
        "RocksDB 9.8.4"
    }

    fn abilities(&self) -> Abilities {
        Abilities { creates: false, exports: false, makes_files: false, is_in_process: false }
    }

    /// With the options that whoever came before left.
    fn open(&self, place: &Place, _options: usize) -> Result<Box<dyn Player>, String> {
        Ok(Box::new(LatePlayer::open(&place.dir, place.order)?))
    }

    fn write_external_file(&self, _: &Place, _: usize, _: &Path, _: &[Row]) -> Result<(), String> {
        Err("it is not asked for files".to_owned())
    }
}

struct Python {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Python {
    fn start() -> Result<Self, String> {
        let mut child = Command::new("python3")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("player.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("python3: {error}"))?;
        let to = BufWriter::new(child.stdin.take().expect("it was asked for"));
        let from = BufReader::new(child.stdout.take().expect("it was asked for"));
        Ok(Self { child, to, from })
    }

    fn exchange(&mut self, message: &[Row]) -> std::io::Result<Vec<Row>> {
        let bytes = archive::encode_rows(message);
        self.to.write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.to.write_all(&bytes)?;
        self.to.flush()?;
        let mut length = [0; 8];
        self.from.read_exact(&mut length)?;
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        self.from.read_exact(&mut bytes)?;
        archive::decode_rows(&bytes)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // A process that was not told to close is killed: that is what the next one finds.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// RocksDB 9.8.4 with an open database.
pub struct LatePlayer {
    order: Order,
    python: Mutex<Python>,
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn row(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Row {
    (key.as_ref().to_vec(), value.as_ref().to_vec())
}

/// Two rows: operation and family, key and value.
fn change(Change { slot, op }: &Change) -> [Row; 2] {
    let (operation, arguments) = match op {
        Op::Put(key, value) => ("put", row(key, value)),
        Op::Merge(key, operand) => ("merge", row(key, operand)),
        Op::Delete(key) | Op::SingleDelete(key) => ("delete", row(key, b"")),
        Op::DeleteRange(begin, end) => ("delete_range", row(begin, end)),
    };
    [row(operation, slot.name()), arguments]
}

impl LatePlayer {
    /// Opens a database with the options of its OPTIONS file.
    ///
    /// * `order`: that of its keys.
    pub fn open(dir: &Path, order: Order) -> Result<Self, String> {
        let player = Self { order, python: Mutex::new(Python::start()?) };
        player.tell("open", path_bytes(dir), &[])?;
        Ok(player)
    }

    /// Ingests files behind all that the family has.
    pub fn ingest_behind(&self, slot: Slot, files: &[PathBuf]) -> Result<(), String> {
        let mut rows = vec![row(slot.name(), b"")];
        rows.extend(files.iter().map(|path| row(path_bytes(path), b"")));
        self.tell("ingest_behind", b"", &rows).map(drop)
    }

    fn tell(&self, command: &str, argument: &[u8], rows: &[Row]) -> Result<Vec<Row>, String> {
        let mut message = vec![row(command, argument)];
        message.extend_from_slice(rows);
        let mut python = self.python.lock().map_err(|error| error.to_string())?;
        let mut answer = python.exchange(&message).map_err(|error| {
            format!("{error}: is the Python wheel rocksdict there? .ci/install-oracles")
        })?;
        match answer.first() {
            Some((word, _)) if word == b"ok" => Ok(answer.split_off(1)),
            Some((_, said)) => Err(String::from_utf8_lossy(said).into_owned()),
            None => Err("an empty answer".to_owned()),
        }
    }

    fn write(&self, changes: &[Change], durability: Durability) -> Result<(), String> {
        let mut rows = vec![row("", format!("{durability:?}"))];
        rows.extend(changes.iter().flat_map(change));
        self.tell("write", b"", &rows).map(drop)
    }

    /// Deletes the range; files cannot be dropped.
    fn purge(&self, slot: Slot, epoch: u32) -> Result<(), String> {
        let [from, to] = self.order.epoch(epoch);
        let end = Change { slot, op: Op::Delete(to.clone()) };
        let range = Change { slot, op: Op::DeleteRange(from, to) };
        self.write(&[range, end], Durability::Logged)
    }

    fn look_up(
        &self,
        slot: Slot,
        snapshot: Option<u32>,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Vec<u8>>>, String> {
        let mut rows = vec![row(slot.name(), name_of(snapshot))];
        rows.extend(keys.iter().map(|key| row(key, b"")));
        let found = self.tell("get", b"", &rows)?;
        Ok(found.into_iter().map(|(there, value)| (there == b"+").then_some(value)).collect())
    }
}

fn name_of(snapshot: Option<u32>) -> String {
    snapshot.map_or(String::new(), |number| number.to_string())
}

impl Player for LatePlayer {
    fn checkpoint(&mut self, dir: &Path) -> Result<(), String> {
        self.tell("checkpoint", b"", &[row(path_bytes(dir), b"")]).map(drop)
    }

    fn ingest(&mut self, files: &[(Slot, PathBuf)]) -> Result<(), String> {
        let rows: Vec<Row> =
            files.iter().map(|(slot, path)| row(slot.name(), path_bytes(path))).collect();
        self.tell("ingest", b"", &rows).map(drop)
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.tell("close", b"", &[]).map(drop)
    }
}

impl Subject for LatePlayer {
    type Error = String;

    fn apply(&mut self, step: &Step) -> Result<(), String> {
        let name = |slot: &Slot| row(slot.name(), b"");
        let (command, rows) = match step {
            Step::Write(changes, durability) => return self.write(changes, *durability),
            Step::Purge(slot, epoch) => return self.purge(*slot, *epoch),
            Step::SyncLog => ("sync_log", Vec::new()),
            Step::Flush(Some(slot)) => ("flush", vec![name(slot)]),
            Step::Flush(None) => ("flush", self.slots().iter().map(name).collect()),
            Step::Compact { slot, from, to, last_level } => {
                let bound = |key: &Option<Vec<u8>>| {
                    key.as_ref().map_or(row(b"", b""), |key| row(b"+", key))
                };
                let how = row(slot.name(), format!("{last_level:?}"));
                ("compact", vec![how, bound(from), bound(to)])
            }
            Step::Snapshot(number) => ("snapshot", vec![row(number.to_string(), b"")]),
            Step::Release(number) => ("release", vec![row(number.to_string(), b"")]),
            Step::Create(slot) => ("create", vec![name(slot)]),
            Step::Drop(slot) => ("drop", vec![name(slot)]),
            Step::Check => return Ok(()),
            Step::Copy { .. }
            | Step::Ingest(_)
            | Step::Checkpoint
            | Step::Reopen(_)
            | Step::Kill(_) => unreachable!("whoever plays does that, or another engine"),
        };
        self.tell(command, b"", &rows).map(drop)
    }

    fn slots(&self) -> Vec<Slot> {
        let names = self.tell("slots", b"", &[]).unwrap_or_default();
        let is_there = |slot: &Slot| names.iter().any(|(name, _)| name == slot.name().as_bytes());
        (0..Slot::COUNT).map(Slot).filter(is_there).collect()
    }

    fn rows(&self, slot: Slot, snapshot: Option<u32>, backward: bool) -> Result<Vec<Row>, String> {
        let way = if backward { "backward" } else { "forward" };
        self.tell("rows", b"", &[row(slot.name(), name_of(snapshot)), row(way, b"")])
    }

    fn get(
        &self,
        slot: Slot,
        snapshot: Option<u32>,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        let found = self.look_up(slot, snapshot, &[key.to_vec()])?;
        Ok(found.into_iter().next().flatten())
    }

    fn multi_get(&self, slot: Slot, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, String> {
        self.look_up(slot, None, keys)
    }

    fn floor(&self, slot: Slot, key: &[u8]) -> Option<Result<Option<Row>, String>> {
        let found = self.tell("floor", b"", &[row(slot.name(), key)]);
        Some(found.map(|rows| rows.into_iter().next()))
    }

    fn check_itself(&mut self) -> Result<(), String> {
        self.tell("check_itself", b"", &[]).map(drop)
    }
}
