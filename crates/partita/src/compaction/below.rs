use std::sync::Arc;

use super::picker::Compaction;
use crate::key::KeyOrder;
use crate::version::Version;

/// Where older entries than those of a compaction's input may stand outside of it, asked with ascending user keys.
pub(super) struct Below<'c> {
    order: &'c KeyOrder,
    version: &'c Version,
    output_level: usize,
    what: Older,
    /// Of each level below the output, the first file that does not end before the last key asked for.
    at: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Older {
    /// No older entry stands outside of the input, of whatever key.
    Nowhere,
    Below,
    /// Also on level 0, where one cannot tell by keys, or still to come.
    Anywhere,
}

impl<'c> Below<'c> {
    pub(super) fn new(compaction: &'c Compaction) -> Self {
        let version: &Arc<Version> = &compaction.version;
        let what = match compaction.output_level {
            _ if compaction.nothing_older_outside() => Older::Nowhere,
            0 => Older::Anywhere,
            _ if compaction.older_may_come => Older::Anywhere,
            _ => Older::Below,
        };
        Self {
            order: version.key_order(),
            version,
            output_level: compaction.output_level,
            what,
            at: vec![0; version.levels().len()],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.what == Older::Nowhere
    }

    /// Whether entries of `user_key` that are older than the input may stand outside of it.
    #[inline]
    pub(super) fn may_have(&mut self, user_key: &[u8]) -> bool {
        match self.what {
            Older::Nowhere => false,
            Older::Anywhere => true,
            Older::Below => self.some_level_may_have(user_key),
        }
    }

    fn some_level_may_have(&mut self, user_key: &[u8]) -> bool {
        let levels = self.version.levels().iter().enumerate().skip(self.output_level + 1);
        for (number, level) in levels {
            let at = &mut self.at[number];
            while level.files().get(*at).is_some_and(|file| file.ends_before(self.order, user_key))
            {
                *at += 1;
            }
            let file = level.files().get(*at);
            if file.is_some_and(|file| !file.starts_behind(self.order, user_key)) {
                return true;
            }
        }
        false
    }

    /// Whether older entries may stand outside of the input from `start` to `end`. Asked in any order.
    pub(super) fn may_have_within(&self, start: &[u8], end: &[u8]) -> bool {
        match self.what {
            Older::Nowhere => false,
            Older::Anywhere => true,
            Older::Below => self.version.overlaps_below(self.output_level, Some(start), Some(end)),
        }
    }
}
