//! How hard writers press on the work that is left behind them, as one number, and what it costs them.
//!
//! ```text
//! bytes/s
//!    ∞ |*
//!      | *
//!      |  **
//! rate |    ****                          rate: `delayed_write_rate`, met half way
//!      |        ********
//!    0 |                ************
//!      +--------------------------------
//!      0 = free        1/2       1 = stop
//! ```
//!
//! A debt that is free costs nothing; from there on each byte written costs time, at first next to none, and more the
//! closer the debt comes to where writers have to stop. There is no step: not where it begins, for the curve comes from
//! infinity, and not where it ends, for it reaches 0. Writers settle where they write as fast as the work is done.

use crate::options::{ColumnFamilyOptions, CompactionStyle};
use crate::version::Version;

/// Why writers are slowed down or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StallCause {
    /// Too many tables in level 0: `level0_slowdown_writes_trigger`, `level0_stop_writes_trigger`.
    Level0Files,
    /// Compactions owe too many bytes: `soft_pending_compaction_bytes_limit`, `hard_pending_compaction_bytes_limit`.
    PendingBytes,
    /// A column family's memtables wait to be flushed: `max_write_buffer_number`.
    Memtables,
    /// All memtables together are too large: `db_write_buffer_size`, or their share of the cache's budget.
    MemoryBudget,
}

impl StallCause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Self; 4] =
        [Self::Level0Files, Self::PendingBytes, Self::Memtables, Self::MemoryBudget];

    /// What it is called in statistics and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Level0Files => "level-0 files",
            Self::PendingBytes => "pending compaction bytes",
            Self::Memtables => "memtables",
            Self::MemoryBudget => "memory budget",
        }
    }
}

/// Of the way from where a debt is free to where writers stop, how much it has gone: from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct Pressure(f64);

impl Pressure {
    pub(super) const NONE: Self = Self(0.0);
    pub(super) const STOP: Self = Self(1.0);
    /// What is left where a stop would help nobody: writers go on at 1/32 of the rate.
    pub(super) const CRAWL: Self = Self(32.0 / 33.0);

    /// Grows evenly while `debt` grows from `free` to `stop`. Where `stop` is not above `free` there is nothing between.
    pub(super) fn between(debt: f64, free: f64, stop: f64) -> Self {
        match () {
            () if debt >= stop => Self::STOP,
            () if debt > free => Self::of((debt - free) / (stop - free)),
            () => Self::NONE,
        }
    }

    /// Grows from `free` on, to a half at twice as much, and never gets to the stop.
    pub(super) fn above(debt: f64, free: f64) -> Self {
        Self::of(1.0 - free / debt.max(free).max(1.0)).min(Self::CRAWL)
    }

    /// How far work that is left exceeds the room that is left while it is done: none while there is room for all of it,
    /// a stop when there is no room. Who writes at this pressure meets the end of both at the same moment.
    pub(super) fn of_room(room: f64, work: f64) -> Self {
        if work <= 0.0 { Self::NONE } else { Self::of(1.0 - room / work) }
    }

    fn of(share: f64) -> Self {
        // Of what is no number, nothing.
        if share > 0.0 { Self(share.min(1.0)) } else { Self::NONE }
    }

    pub(super) fn is_none(self) -> bool {
        self.0 <= 0.0
    }

    pub(super) fn is_stop(self) -> bool {
        self.0 >= 1.0
    }

    pub(super) fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    /// What writers may write in a second: without end where there is no pressure, nothing at the stop.
    pub(super) fn bytes_a_second(self, rate: f64) -> f64 {
        rate * (1.0 - self.0) / self.0
    }
}

/// A pressure and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pressed {
    pub(super) pressure: Pressure,
    pub(super) cause: StallCause,
}

impl Pressed {
    pub(super) const NOT: Self = Self { pressure: Pressure::NONE, cause: StallCause::Level0Files };

    pub(super) fn new(pressure: Pressure, cause: StallCause) -> Self {
        Self { pressure, cause }
    }

    /// The greater one; this one if they are equal.
    pub(super) fn or(self, other: Self) -> Self {
        if other.pressure > self.pressure { other } else { self }
    }
}

/// What compactions owe to a column family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Debt {
    /// Tables that a read may have to ask one by one: those of level 0, and under universal compaction the levels below.
    pub(super) runs: usize,
    /// Bytes to be moved until the tree has its shape.
    pub(super) pending_bytes: u64,
}

impl Debt {
    pub(super) fn runs_of(version: &Version, style: CompactionStyle) -> usize {
        let levels = version.levels();
        let level0 = levels.first().map_or(0, |level| level.len());
        let below = levels.iter().skip(1).filter(|level| !level.is_empty()).count();
        if style == CompactionStyle::Universal { level0 + below } else { level0 }
    }

