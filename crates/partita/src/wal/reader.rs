use std::fmt;
use std::ops::Range;

use super::blocks::{Blocks, Found, Place};
use super::compression::Decompressor;
use super::dropped::{DropReason, Dropped};
use super::format::{Content, FragmentType, Part};
use super::special::{PredecessorWal, decode_compression, decode_predecessor, refuse_timestamps};
use crate::error::{Error, Result};
use crate::io::SequentialFile;
use crate::options::WalRecoveryMode;

/// How a log is read.
#[derive(Clone, Copy, Debug)]
pub struct LogReaderOptions {
    /// What damage means.
    pub mode: WalRecoveryMode,
    /// The number in the file's name: what a recycled file's records must carry. `None` for files that are never recycled
    /// (manifests).
    pub log_number: Option<u64>,
    /// Longest record that a compressed log may expand to. A write batch has at most 4 GiB.
    pub record_bytes_max: usize,
}

impl Default for LogReaderOptions {
    fn default() -> Self {
        let mode = WalRecoveryMode::default();
        Self { mode, log_number: None, record_bytes_max: u32::MAX as usize }
    }
}

/// A record of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// What was written.
    pub payload: &'a [u8],
    /// Where its first fragment starts in the file.
    pub offset: u64,
}

/// Memory of a record is kept for the next one up to this length.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// Is told of all bytes that are not used.
type Reporter = Box<dyn FnMut(&Dropped) + Send>;

/// Reads the records of a log, front to back. Holds one block and one record in memory.
///
/// ```
/// use std::path::Path;
/// use partita::io::{FileSystem, MemoryFileSystem};
/// use partita::wal::{LogReader, LogReaderOptions, LogWriter, LogWriterOptions};
///
/// let fs = MemoryFileSystem::new();
/// let path = Path::new("000007.log");
/// let mut writer = LogWriter::new(fs.create(path)?, &LogWriterOptions::default())?;
/// writer.add_record(&[b"one ", b"record"])?;
/// writer.flush()?;
///
/// let mut reader = LogReader::new(fs.open_sequential(path)?, LogReaderOptions::default());
/// assert_eq!(reader.read_record()?.unwrap().payload, b"one record");
/// assert_eq!(reader.read_record()?, None);
/// # Ok::<(), partita::Error>(())
/// ```
pub struct LogReader {
    blocks: Blocks,
    options: LogReaderOptions,
    reporter: Option<Reporter>,
    decompressor: Option<Decompressor>,
    /// Whether a record was read or a record on compression: another on compression comes too late.
    begun: bool,
    partial: Option<Partial>,
    /// The record in pieces, or decompressed.
    record: Vec<u8>,
    predecessor: Option<PredecessorWal>,
    last: Range<u64>,
    ended: bool,
    stopped_by: Option<Error>,
}

/// A record whose end is still to come.
#[derive(Clone, Copy, Debug)]
struct Partial {
    offset: u64,
    /// Bytes in the file so far, headers included.
    bytes: u64,
    /// Whether it has any payload yet.
    is_empty: bool,
}

/// What comes of a fragment, or of a drop.
#[derive(Debug)]
enum Step {
    GoOn,
    End,
    /// The record lies in the block.
    InBlock(Range<usize>),
    /// The record lies in [`LogReader::record`].
    Assembled,
}

impl fmt::Debug for LogReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogReader")
            .field("path", &self.blocks.path())
            .field("offset", &self.blocks.offset())
            .field("mode", &self.options.mode)
            .field("compressed", &self.decompressor.is_some())
            .finish_non_exhaustive()
    }
}

impl LogReader {
    /// Reads `file` from its start.
    pub fn new(file: Box<dyn SequentialFile>, options: LogReaderOptions) -> Self {
        // A header holds the lower half of the number.
        let log_number = options.log_number.map(|number| number as u32);
        Self {
            blocks: Blocks::new(file, log_number),
            options,
            reporter: None,
            decompressor: None,
            begun: false,
            partial: None,
            record: Vec::new(),
            predecessor: None,
            last: 0..0,
            ended: false,
            stopped_by: None,
        }
    }

