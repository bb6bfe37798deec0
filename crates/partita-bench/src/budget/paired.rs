//! Differences of a percent: contenders in turns, in one process and on one thread, when everything is in memory.
//!
//! A machine drifts by more than the differences of interest, so that two runs one after the other tell nothing. Here
//! every round asks every contender for the same keys, each round in another order; a ratio is the median of the
//! rounds' ratios.

use serde::{Deserialize, Serialize};

use super::files::Shape;
use crate::clock::Stopwatch;
use crate::lookups::{Engine, Key, KeyStream, Keyspace, Mix, Population, Session, check};

/// How much to ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Rounds, each with a turn of every contender.
    pub rounds: usize,
    /// Lookups in a turn.
    pub gets: usize,
    /// Lookups of each contender before the first round.
    pub warm_up_gets: usize,
    /// Seed of the keys.
    pub seed: u64,
}

impl Turns {
    /// So many rounds of turns as long as it takes to see beyond the clock and the first misses of a turn.
    pub fn new(rounds: usize, seed: u64) -> Self {
        Self { rounds, gets: 20_000, warm_up_gets: 200_000, seed }
    }
}

/// Who takes part.
pub(super) struct Contender<'a> {
    /// Its name in the report.
    pub(super) name: String,
    /// Its files, open, with a budget that holds them whole.
    pub(super) engine: &'a dyn Engine,
}

/// What the turns came to, all with the same keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Shape of the files.
    pub shape: Shape,
    /// The contenders' names.
    pub names: Vec<String>,
    /// Processor time of a lookup in microseconds, `[contender][round]`.
    pub cpu_us: Vec<Vec<f64>>,
}

/// A ratio over rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The median of the rounds' ratios.
    pub median: f64,
    /// A quarter of the rounds is below.
    pub low: f64,
    /// A quarter of the rounds is above.
    pub high: f64,
}

/// Runs all contenders in turns.
pub(super) fn in_turns(
    shape: Shape,
    contenders: &[Contender<'_>],
    keyspace: Keyspace,
    turns: &Turns,
) -> Result<Paired, String> {
    let mut sessions: Vec<Box<dyn Session + '_>> = contenders
        .iter()
        .map(|contender| {
            let mut session = contender.engine.session();
            session.set_counting(false);
            session
        })
        .collect();
    let population = Population::Made(keyspace);
    let mut keys = vec![Key::default(); turns.gets.max(turns.warm_up_gets)];
    let expected = KeyStream::new(&population, Mix::Present, turns.seed).fill(&mut keys);
    for session in &mut sessions {
        check(session.get_each(&keys)?, expected)?;
    }
    keys.truncate(turns.gets);
    let mut cpu_us = vec![Vec::with_capacity(turns.rounds); contenders.len()];
    for round in 0..turns.rounds {
        let seed = turns.seed + 1 + round as u64;
        let expected = KeyStream::new(&population, Mix::Present, seed).fill(&mut keys);
        for turn in 0..contenders.len() {
            let at = (turn + round) % contenders.len();
            let watch = Stopwatch::start();
            let answer = sessions[at].get_each(&keys)?;
            cpu_us[at].push(watch.ns_per(keys.len() as u64) / 1e3);
            check(answer, expected)?;
        }
    }
    let names = contenders.iter().map(|contender| contender.name.clone()).collect();
    Ok(Paired { shape, names, cpu_us })
}

impl Paired {
    /// Median processor time of a lookup.
    pub fn cpu_us(&self, name: &str) -> Option<f64> {
        Some(quantile(self.rounds(name)?.to_vec(), 0.5))
    }

    /// Time of the first contender over time of the second.
    pub fn ratio(&self, of: &str, to: &str) -> Option<Ratio> {
        let ratios: Vec<f64> =
            self.rounds(of)?.iter().zip(self.rounds(to)?).map(|(of, to)| of / to).collect();
        let at = |share| quantile(ratios.clone(), share);
        Some(Ratio { median: at(0.5), low: at(0.25), high: at(0.75) })
    }

    fn rounds(&self, name: &str) -> Option<&[f64]> {
        let at = self.names.iter().position(|known| known == name)?;
        self.cpu_us.get(at).filter(|rounds| !rounds.is_empty()).map(Vec::as_slice)
    }
}

/// The value below which a share of the values lies; the nearest of them.
pub(super) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_ratios() {
        let paired = Paired {
            shape: Shape::Run,
            names: vec!["a".to_owned(), "b".to_owned()],
            // The machine was three times as slow in the second round, which a ratio of medians would not see through.
            cpu_us: vec![vec![1.0, 3.0, 2.0, 1.0, 1.1], vec![2.0, 6.0, 4.0, 2.0, 1.1]],
        };
        let ratio = paired.ratio("a", "b").unwrap();
        assert_eq!(ratio, Ratio { median: 0.5, low: 0.5, high: 0.5 });
        assert_eq!(paired.cpu_us("b"), Some(2.0));
        assert_eq!(paired.ratio("a", "c"), None);
    }
}
