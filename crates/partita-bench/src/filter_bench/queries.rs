//! The query loops.

use crate::clock::Stopwatch;

use super::keys::{KeyMaker, OUTSIDE, Random};
use super::{Engine, QueriedFilter, QueryCost, QueryReport, Settings, Subject};

/// How many of the queries ask for keys that were added.
#[derive(Clone, Copy)]
enum Mix {
    Mixed,
    Inside,
    Outside,
}

impl Mix {
    fn name(self) -> &'static str {
        match self {
            Self::Mixed => "Mixed inside/outside queries",
            Self::Inside => "Inside queries (mostly)",
            Self::Outside => "Outside queries (mostly)",
        }
    }

    /// Never all of them, or the branch predictor would know the answers.
    fn inside_threshold(self) -> u32 {
        match self {
            Self::Mixed => u32::MAX / 2,
            Self::Inside => u32::MAX / 20 * 19,
            Self::Outside => u32::MAX / 20,
        }
    }
}

/// Which filters are asked, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    SingleFilter,
    SingleBatched,
    Batched,
    BatchedOneByOne,
    HalfInOnePercent,
    EightyInTwenty,
    RandomFilter,
}

impl Mode {
    const ALL: [Self; 7] = [
        Self::SingleFilter,
        Self::SingleBatched,
        Self::Batched,
        Self::BatchedOneByOne,
        Self::HalfInOnePercent,
        Self::EightyInTwenty,
        Self::RandomFilter,
    ];
    const QUICK: [Self; 4] =
        [Self::SingleFilter, Self::SingleBatched, Self::Batched, Self::RandomFilter];

    fn name(self) -> &'static str {
        match self {
            Self::SingleFilter => "Single filter",
            Self::SingleBatched => "Single filter, batched",
            Self::Batched => "Random filter, batched",
            Self::BatchedOneByOne => "Random filter, batch one by one",
            Self::HalfInOnePercent => "Skewed 50% in 1%",
            Self::EightyInTwenty => "Skewed 80% in 20%",
            Self::RandomFilter => "Random filter",
        }
    }

    fn needs_filters(self) -> usize {
        match self {
            Self::HalfInOnePercent => 50,
            Self::EightyInTwenty => 5,
            _ => 1,
        }
    }
}

/// Runs every mode of every mix, for real and dry.
pub(super) fn measure<E: Engine>(
    engine: &E,
    subjects: &[Subject<E::Filter>],
    settings: &Settings,
) -> Result<Vec<QueryReport>, String> {
    let (mixes, modes): (&[Mix], &[Mode]) = if settings.quick {
        (&[Mix::Mixed], &Mode::QUICK)
    } else {
        (&[Mix::Mixed, Mix::Inside, Mix::Outside], &Mode::ALL)
    };
    let mut reports = Vec::new();
    for &mix in mixes {
        let mut costs = Vec::new();
        let (mut outside, mut found) = (0, 0);
        for &mode in modes.iter().filter(|mode| mode.needs_filters() <= subjects.len()) {
            let looped = Loop { engine, subjects, settings, mix, mode };
            let gross = looped.run(false)?;
            let dry = looped.run(true)?;
            outside += gross.outside;
            found += gross.found;
            costs.push(QueryCost {
                mode: mode.name(),
                gross_ns: gross.ns,
                dry_ns: dry.ns,
                net_ns: gross.ns - dry.ns,
            });
        }
        reports.push(QueryReport {
            mix: mix.name(),
            costs,
            outside_queries: outside,
            false_positive_rate: found as f64 / outside as f64,
        });
    }
    Ok(reports)
}

struct Loop<'a, E: Engine> {
    engine: &'a E,
    subjects: &'a [Subject<E::Filter>],
    settings: &'a Settings,
    mix: Mix,
    mode: Mode,
}

struct Outcome {
    ns: f64,
    /// Queries for keys that were not added, and how many of them got a yes.
    outside: u64,
    found: u64,
}

