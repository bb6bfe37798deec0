//! Whether asking a filter pays.
//!
//! A filter saves the lookups of keys that are not there, and costs every lookup. Where nearly all keys are found, as at
//! the last level of a store that reads what it wrote, it only costs: time, and memory that data blocks could have.
//!
//! ```text
//! one lookup in 16 is a sample:   was the key there?   did the filter's piece come from the file?   did the data?
//! 64 samples are a window:        P(absent) * (search of index and data + their misses)  against  probe + its misses
//! ```
//!
//! * The first window is asked through the filter.
//! * Whether a key was there is known either way: from the filter's no, or from the search. So a change of the workload
//!   shows in the next window, also while the filter is left alone.
//! * What a miss costs is nominal; how often pieces miss is what the last window with such pieces showed.
//! * One figure must be a quarter above the other for a change of mind.
//! * A filter that is left alone because its pieces had to be read would never be found to be in memory. So where it would pay
//!   if it were, it is tried again after some windows, for a while; after each trial in vain later, and for longer, so that
//!   its pieces have time to come in.
//!
//! Answers never depend on it. Any thread may note samples: they are added up without locks, and a few may be lost.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// When a table's filter is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterUse {
    /// If the lookups of late show that it pays.
    #[default]
    Adaptive,
    /// In each lookup.
    Always,
    /// In none.
    Never,
}

/// Samples in a window.
const WINDOW: u64 = 64;
/// What a probe costs whose piece is cached, and the search of index and data block; nanoseconds.
const PROBE_NS: u64 = 60;
const SEARCH_NS: u64 = 400;

/// Windows that a filter is left alone for before it is tried again, at first and at most.
const PATIENCE_MIN: u32 = 8;
const PATIENCE_MAX: u32 = 512;
/// A trial takes this part of the windows before it.
const TRIAL_SHARE: u32 = 8;

/// What one sampled lookup showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// The key was not there.
    pub(super) absent: bool,
    /// The filter was asked, and whether its piece came from the file.
    pub(super) filter: Option<Missed>,
    /// A data block was searched, and whether it came from the file.
    pub(super) data: Option<Missed>,
}

/// Whether something had to be read.
pub(super) type Missed = bool;

/// The estimate for one table.
#[derive(Debug)]
pub(super) struct FilterHabit {
    /// Counts of the open window, 8 bits each: samples, absent, filter asked, filter missed, data searched, data missed.
    window: AtomicU64,
    /// Per cent of filter pieces and of data blocks that were read, as last seen.
    filter_missed: AtomicU32,
    data_missed: AtomicU32,
    /// Whether the filter is left alone.
    skips: AtomicBool,
    /// Windows until it is tried again, if it is left alone; until the trial ends, if it is asked.
    windows_left: AtomicU32,
    /// Windows that it is left alone for before the next trial.
    patience: AtomicU32,
}

impl Default for FilterHabit {
    fn default() -> Self {
        Self {
            window: AtomicU64::new(0),
            filter_missed: AtomicU32::new(0),
            data_missed: AtomicU32::new(0),
            skips: AtomicBool::new(false),
            windows_left: AtomicU32::new(0),
            patience: AtomicU32::new(PATIENCE_MIN),
        }
    }
}

/// What it costs to read a table's pieces, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct MissCosts {
    pub(super) filter_piece: u32,
    pub(super) data_block: u32,
}

impl FilterHabit {
    /// Whether the filter is to be asked.
    #[inline]
    pub(super) fn asks(&self, filter_use: FilterUse) -> bool {
        match filter_use {
            FilterUse::Adaptive => !self.skips.load(Ordering::Relaxed),
            FilterUse::Always => true,
            FilterUse::Never => false,
        }
    }