    /// Has `reporter` told of all bytes that are not used, whether that is an error or not.
    #[must_use]
    pub fn with_reporter(mut self, reporter: impl FnMut(&Dropped) + Send + 'static) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// The next record; `None` at the end of the log.
    ///
    /// In [`WalRecoveryMode::PointInTime`] damage is an end, too: [`LogReader::stopped_by`] tells the two apart.
    ///
    /// * Errors: `Corruption` by what the mode does not forgive, with file and offset; `Io` if reading fails, in every mode;
    ///   `NotSupported` if the log has what Partita has not. After an error the log has ended.
    pub fn read_record(&mut self) -> Result<Option<LogRecord<'_>>> {
        if self.ended {
            return Ok(None);
        }
        let step = self.assemble().inspect_err(|_| self.ended = true)?;
        let payload = match step {
            Step::InBlock(range) => self.blocks.block().get(range).unwrap_or_default(),
            Step::Assembled => &self.record,
            Step::GoOn | Step::End => {
                self.ended = true;
                return Ok(None);
            }
        };
        Ok(Some(LogRecord { payload, offset: self.last.start }))
    }

    /// Says that a log has grown which is being written. Its end as it was stood between two records;
    /// [`LogReader::read_record`] goes on behind it, whether it has come there or not.
    ///
    /// * Errors: `Io` if reading fails; the log has ended then.
    pub(crate) fn read_on(&mut self) -> Result<()> {
        if self.stopped_by.is_none() {
            self.ended = true;
            self.blocks.go_on()?;
            self.ended = false;
        }
        Ok(())
    }

