//! What a history is made of.

use std::fmt;

/// A column family of a history, by number: 0 is `default`, the first [`Slot::RESIDENTS`] are always there, others come and
/// go, and a later one may have the name of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u8);

impl Slot {
    /// The family that every database has.
    pub const DEFAULT: Self = Self(0);
    /// How many are always there.
    pub const RESIDENTS: u8 = 2;
    /// How many there can be.
    pub const COUNT: u8 = 4;

    /// Those that are always there.
    pub fn residents() -> impl Iterator<Item = Self> {
        (0..Self::RESIDENTS).map(Self)
    }

    /// What the family is called.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "default",
            1 => "more",
            2 => "guest",
            _ => "visitor",
        }
    }
}

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// One record of a batch.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// To which family it goes.
    pub slot: Slot,
    /// What it does.
    pub op: Op,
}

/// What a record does. In ranges, the end is not included.
#[derive(Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the record of its name")]
pub enum Op {
    Put(Vec<u8>, Vec<u8>),
    /// With the operator that appends with a comma between.
    Merge(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    /// Of a key that was put once since it was last deleted.
    SingleDelete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// How far a batch must have come when its write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// To the device.
    Synced,
    /// To the operating system.
    Logged,
    /// To memory: it is durable once its family is flushed.
    Unlogged,
}

/// How much of its last level a compaction by hand writes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as `BottommostLevelCompaction`")]
pub enum LastLevel {
    Skip,
    IfFilter,
    Rewrite,
}

/// One thing that is done with a database.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// A batch is written.
    Write(Vec<Change>, Durability),
    /// What was written so far goes to the device.
    SyncLog,
    /// The memtables of these families are flushed; of all, if none is named.
    Flush(Option<Slot>),
    /// A range is compacted, both ends included.
    Compact {
        /// Of which family.
        slot: Slot,
        /// From where; `None`: the first key.
        from: Option<Vec<u8>>,
        /// Up to where; `None`: the last key.
        to: Option<Vec<u8>>,
        /// What is done with the last level.
        last_level: LastLevel,
    },
    /// External files are made and ingested, one for each of these families, all in one step. Their rows are in order.
    Ingest(Vec<(Slot, Vec<Row>)>),
    /// Tables with nothing but keys of this epoch are dropped, then the range of its keys is deleted: keys of an epoch are
    /// put once, and read no more by anybody, snapshots included.
    Purge(Slot, u32),
    /// A snapshot is taken, and has this number.
    Snapshot(u32),
    /// The snapshot of this number is released.
    Release(u32),
    /// A family is created.
    Create(Slot),
    /// A family is dropped.
    Drop(Slot),
    /// A family is created from an export of another.
    Copy {
        /// What is exported.
        from: Slot,
        /// What is created.
        to: Slot,
    },
    /// A checkpoint is made, and what it holds is compared.
    Checkpoint,
    /// The database is closed and opened again, with the option set of this number (modulo the number of sets).
    Reopen(usize),
    /// The process is killed; whoever comes next opens the database, with the option set of this number.
    Kill(usize),
    /// All that can be read is compared.
    Check,
}

impl Step {
    /// The record of a change in a batch of its own.
    pub fn write_one(slot: Slot, op: Op, durability: Durability) -> Self {
        Self::Write(vec![Change { slot, op }], durability)
    }
}

/// Keys of an epoch start with this.
pub fn epoch_prefix(epoch: u32) -> Vec<u8> {
    format!("epoch{epoch:05}").into_bytes()
}

struct Short<'a>(&'a [u8]);

impl fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 24;
        write!(f, "\"{}", self.0[..self.0.len().min(MOST)].escape_ascii())?;
        if self.0.len() > MOST {
            write!(f, "…{}", self.0.len())?;
        }
        write!(f, "\"")
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.slot.name();
        match &self.op {
            Op::Put(key, value) => write!(f, "{name} {:?}={:?}", Short(key), Short(value)),
            Op::Merge(key, operand) => write!(f, "{name} {:?}+{:?}", Short(key), Short(operand)),
            Op::Delete(key) => write!(f, "{name} -{:?}", Short(key)),
            Op::SingleDelete(key) => write!(f, "{name} -1{:?}", Short(key)),
            Op::DeleteRange(begin, end) => {
                write!(f, "{name} -[{:?}, {:?})", Short(begin), Short(end))
            }
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(changes, durability) => write!(f, "write {durability:?} {changes:?}"),
            Self::SyncLog => write!(f, "sync the log"),
            Self::Flush(None) => write!(f, "flush all"),
            Self::Flush(Some(slot)) => write!(f, "flush {}", slot.name()),
            Self::Compact { slot, from, to, last_level } => {
                let [from, to] = [from, to].map(|bound| bound.as_deref().map(Short));
                write!(f, "compact {} from {from:?} to {to:?}, {last_level:?}", slot.name())
            }
            Self::Ingest(files) => {
                write!(f, "ingest")?;
                for (slot, rows) in files {
                    let ends = [rows.first(), rows.last()].map(|row| row.map(|row| Short(&row.0)));
                    write!(f, " {} {} rows {ends:?}", slot.name(), rows.len())?;
                }
                Ok(())
            }
            Self::Purge(slot, epoch) => write!(f, "purge epoch {epoch} of {}", slot.name()),
            Self::Snapshot(number) => write!(f, "snapshot {number}"),
            Self::Release(number) => write!(f, "release {number}"),
            Self::Create(slot) => write!(f, "create {}", slot.name()),
            Self::Drop(slot) => write!(f, "drop {}", slot.name()),
            Self::Copy { from, to } => write!(f, "copy {} to {}", from.name(), to.name()),
            Self::Checkpoint => write!(f, "checkpoint"),
            Self::Reopen(options) => write!(f, "reopen with options {options}"),
            Self::Kill(options) => write!(f, "kill, open with options {options}"),
            Self::Check => write!(f, "check"),
        }
    }
}
