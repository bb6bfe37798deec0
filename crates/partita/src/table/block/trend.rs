//! Where a key is expected in a block whose keys grow evenly.

use super::directory::Noted;
use crate::util::prefetch::prefetch;

const CACHE_LINE_LEN: usize = 64;
/// Most bytes that are asked for before it is known which interval is searched.
const PREFETCHED_LEN_MAX: f64 = 512.0;

/// A straight line through the first and the last of a block's restart points.
///
/// It only says where to look first: whoever follows it looks at the words there.
pub(super) struct Trend {
    /// Word of the first restart point.
    first: u64,
    /// Restart points for each 1 that a word grows by.
    slope: f32,
    /// Bytes of an interval.
    interval_len: f32,
    /// Bytes that are asked for from the expected start of an interval on; 0 if its place is too uncertain.
    prefetched_len: u32,
    /// So many bytes before it are asked for, too.
    margin: u32,
}

impl Trend {
    /// The trend of restart points, if it is of use.
    ///
    /// * `misses_max`: how many places the trend may be wrong by at most, at each of them.
    pub(super) fn of(noted: &[Noted], entries_end: usize, misses_max: f64) -> Option<Self> {
        let (first, last) = (noted.first()?, noted.last()?);
        let rise = last.word.checked_sub(first.word).filter(|rise| *rise > 0)?;
        let slope = (noted.len() - 1) as f64 / rise as f64;
        let interval_len = entries_end as f64 / noted.len() as f64;
        let (mut misses, mut bytes) = (0.0f64, 0.0f64);
        for (index, noted) in noted.iter().enumerate() {
            let place = noted.word.checked_sub(first.word)? as f64 * slope;
            misses = misses.max((place - index as f64).abs());
            bytes = bytes.max((place * interval_len - f64::from(noted.at)).abs());
        }
        if misses > misses_max {
            return None;
        }
        let prefetched_len = interval_len + bytes;
        let is_near = bytes + prefetched_len <= PREFETCHED_LEN_MAX;
        Some(Self {
            first: first.word,
            slope: slope as f32,
            interval_len: interval_len as f32,
            prefetched_len: if is_near { prefetched_len as u32 } else { 0 },
            margin: bytes as u32,
        })
    }

    /// Which restart point is expected to be the last one whose word is not greater than `word`; it may be behind the
    /// last one of all.
    #[inline]
    pub(super) fn index_of(&self, word: u64) -> usize {
        // Too large a product is cut to the greatest integer.
        (word.saturating_sub(self.first) as f32 * self.slope) as usize
    }

    /// Asks for the memory of the interval that is expected to be number `index`.
    #[inline]
    pub(super) fn prefetch(&self, contents: &[u8], index: usize) {
        let start = (index as f32 * self.interval_len) as usize;
        let end = start + self.prefetched_len as usize;
        if self.prefetched_len > 0 {
            let from = start.saturating_sub(self.margin as usize);
            (from..end).step_by(CACHE_LINE_LEN).for_each(|at| prefetch(contents, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evenly(count: u64, step: u64) -> Vec<Noted> {
        (0..count).map(|i| Noted { word: 1000 + i * step, at: 300 * i as u32 }).collect()
    }

    #[test]
    fn words_that_grow_evenly_tell_where_they_are() {
        let trend = Trend::of(&evenly(200, 48), 60_000, 5.0).unwrap();
        for index in 0..200 {
            assert_eq!(trend.index_of(1000 + index as u64 * 48 + 20), index);
        }
        assert_eq!(trend.index_of(0), 0);
        assert!(trend.index_of(u64::MAX) > 200);
        assert_eq!((trend.prefetched_len, trend.margin), (300, 0));
    }

    #[test]
    fn there_is_no_trend_where_words_jump() {
        let mut noted = evenly(200, 48);
        noted[100..].iter_mut().for_each(|noted| noted.word += 1 << 40);
        assert!(Trend::of(&noted, 60_000, 5.0).is_none());
        assert!(Trend::of(&evenly(200, 0), 60_000, 5.0).is_none());
        assert!(Trend::of(&evenly(1, 48), 300, 5.0).is_none());
        noted.reverse();
        assert!(Trend::of(&noted, 60_000, 5.0).is_none());
    }

    #[test]
    fn nothing_is_fetched_where_intervals_differ_in_length() {
        let mut noted = evenly(200, 48);
        noted[100].at += 299;
        assert_eq!(Trend::of(&noted, 60_000, 5.0).unwrap().prefetched_len, 0);
    }
}