    /// Starts where the estimate of a replaced table stands.
    pub(super) fn take_after(&self, replaced: &Self) {
        for (own, known) in [
            (&self.filter_missed, &replaced.filter_missed),
            (&self.data_missed, &replaced.data_missed),
        ] {
            own.store(known.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.skips.store(replaced.skips.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Adds a sample; with the last one of a window decides.
    pub(super) fn note(&self, sample: Sample, costs: MissCosts) {
        let counts = Window::of(sample).0;
        let window = self.window.fetch_add(counts, Ordering::Relaxed) + counts;
        // Exactly one thread sees the count reach the window's size. What others add until it is cut off is lost.
        if Window(window).samples() == WINDOW {
            self.window.store(0, Ordering::Relaxed);
            self.decide(Window(window), costs);
        }
    }

    fn decide(&self, window: Window, costs: MissCosts) {
        let filter_missed = rate(window.count(2), window.count(3), &self.filter_missed);
        let data_missed = rate(window.count(4), window.count(5), &self.data_missed);
        let filter_cost = PROBE_NS + u64::from(costs.filter_piece) * filter_missed / 100;
        let search_cost = SEARCH_NS + u64::from(costs.data_block) * data_missed / 100;
        let saved = search_cost * window.count(1) / WINDOW;
        if self.skips.load(Ordering::Relaxed) {
            if saved > filter_cost * 5 / 4 {
                self.ask(0);
            } else if saved > PROBE_NS * 5 / 4 && self.is_last_window() {
                self.ask(self.patience.load(Ordering::Relaxed) / TRIAL_SHARE);
            }
        } else if saved >= filter_cost {
            // What it was tried for: next time it need not wait for long.
            self.windows_left.store(0, Ordering::Relaxed);
            self.patience.store(PATIENCE_MIN, Ordering::Relaxed);
        } else if saved * 5 / 4 < filter_cost && self.is_last_window() {
            self.leave_alone();
        }
    }

    /// Counts a window; whether it was the last.
    fn is_last_window(&self) -> bool {
        let left = self.windows_left.load(Ordering::Relaxed).saturating_sub(1);
        self.windows_left.store(left, Ordering::Relaxed);
        left == 0
    }

    fn ask(&self, trial_windows: u32) {
        self.windows_left.store(trial_windows, Ordering::Relaxed);
        self.skips.store(false, Ordering::Relaxed);
    }

    fn leave_alone(&self) {
        let patience = self.patience.load(Ordering::Relaxed);
        self.windows_left.store(patience, Ordering::Relaxed);
        self.patience.store((2 * patience).min(PATIENCE_MAX), Ordering::Relaxed);
        self.skips.store(true, Ordering::Relaxed);
    }
}

/// Per cent of `all` that `missed`; what was last seen, if there are none.
fn rate(all: u64, missed: u64, last: &AtomicU32) -> u64 {
    let Some(per_cent) = (100 * missed).checked_div(all) else {
        return u64::from(last.load(Ordering::Relaxed));
    };
    last.store(per_cent as u32, Ordering::Relaxed);
    per_cent
}

/// Six counts of 8 bits. Should 192 threads add to a full window before it is cut off, counts run over into each other,
/// and one decision may be wrong, for one window.
#[derive(Clone, Copy)]
struct Window(u64);

impl Window {
    fn of(sample: Sample) -> Self {
        let Sample { absent, filter, data } = sample;
        let flags = [
            true,
            absent,
            filter.is_some(),
            filter == Some(true),
            data.is_some(),
            data == Some(true),
        ];
        Self(flags.into_iter().rev().fold(0, |counts, flag| counts << 8 | u64::from(flag)))
    }

    fn samples(self) -> u64 {
        self.count(0)
    }

    fn count(self, at: u32) -> u64 {
        self.0 >> (8 * at) & 0xff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: MissCosts = MissCosts { filter_piece: 2000, data_block: 20_000 };

    fn lookups(habit: &FilterHabit, windows: u64, sample: impl Fn(u64) -> Sample) {
        (0..windows * WINDOW).for_each(|number| habit.note(sample(number), COSTS));
    }

    fn present(_: u64) -> Sample {
        Sample { absent: false, filter: Some(false), data: Some(false) }
    }

    fn absent(_: u64) -> Sample {
        Sample { absent: true, filter: None, data: Some(false) }
    }

    #[test]
    fn a_filter_that_rules_nothing_out_is_left_alone_after_one_window_and_comes_back_after_one() {
        let habit = FilterHabit::default();
        assert!(habit.asks(FilterUse::Adaptive));
        lookups(&habit, 1, present);
        assert!(!habit.asks(FilterUse::Adaptive));
        assert!(habit.asks(FilterUse::Always) && !habit.asks(FilterUse::Never));
        lookups(&habit, 3, present);
        assert!(!habit.asks(FilterUse::Adaptive));
        lookups(&habit, 1, absent);
        assert!(habit.asks(FilterUse::Adaptive));
    }

    #[test]
    fn a_filter_pays_at_fewer_absent_keys_if_data_is_read_from_the_file() {
        let one_in_ten = |data_missed| {
            move |number| Sample {
                absent: number % 10 == 0,
                filter: Some(false),
                data: Some(data_missed),
            }
        };
        let habit = FilterHabit::default();
        lookups(&habit, 1, one_in_ten(false));
        assert!(!habit.asks(FilterUse::Adaptive));
        lookups(&habit, 1, one_in_ten(true));
        assert!(habit.asks(FilterUse::Adaptive));
    }

    #[test]
    fn a_filter_that_must_be_read_pays_less() {
        let half_absent = |missed| {
            move |number| Sample {
                absent: number % 2 == 0,
                filter: Some(missed),
                data: Some(false),
            }
        };
        let habit = FilterHabit::default();
        lookups(&habit, 1, half_absent(false));
        assert!(habit.asks(FilterUse::Adaptive));
        lookups(&habit, 1, half_absent(true));
        assert!(!habit.asks(FilterUse::Adaptive));
    }

    #[test]
    fn a_filter_that_was_not_in_memory_is_tried_again_and_stays_if_it_is_by_now() {
        // Nothing is gained by the filter's piece from the file, and much by one in memory.
        let absent = |filter_missed| {
            move |_| Sample { absent: true, filter: Some(filter_missed), data: Some(false) }
        };
        let habit = FilterHabit::default();
        lookups(&habit, 1, absent(true));
        assert!(!habit.asks(FilterUse::Adaptive));
        // While it is left alone nothing is learnt of its pieces.
        let unasked = |_| Sample { absent: true, filter: None, data: Some(false) };
        lookups(&habit, u64::from(PATIENCE_MIN), unasked);
        assert!(habit.asks(FilterUse::Adaptive), "the trial");
        lookups(&habit, 5, absent(false));
        assert!(habit.asks(FilterUse::Adaptive));
    }

    #[test]
    fn trials_in_vain_take_an_eighth_of_the_lookups_at_most_and_become_long() {
        let habit = FilterHabit::default();
        let (mut asked, mut run, mut longest) = (0, 0, 0);
        let windows = 10_000;
        for _ in 0..windows {
            let asks = habit.asks(FilterUse::Adaptive);
            run = if asks { run + 1 } else { 0 };
            longest = longest.max(run);
            asked += u64::from(asks);
            lookups(&habit, 1, |_| Sample {
                absent: true,
                filter: asks.then_some(true),
                data: Some(false),
            });
        }
        assert!(asked < windows / 8, "{asked} of {windows} windows");
        assert_eq!(longest, PATIENCE_MAX / TRIAL_SHARE);
        // Where keys are there, it is not tried at all.
        lookups(&habit, 2, present);
        let tried = (0..1000).any(|_| {
            lookups(&habit, 1, present);
            habit.asks(FilterUse::Adaptive)
        });
        assert!(!tried);
    }

    #[test]
    fn a_border_case_does_not_flap() {
        let habit = FilterHabit::default();
        // Saves 400 * 10 / 64 = 62 ns for 60.
        lookups(&habit, 4, |number| Sample { absent: number % WINDOW < 10, ..present(0) });
        assert!(habit.asks(FilterUse::Adaptive));
        lookups(&habit, 1, present);
        lookups(&habit, 4, |number| Sample { absent: number % WINDOW < 10, ..present(0) });
        assert!(!habit.asks(FilterUse::Adaptive));
    }

    #[test]
    fn threads_that_note_at_once_lose_no_window() {
        let habit = FilterHabit::default();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| lookups(&habit, 50, present));
            }
        });
        assert!(!habit.asks(FilterUse::Adaptive));
        assert!(Window(habit.window.load(Ordering::Relaxed)).samples() < WINDOW);
    }
}