    /// How hard it presses. Where compactions run by hand only, nobody waits for them.
    pub(super) fn pressed(self, options: &ColumnFamilyOptions) -> Pressed {
        if !is_compacted(options) {
            return Pressed::NOT;
        }
        let files = Pressed::new(self.by_files(options), StallCause::Level0Files);
        files.or(Pressed::new(self.by_bytes(options), StallCause::PendingBytes))
    }

    fn by_files(self, options: &ColumnFamilyOptions) -> Pressure {
        // Below the trigger of compactions, nobody would do what writers wait for.
        let trigger = options.level0_file_num_compaction_trigger.max(1);
        let slowdown = options.level0_slowdown_writes_trigger.max(trigger);
        let stop = options.level0_stop_writes_trigger.max(slowdown);
        Pressure::between(self.runs as f64, f64::from(slowdown) - 1.0, f64::from(stop))
    }

    fn by_bytes(self, options: &ColumnFamilyOptions) -> Pressure {
        let debt = self.pending_bytes as f64;
        let soft = options.soft_pending_compaction_bytes_limit;
        match options.hard_pending_compaction_bytes_limit {
            0 if soft == 0 => Pressure::NONE,
            0 => Pressure::above(debt, soft as f64),
            hard if soft == 0 => Pressure::between(debt, hard as f64, hard as f64),
            hard => Pressure::between(debt, soft.min(hard) as f64, hard as f64),
        }
    }

    /// How hard it presses on writes of low priority, which are to wait before others have to: from a quarter of the way
    /// between the trigger of compactions and the slowdown on, and from a quarter of the soft limit. They never stop.
    pub(super) fn pressed_low(self, options: &ColumnFamilyOptions) -> Pressed {
        if !is_compacted(options) {
            return Pressed::NOT;
        }
        let trigger = f64::from(options.level0_file_num_compaction_trigger.max(1));
        let slowdown = f64::from(options.level0_slowdown_writes_trigger).max(trigger);
        let free = (2.0 * trigger).min(trigger + (slowdown - trigger) / 4.0);
        let files = Pressure::between(self.runs as f64, free - 1.0, slowdown.max(free));
        let bytes = match options.soft_pending_compaction_bytes_limit {
            0 => Pressure::NONE,
            soft => Pressure::between(self.pending_bytes as f64, soft as f64 / 4.0, soft as f64),
        };
        Pressed::new(files.min(Pressure::CRAWL), StallCause::Level0Files)
            .or(Pressed::new(bytes.min(Pressure::CRAWL), StallCause::PendingBytes))
    }
}

/// Whether compactions run by themselves and lessen the debt. Under FIFO, level 0 is where all tables stay.
fn is_compacted(options: &ColumnFamilyOptions) -> bool {
    let merges =
        matches!(options.compaction_style, CompactionStyle::Level | CompactionStyle::Universal);
    merges && !options.disable_auto_compactions
}

/// Lets bytes pass at a rate that may change at any time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// Bytes that were written and whose time has not passed.
    owed: f64,
    /// When that was so.
    at_nanos: u64,
}

impl Pacer {
    /// Adds bytes that were written.
    pub(super) fn add(&mut self, bytes: u64) {
        self.owed += bytes as f64;
    }