    /// Treats the record read last as damage: its contents make no sense. What follows depends on the mode.
    ///
    /// * Errors: that record's, in the modes that do not forgive.
    pub fn reject(&mut self, why: &Error) -> Result<()> {
        let reason = DropReason::Contents(why.to_string());
        let (offset, bytes) = (self.last.start, self.last.end - self.last.start);
        match self.damage(offset, bytes, reason) {
            Ok(Step::GoOn) => Ok(()),
            Ok(_) => {
                self.ended = true;
                Ok(())
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }

    /// The damage at which a log ended in [`WalRecoveryMode::PointInTime`].
    ///
    /// What comes after it is lost, unless it shows that nothing was there: the next log goes on with the very next
    /// sequence number.
    pub fn stopped_by(&self) -> Option<&Error> {
        self.stopped_by.as_ref()
    }

    /// The same for who reads no further.
    pub(crate) fn into_stopped_by(self) -> Option<Error> {
        self.stopped_by
    }

    /// The file, for messages.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.blocks.path()
    }

    /// What the log says about the one before it, once the first record was read.
    pub fn predecessor(&self) -> Option<PredecessorWal> {
        self.predecessor
    }

    /// Where the record read last ends in the file: what was read so far.
    pub fn end_offset(&self) -> u64 {
        self.last.end
    }

    fn assemble(&mut self) -> Result<Step> {
        self.record.clear();
        self.record.shrink_to(KEPT_BYTES);
        self.partial = None;
        loop {
            let place = self.blocks.next()?;
            match self.step(place)? {
                Step::GoOn => {}
                done => return Ok(done),
            }
        }
    }

    fn step(&mut self, place: Place) -> Result<Step> {
        let Place { offset, bytes, found } = place;
        match found {
            Found::Fragment { kind, payload } => self.fragment(offset, bytes, kind, payload),
            Found::Damage { reason, at_end } => self.damaged(offset, bytes, reason, at_end),
            Found::Old { log_number } => self.old(offset, bytes, log_number),
            Found::Zeros => self.zeros(),
            Found::End => self.missing_end_at_end(),
        }
    }

    fn fragment(
        &mut self,
        offset: u64,
        bytes: u64,
        kind: FragmentType,
        payload: Range<usize>,
    ) -> Result<Step> {
        match kind.content() {
            Content::Record(part) => self.part(offset, bytes, part, payload),
            Content::Ignorable => {
                self.report(offset, bytes, DropReason::IgnoredType(kind.0));
                self.missing_end()
            }
            Content::Unknown => self.damage(offset, bytes, DropReason::UnknownType(kind.0)),
            Content::SetCompression => self.set_compression(offset, bytes, payload),
            Content::TimestampSizes => {
                let decoded = refuse_timestamps(self.payload(&payload))
                    .map_err(|error| error.at(offset).in_file(self.blocks.path()))?;
                self.special(offset, bytes, decoded)
            }
            Content::PredecessorWal => match decode_predecessor(self.payload(&payload)) {
                Ok(predecessor) => {
                    self.predecessor = Some(predecessor);
                    self.special(offset, bytes, Ok(()))
                }
                Err(what) => self.special(offset, bytes, Err(what)),
            },
        }
    }

    fn payload(&self, range: &Range<usize>) -> &[u8] {
        self.blocks.block().get(range.clone()).unwrap_or_default()
    }

    /// A part of a record.
    fn part(&mut self, offset: u64, bytes: u64, part: Part, payload: Range<usize>) -> Result<Step> {
        let starts = matches!(part, Part::Full | Part::First);
        if starts && self.partial.is_some_and(|partial| partial.is_empty) {
            // Early LevelDB wrote a first fragment without bytes where a block had room for a header only, and then
            // began anew.
            self.report_partial();
        } else if starts && self.partial.is_some() {
            if let Step::End = self.missing_end()? {
                return Ok(Step::End);
            }
        } else if !starts && self.partial.is_none() {
            return self.damage(offset, bytes, DropReason::MissingStart);
        }
        self.begun = true;
        if part == Part::Full && self.decompressor.is_none() {
            self.last = offset..offset + bytes;
            return Ok(Step::InBlock(payload));
        }
        let partial = self.partial.get_or_insert(Partial { offset, bytes: 0, is_empty: true });
        // Padding at the end of a block counts as part of the record that crosses it.
        partial.bytes = offset + bytes - partial.offset;
        partial.is_empty &= payload.is_empty();
        let whole = matches!(part, Part::Full | Part::Last);
        if let Err(what) = self.add(payload, starts, whole) {
            return self.damaged_record(DropReason::Compression(what));
        }
        if !whole {
            return Ok(Step::GoOn);
        }
        let start = self.partial.take().map_or(offset, |partial| partial.offset);
        self.last = start..offset + bytes;
        Ok(Step::Assembled)
    }

    /// Adds a fragment's bytes to the record.
    fn add(
        &mut self,
        payload: Range<usize>,
        starts: bool,
        whole: bool,
    ) -> Result<(), &'static str> {
        if starts {
            self.record.clear();
        }
        let payload = self.blocks.block().get(payload).unwrap_or_default();
        let Some(decompressor) = &mut self.decompressor else {
            self.record.extend_from_slice(payload);
            return Ok(());
        };
        if starts {
            decompressor.start()?;
        }
        decompressor.add(payload, &mut self.record, self.options.record_bytes_max)?;
        match whole && !decompressor.is_whole() {
            true => Err("the frame has no end"),
            false => Ok(()),
        }
    }

    fn set_compression(&mut self, offset: u64, bytes: u64, payload: Range<usize>) -> Result<Step> {
        if self.begun {
            let reason = "the record of the log's compression is not the first one";
            return self.special(offset, bytes, Err(reason));
        }
        self.begun = true;
        let decoded = decode_compression(self.payload(&payload))
            .map_err(|error| error.at(offset).in_file(self.blocks.path()))?;
        if decoded == Ok(true) {
            self.decompressor = Decompressor::new();
            if self.decompressor.is_none() {
                let what = DropReason::Compression("no memory for a context");
                return self.damage(offset, bytes, what);
            }
        }
        self.special(offset, bytes, decoded.map(drop))
    }

    /// A record about the log itself; it has no business within another record.
    fn special(
        &mut self,
        offset: u64,
        bytes: u64,
        decoded: Result<(), &'static str>,
    ) -> Result<Step> {
        match decoded {
            Ok(()) => self.missing_end(),
            Err(what) => self.damage(offset, bytes, DropReason::SpecialRecord(what)),
        }
    }

