use crate::io::random::SplitMix64;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The bytes of a file, and how they came about since the last sync.
#[derive(Debug, Default)]
pub(super) struct Content {
    bytes: Vec<u8>,
    unsynced: Vec<Edit>,
}

/// `before` was replaced by `after` at `offset`.
#[derive(Debug)]
struct Edit {
    offset: usize,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// What a power cut leaves of a file's unsynced edits.
#[derive(Debug)]
pub(super) enum KeptEdits {
    None,
    UpTo(u64),
    Sectors(SplitMix64),
}

impl KeptEdits {
    pub(super) const ALL: Self = Self::UpTo(u64::MAX);

    pub(super) fn random(random: &mut SplitMix64, content: &Content) -> Self {
        let bytes: usize = content.unsynced.iter().map(|edit| edit.after.len()).sum();
        match random.below(4) {
            0 => Self::None,
            1 => Self::ALL,
            2 => Self::UpTo(random.below(bytes as u64 + 1)),
            _ => Self::Sectors(SplitMix64::new(random.next())),
        }
    }
}

impl Content {
    /// A file whose bytes are all synced.
    pub(super) fn synced(bytes: Vec<u8>) -> Self {
        Self { bytes, unsynced: Vec::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes over what stands at `offset`, which is not behind the end, and beyond the end.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let over = offset..self.bytes.len().min(offset + bytes.len());
        if over.is_empty()
            && let Some(last) = self.unsynced.last_mut()
            && !last.after.is_empty()
            && last.offset + last.after.len() == offset
        {
            last.after.extend_from_slice(bytes);
        } else {
            let before = self.bytes[over.clone()].to_vec();
            self.unsynced.push(Edit { offset, before, after: bytes.to_vec() });
        }
        self.bytes.splice(over, bytes.iter().copied());
    }

    pub(super) fn clear(&mut self) {
        let before = std::mem::take(&mut self.bytes);
        self.unsynced.push(Edit { offset: 0, before, after: Vec::new() });
    }

    /// Cuts off what stands behind `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.bytes.len() {
            let before = self.bytes.split_off(len);
            self.unsynced.push(Edit { offset: len, before, after: Vec::new() });
        }
    }

    pub(super) fn sync(&mut self) {
        self.unsynced.clear();
    }

    /// The bytes after a power cut.
    pub(super) fn after_crash(&self, kept: KeptEdits) -> Vec<u8> {
        match kept {
            KeptEdits::None => self.last_synced(),
            KeptEdits::UpTo(bytes) => self.with_edits_up_to(bytes),
            KeptEdits::Sectors(random) => self.with_some_sectors(random),
        }
    }

    fn last_synced(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for edit in self.unsynced.iter().rev() {
            let end = edit.offset + edit.after.len();
            bytes.splice(edit.offset..end, edit.before.iter().copied());
        }
        bytes
    }

    fn with_edits_up_to(&self, mut budget: u64) -> Vec<u8> {
        let mut bytes = self.last_synced();
        for edit in &self.unsynced {
            let taken = edit.after.len().min(usize::try_from(budget).unwrap_or(usize::MAX));
            let whole = taken == edit.after.len();
            // A whole edit replaces all it replaced; a torn one just the bytes it reached.
            let replaced = if whole { edit.before.len() } else { taken.min(edit.before.len()) };
            let range = edit.offset..edit.offset + replaced;
            bytes.splice(range, edit.after[..taken].iter().copied());
            if !whole {
                break;
            }
            budget -= taken as u64;
        }
        bytes
    }

    /// The length is the new one, but some of the sectors written have their old bytes, or zeros where there were none.
    fn with_some_sectors(&self, mut random: SplitMix64) -> Vec<u8> {
        let old = self.last_synced();
        let mut bytes = self.bytes.clone();
        for (at, sector) in bytes.chunks_mut(SECTOR_BYTES).enumerate() {
            if random.below(2) == 0 {
                continue;
            }
            let start = at * SECTOR_BYTES;
            for (at, byte) in sector.iter_mut().enumerate() {
                *byte = old.get(start + at).copied().unwrap_or(0);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn synced_then(edits: impl FnOnce(&mut Content)) -> Content {
        let mut content = Content::default();
        content.write(0, b"0123456789");
        content.sync();
        edits(&mut content);
        content
    }

    #[test]
    fn an_unsynced_tail_is_lost_kept_or_torn_at_any_byte() {
        let content = synced_then(|content| {
            content.write(10, b"ab");
            content.write(12, b"cd");
        });
        assert_eq!(content.after_crash(KeptEdits::None), b"0123456789");
        assert_eq!(content.after_crash(KeptEdits::ALL), b"0123456789abcd");
        assert_eq!(content.after_crash(KeptEdits::UpTo(3)), b"0123456789abc");
    }

    #[test]
    fn bytes_written_over_come_back() {
        let content = synced_then(|content| {
            content.write(8, b"xyz");
            content.write(0, b"AB");
        });
        assert_eq!(content.bytes(), b"AB234567xyz");
        assert_eq!(content.after_crash(KeptEdits::None), b"0123456789");
        assert_eq!(content.after_crash(KeptEdits::UpTo(1)), b"01234567x9");
        assert_eq!(content.after_crash(KeptEdits::UpTo(4)), b"A1234567xyz");
    }

    #[test]
    fn an_emptied_file_may_be_full_again() {
        let content = synced_then(|content| {
            content.clear();
            content.write(0, b"new");
        });
        assert_eq!(content.after_crash(KeptEdits::None), b"0123456789");
        assert_eq!(content.after_crash(KeptEdits::UpTo(2)), b"ne");
        assert_eq!(content.after_crash(KeptEdits::ALL), b"new");
    }

    #[test]
    fn what_was_cut_off_may_come_back() {
        let content = synced_then(|content| {
            content.write(0, b"new");
            content.truncate(3);
        });
        assert_eq!(content.bytes(), b"new");
        assert_eq!(content.after_crash(KeptEdits::None), b"0123456789");
        assert_eq!(content.after_crash(KeptEdits::UpTo(2)), b"ne23456789");
        assert_eq!(content.after_crash(KeptEdits::ALL), b"new");
    }

    #[test]
    fn sectors_are_new_old_or_zero() {
        let mut content = Content::default();
        content.write(0, &[1; 4 * SECTOR_BYTES]);
        content.sync();
        content.write(2 * SECTOR_BYTES, &[2; 6 * SECTOR_BYTES]);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let image = content.after_crash(KeptEdits::Sectors(SplitMix64::new(seed)));
            assert_eq!(image.len(), 8 * SECTOR_BYTES);
            for (at, sector) in image.chunks(SECTOR_BYTES).enumerate() {
                assert!(sector.iter().all(|byte| byte == &sector[0]));
                seen.insert((at / 2, sector[0]));
            }
        }
        let expected = [(0, 1), (1, 1), (1, 2), (2, 0), (2, 2), (3, 0), (3, 2)];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
    }
}