impl<E: Engine> Loop<'_, E> {
    fn run(&self, dry: bool) -> Result<Outcome, String> {
        match self.mode {
            Mode::SingleBatched | Mode::Batched | Mode::BatchedOneByOne => self.batches(dry),
            _ => self.one_by_one(dry),
        }
    }

    /// Picks the filter of the next query.
    #[inline]
    fn pick(&self, random: &mut Random) -> &Subject<E::Filter> {
        let filters = self.subjects.len() as u32;
        let (hot, hot_threshold) = match self.mode {
            Mode::SingleFilter | Mode::SingleBatched => (1, u32::MAX),
            Mode::HalfInOnePercent => (filters.div_ceil(100), u32::MAX / 2),
            Mode::EightyInTwenty => (filters.div_ceil(5), u32::MAX / 5 * 4),
            _ => (filters, u32::MAX),
        };
        let index = if random.next() <= hot_threshold {
            random.below(hot)
        } else {
            hot + random.below(filters - hot)
        };
        &self.subjects[index as usize]
    }

    /// The number of the next key.
    #[inline]
    fn number(random: &mut Random, subject: &Subject<E::Filter>, inside: bool) -> u32 {
        let number = random.below(subject.keys);
        if inside { number } else { number | OUTSIDE }
    }

    fn one_by_one(&self, dry: bool) -> Result<Outcome, String> {
        let mut random = Random::new(self.settings.seed + 1);
        let mut maker = KeyMaker::new(self.settings.key_size);
        let threshold = self.mix.inside_threshold();
        let (mut outside, mut found, mut lost, mut sum) = (0, 0, 0_u64, 0_u64);
        let start = Stopwatch::start();
        for _ in 0..self.settings.queries {
            let inside = random.next() <= threshold;
            let subject = self.pick(&mut random);
            let key = maker.key(subject.id, Self::number(&mut random, subject, inside));
            let answer = if dry {
                sum = sum.wrapping_add(self.engine.dry_run(key));
                true
            } else {
                subject.filter.may_contain(key)
            };
            lost += u64::from(inside & !answer);
            outside += u64::from(!inside);
            found += u64::from(!inside & answer);
        }
        self.outcome(start, sum, [outside, found, lost])
    }

    fn batches(&self, dry: bool) -> Result<Outcome, String> {
        let mut random = Random::new(self.settings.seed + 1);
        let size = self.settings.batch_size;
        let mut makers = vec![KeyMaker::new(self.settings.key_size); size];
        let mut answers = vec![true; size];
        let threshold = self.mix.inside_threshold();
        let (mut outside, mut found, mut lost, mut sum) = (0, 0, 0_u64, 0_u64);
        let start = Stopwatch::start();
        let mut keys: Vec<&[u8]> = Vec::with_capacity(size);
        for _ in 0..self.settings.queries.div_ceil(size as u64) {
            let inside = random.next() <= threshold;
            let subject = self.pick(&mut random);
            let mut batch = emptied(keys);
            batch.extend(
                makers
                    .iter_mut()
                    .map(|maker| maker.key(subject.id, Self::number(&mut random, subject, inside))),
            );
            if dry {
                sum = sum.wrapping_add(self.engine.dry_run_batch(&batch));
            } else if self.mode == Mode::BatchedOneByOne {
                for (key, answer) in batch.iter().zip(&mut answers) {
                    *answer = subject.filter.may_contain(key);
                }
            } else {
                subject.filter.may_contain_batch(&batch, &mut answers);
            }
            keys = emptied(batch);
            let yes = answers.iter().filter(|&&answer| answer).count() as u64;
            let asked = size as u64;
            lost += if inside { asked - yes } else { 0 };
            outside += if inside { 0 } else { asked };
            found += if inside { 0 } else { yes };
        }
        self.outcome(start, sum, [outside, found, lost])
    }

    fn outcome(&self, start: Stopwatch, sum: u64, counts: [u64; 3]) -> Result<Outcome, String> {
        let ns = start.ns_per(self.settings.queries);
        std::hint::black_box(sum);
        let [outside, found, lost] = counts;
        if lost > 0 {
            let (engine, mode) = (self.engine.name(), self.mode.name());
            return Err(format!("{engine} lost {lost} keys that were added ({mode})"));
        }
        Ok(Outcome { ns, outside, found })
    }
}

/// The same memory without the borrows; the compiler sees through it and moves nothing.
fn emptied<'from, 'to>(mut keys: Vec<&'from [u8]>) -> Vec<&'to [u8]> {
    keys.clear();
    keys.into_iter().map(|_| -> &'to [u8] { &[] }).collect()
}