    fn damaged(
        &mut self,
        offset: u64,
        bytes: u64,
        reason: DropReason,
        at_end: bool,
    ) -> Result<Step> {
        let torn = match reason {
            // What is missing was never written.
            DropReason::TruncatedHeader | DropReason::TruncatedBody => at_end,
            // Behind the end of a recycled log stand the ruins of the one before.
            DropReason::BadLength
            | DropReason::TurnedHeader
            | DropReason::ChecksumMismatch { .. } => {
                self.blocks.is_recyclable()
                    && self.options.mode == WalRecoveryMode::TolerateCorruptedTailRecords
            }
            _ => false,
        };
        match torn {
            true => self.torn_tail(offset, bytes, reason),
            false => self.damage(offset, bytes, reason),
        }
    }

    fn old(&mut self, offset: u64, bytes: u64, log_number: Option<u32>) -> Result<Step> {
        let reason = DropReason::OldRecord { log_number };
        self.report(offset, bytes, reason);
        match self.options.mode {
            WalRecoveryMode::SkipAnyCorruptedRecords => self.missing_end(),
            // The log ends before it.
            _ => self.missing_end_at_end(),
        }
    }

    /// The rest of a block that seems never to have been written. Between records that is no loss.
    fn zeros(&mut self) -> Result<Step> {
        let tolerant = self.options.mode == WalRecoveryMode::TolerateCorruptedTailRecords;
        if self.partial.is_some() && tolerant && self.blocks.only_zeros_follow()? {
            return self.missing_end_at_end();
        }
        self.missing_end()
    }

    /// The log goes on, or ends, while the end of a record is to come: damage in every mode.
    fn missing_end(&mut self) -> Result<Step> {
        match self.partial.is_some() {
            true => self.damaged_record(DropReason::MissingEnd),
            false => Ok(Step::GoOn),
        }
    }

    /// The log is over. A record without an end was being written.
    fn missing_end_at_end(&mut self) -> Result<Step> {
        match self.partial.take() {
            Some(Partial { offset, bytes, .. }) => {
                self.torn_tail(offset, bytes, DropReason::MissingEnd)
            }
            None => Ok(Step::End),
        }
    }

    fn damaged_record(&mut self, reason: DropReason) -> Result<Step> {
        match self.partial.take() {
            Some(Partial { offset, bytes, .. }) => self.damage(offset, bytes, reason),
            None => Ok(Step::GoOn),
        }
    }

    /// Something that was being written when the power failed. Modes that need to know that nothing is missing do not
    /// forgive it: somebody may have been told that it was written.
    fn torn_tail(&mut self, offset: u64, bytes: u64, reason: DropReason) -> Result<Step> {
        use WalRecoveryMode::{
            AbsoluteConsistency, PointInTime, SkipAnyCorruptedRecords, TolerateCorruptedTailRecords,
        };
        match self.options.mode {
            TolerateCorruptedTailRecords | SkipAnyCorruptedRecords => {
                self.report_partial();
                self.report(offset, bytes, reason);
                Ok(Step::End)
            }
            AbsoluteConsistency | PointInTime => self.damage(offset, bytes, reason),
        }
    }

    /// Damage: an error, the end, or passed over, as the mode says.
    fn damage(&mut self, offset: u64, bytes: u64, reason: DropReason) -> Result<Step> {
        self.report_partial();
        let dropped = Dropped { file: self.blocks.path().to_owned(), offset, bytes, reason };
        if let Some(reporter) = &mut self.reporter {
            reporter(&dropped);
        }
        match self.options.mode {
            WalRecoveryMode::SkipAnyCorruptedRecords => Ok(Step::GoOn),
            WalRecoveryMode::PointInTime => {
                self.stopped_by = Some(dropped.error());
                Ok(Step::End)
            }
            WalRecoveryMode::TolerateCorruptedTailRecords
            | WalRecoveryMode::AbsoluteConsistency => Err(dropped.error()),
        }
    }

    /// A record that was being put together ends with the damage at hand.
    fn report_partial(&mut self) {
        if let Some(Partial { offset, bytes, .. }) = self.partial.take() {
            self.report(offset, bytes, DropReason::MissingEnd);
        }
    }

    fn report(&mut self, offset: u64, bytes: u64, reason: DropReason) {
        if let Some(reporter) = &mut self.reporter {
            let file = self.blocks.path().to_owned();
            reporter(&Dropped { file, offset, bytes, reason });
        }
    }
}
