//! How many slots and bytes a Ribbon filter gets.
//!
//! The slots leave one seed in twenty to fail. How many keys that allows is known from simulation (RocksDB's
//! authors'), for powers of two, and interpolated between them. All formulas are in `f64` and in RocksDB's order of
//! operations, so that the same filters come out.

use super::{BLOCK_SLOTS, COLUMNS_MAX, SEGMENT_LEN};
use crate::filter::lines::LINE_LEN;
use crate::filter::{METADATA_LEN, bloom, rate};

/// More keys get a Bloom filter.
pub(in super::super) const ENTRIES_MAX: usize = 950_000_000;

/// Below this many slots a Bloom filter may be smaller.
const SMALL_SLOTS: u32 = 1024;

/// The size of one filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Sizing {
    pub(super) slots: u32,
    /// Bytes of segments, without metadata.
    pub(in super::super) segments_len: usize,
}

/// What a policy asks for.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Target {
    /// The wanted rate of false positives is one in this many.
    one_in: f64,
    /// The Bloom filter to fall back to.
    bloom_millibits: u32,
}

impl Target {
    /// The rate that a Bloom filter of `bits_per_key` has.
    pub(in super::super) fn new(bits_per_key: f64, bloom_millibits: u32) -> Self {
        let probes = bloom::sizing::probes(bloom_millibits);
        let rate = rate::local_bloom(bits_per_key, probes, LINE_LEN);
        Self { one_in: 1.0 / rate, bloom_millibits }
    }

    /// The size for `entries` keys (at least one); `None` if a Bloom filter is to be built instead.
    ///
    /// * `first_hash`: of the first key; its high half decides how the border between columns is rounded.
    pub(in super::super) fn sizing(self, entries: usize, first_hash: u64) -> Option<Sizing> {
        if entries > ENTRIES_MAX {
            return None;
        }
        let slots = round_up(slots_for(entries as u32));
        let segments_len = self.segments_len(slots, (first_hash >> 32) as u32);
        let bloom_len = bloom::sizing::block_len(entries, self.bloom_millibits);
        if slots < SMALL_SLOTS && bloom_len < segments_len + METADATA_LEN {
            return None;
        }
        Some(Sizing { slots, segments_len })
    }

    /// Keys that fit into a block of `len` bytes, metadata included: a slight underestimate.
    pub(in super::super) fn entries_that_fit(self, len: usize) -> usize {
        let segments_len = len.saturating_sub(METADATA_LEN) / SEGMENT_LEN * SEGMENT_LEN;
        // Also true of NaN: any key matches, and one segment does for all of them.
        if self.one_in.partial_cmp(&1.0) != Some(std::cmp::Ordering::Greater) {
            return ENTRIES_MAX;
        }
        let slots_max = segments_len as f64 * 8.0 / self.bits_per_slot();
        if slots_max >= f64::from(slots_for(ENTRIES_MAX as u32)) {
            return ENTRIES_MAX;
        }
        let mut slots = round_up(slots_max as u32);
        for _ in 0..2 {
            if slots == 0 || self.segments_len(slots, 0) <= segments_len {
                break;
            }
            slots = round_down(slots - 1);
        }
        let entries = entries_for(slots) as usize;
        if slots < SMALL_SLOTS {
            entries.max(bloom::sizing::entries_that_fit(len, self.bloom_millibits))
        } else {
            entries.min(ENTRIES_MAX)
        }
    }

    /// Bytes of segments for the wanted rate.
    ///
    /// * `rounding`: 0 rounds to more bytes, `u32::MAX` to fewer.
    fn segments_len(self, slots: u32, rounding: u32) -> usize {
        let rate = 1.0 / self.one_in;
        if !(self.one_in > 1.0 && rate < 1.0) {
            return SEGMENT_LEN;
        }
        if self.one_in > f64::from(u32::MAX) {
            return slots as usize / 8 * COLUMNS_MAX as usize;
        }
        let lower_columns = (self.one_in as u32).ilog2();
        let lower_rate = 2_f64.powf(-f64::from(lower_columns));
        let upper_rate = 2_f64.powf(-f64::from(lower_columns + 1));
        let lower_portion = (rate - upper_rate) / (lower_rate - upper_rate);
        let bias = (f64::from(rounding) + 0.5) / 4_294_967_296.0;
        let starts = f64::from(slots - BLOCK_SLOTS + 1);
        let lower_blocks = ((lower_portion * starts + bias) / f64::from(BLOCK_SLOTS)) as u32;
        let blocks = slots / BLOCK_SLOTS;
        let segments = blocks * lower_columns + blocks.saturating_sub(lower_blocks);
        segments as usize * SEGMENT_LEN
    }