    /// Nanoseconds until the time of all bytes has passed, if the rate stays what it is.
    pub(super) fn wait_nanos(&mut self, now_nanos: u64, bytes_a_second: f64) -> f64 {
        let passed = now_nanos.saturating_sub(self.at_nanos) as f64 / 1e9;
        self.at_nanos = now_nanos;
        // Infinity times nothing is no number; the maximum leaves that out.
        self.owed = (self.owed - passed * bytes_a_second).max(0.0);
        if self.owed > 0.0 && bytes_a_second.is_finite() {
            self.owed / bytes_a_second * 1e9
        } else {
            self.owed = 0.0;
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 16e6;

    fn options() -> ColumnFamilyOptions {
        ColumnFamilyOptions {
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            soft_pending_compaction_bytes_limit: 64 << 30,
            hard_pending_compaction_bytes_limit: 256 << 30,
            ..ColumnFamilyOptions::default()
        }
    }

    /// Seconds that a byte costs.
    fn cost(pressure: Pressure) -> f64 {
        1.0 / pressure.bytes_a_second(RATE)
    }

    /// Of any debt between free and stop: more debt never costs less, and a little more costs a little more.
    #[test]
    fn delay_grows_with_debt_and_without_a_step() {
        let curves: [(&str, &dyn Fn(f64) -> Pressure); 3] = [
            ("between", &|x| Pressure::between(100.0 + 300.0 * x, 200.0, 400.0)),
            ("above", &|x| Pressure::above(1000.0 * x, 200.0)),
            ("of_room", &|x| Pressure::of_room(1.0 - x, 0.8 - 0.3 * x)),
        ];
        for (name, curve) in curves {
            const STEPS: usize = 100_000;
            let mut before = curve(0.0);
            assert!(before.is_none(), "{name}: starts free");
            assert_eq!(cost(before), 0.0);
            for step in 1..=STEPS {
                let now = curve(step as f64 / STEPS as f64);
                assert!(now >= before && cost(now) >= cost(before), "{name}: shrinks at {step}");
                assert!(now.0 - before.0 < 1e-3, "{name}: a step at {step}");
                before = now;
            }
        }
        assert!(Pressure::between(400.0, 200.0, 400.0).is_stop());
        assert_eq!(Pressure::STOP.bytes_a_second(RATE), 0.0);
        assert_eq!(Pressure::between(300.0, 200.0, 400.0).bytes_a_second(RATE), RATE);
        assert_eq!(Pressure::NONE.bytes_a_second(RATE), f64::INFINITY);
    }

    #[test]
    fn triggers_and_limits_are_where_the_options_say() {
        let pressure = |runs, pending_bytes| Debt { runs, pending_bytes }.pressed(&options());
        assert!(pressure(19, 64 << 30).pressure.is_none());
        assert!(pressure(20, 0).pressure > Pressure::NONE);
        assert!(!pressure(35, 0).pressure.is_stop() && pressure(36, 0).pressure.is_stop());
        assert!(pressure(0, 65 << 30).pressure > Pressure::NONE);
        assert!(pressure(0, 256 << 30).pressure.is_stop());
        assert_eq!(pressure(30, 65 << 30).cause, StallCause::Level0Files);
        assert_eq!(pressure(20, 200 << 30).cause, StallCause::PendingBytes);
    }

    #[test]
    fn limits_of_zero_are_none_and_compactions_by_hand_are_waited_for_by_nobody() {
        let much = Debt { runs: 1000, pending_bytes: u64::MAX };
        let by_hand = ColumnFamilyOptions { disable_auto_compactions: true, ..options() };
        assert!(much.pressed(&by_hand).pressure.is_none());
        assert!(much.pressed_low(&by_hand).pressure.is_none());
        let fifo = ColumnFamilyOptions { compaction_style: CompactionStyle::Fifo, ..options() };
        assert!(much.pressed(&fifo).pressure.is_none(), "all its tables are in level 0");
        let much = Debt { runs: 0, ..much };
        let with = |soft, hard| ColumnFamilyOptions {
            soft_pending_compaction_bytes_limit: soft,
            hard_pending_compaction_bytes_limit: hard,
            ..options()
        };
        assert!(much.pressed(&with(0, 0)).pressure.is_none());
        let soft = much.pressed(&with(1 << 30, 0)).pressure;
        assert!(soft > Pressure::NONE && !soft.is_stop());
        assert!(much.pressed(&with(0, 1 << 30)).pressure.is_stop());
        let less = Debt { runs: 0, pending_bytes: 1 << 29 };
        assert!(less.pressed(&with(0, 1 << 30)).pressure.is_none());
    }

    #[test]
    fn low_priority_waits_before_others_have_to_and_never_stops() {
        for runs in 8..100 {
            let debt = Debt { runs, pending_bytes: 0 };
            let low = debt.pressed_low(&options()).pressure;
            assert!(low > Pressure::NONE && !low.is_stop(), "{runs}");
        }
        assert!(Debt { runs: 4, pending_bytes: 0 }.pressed_low(&options()).pressure.is_none());
        let bytes = Debt { runs: 0, pending_bytes: 20 << 30 };
        assert_eq!(bytes.pressed_low(&options()).cause, StallCause::PendingBytes);
        assert!(bytes.pressed(&options()).pressure.is_none());
    }

    #[test]
    fn a_trigger_to_stop_below_that_of_compactions_does_not_stop_before_there_is_anything_to_compact()
     {
        let options = ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 10,
            level0_slowdown_writes_trigger: 0,
            level0_stop_writes_trigger: 1,
            ..options()
        };
        assert!(Debt { runs: 9, pending_bytes: 0 }.pressed(&options).pressure.is_none());
        assert!(Debt { runs: 10, pending_bytes: 0 }.pressed(&options).pressure.is_stop());
    }

    #[test]
    fn bytes_pass_at_the_rate_and_at_once_when_the_pressure_goes() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.wait_nanos(5_000_000_000, 1e6), 0.0);
        pacer.add(2_000_000);
        assert_eq!(pacer.wait_nanos(5_000_000_000, 1e6), 2e9);
        // Half a second later, the rate has doubled.
        assert_eq!(pacer.wait_nanos(5_500_000_000, 2e6), 5e8);
        assert_eq!(pacer.wait_nanos(5_500_000_000, f64::INFINITY), 0.0);
        assert_eq!(pacer.wait_nanos(5_500_000_000, 1e6), 0.0);
    }
}