    /// Columns on average, slightly underestimated.
    fn bits_per_slot(self) -> f64 {
        if self.one_in >= 1.0 + f64::from(u32::MAX) {
            return f64::from(COLUMNS_MAX);
        }
        let upper_columns = 1 + (self.one_in as u32).ilog2();
        let upper_rate = 2_f64.powf(-f64::from(upper_columns));
        f64::from(upper_columns) - (1.0 / self.one_in - upper_rate) / upper_rate
    }
}

/// Keys that `2^i` slots take; 0 where unknown because too small.
const KNOWN_ENTRIES: [f64; 18] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39,
    15966.6, 31828.1, 63447.3, 126_506.0,
];

/// 1 / ln 2 with the digits that RocksDB writes.
#[expect(clippy::approx_constant, reason = "more digits could size a filter differently")]
const LOG2_E: f64 = 1.442_695_040_9;

/// Slots per key grow by this much with every doubling of the slots.
const OVERHEAD_PER_DOUBLING: f64 = 0.0038;

/// Slots per key of large filters.
fn overhead(log2_slots: f64) -> f64 {
    let known = KNOWN_ENTRIES.len() - 1;
    let base =
        (1_u32 << known) as f64 / KNOWN_ENTRIES[known] - known as f64 * OVERHEAD_PER_DOUBLING;
    base + log2_slots * OVERHEAD_PER_DOUBLING
}

/// Keys that `2^log2_slots` slots take.
fn entries_for_power(log2_slots: u32) -> f64 {
    match KNOWN_ENTRIES.get(log2_slots as usize) {
        Some(&entries) => entries,
        None => (1_u64 << log2_slots) as f64 / overhead(f64::from(log2_slots)),
    }
}

/// Slots for a number of keys (at least one), before rounding to blocks.
fn slots_for(entries: u32) -> u32 {
    let entries_f64 = f64::from(entries);
    let mut log2_slots = (entries_f64.ln() * LOG2_E + 0.5) as u32;
    let mut lower = entries_for_power(log2_slots);
    if log2_slots == 0 || lower == 0.0 {
        return 2 * BLOCK_SLOTS;
    }
    let upper;
    if entries_f64 < lower {
        upper = lower;
        log2_slots -= 1;
        lower = entries_for_power(log2_slots);
    } else {
        upper = entries_for_power(log2_slots + 1);
    }
    let portion = (entries_f64 - lower) / (upper - lower);
    let lower_slots = (1_u64 << log2_slots) as f64;
    (portion * lower_slots + lower_slots + 0.999_999_999) as u32
}

/// Keys that a number of slots takes; 0 for 0.
fn entries_for(slots: u32) -> u32 {
    if slots == 0 {
        return 0;
    }
    let log2_slots = f64::from(slots).ln() * LOG2_E;
    let floor = log2_slots as u32;
    if floor as usize + 1 < KNOWN_ENTRIES.len() {
        let upper_portion = f64::from(slots) / f64::from(1 << floor) - 1.0;
        let entries = upper_portion * entries_for_power(floor + 1)
            + (1.0 - upper_portion) * entries_for_power(floor);
        entries as u32
    } else {
        (f64::from(slots) / overhead(log2_slots)) as u32
    }
}

/// Whole blocks, and not just one: keys would pile up on its single start slot.
fn round_up(slots: u32) -> u32 {
    match slots.next_multiple_of(BLOCK_SLOTS) {
        BLOCK_SLOTS => 2 * BLOCK_SLOTS,
        rounded => rounded,
    }
}

fn round_down(slots: u32) -> u32 {
    match slots / BLOCK_SLOTS * BLOCK_SLOTS {
        BLOCK_SLOTS => 0,
        rounded => rounded,
    }
}
