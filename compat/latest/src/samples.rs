//! Measurements of contenders that take turns, and what is reported of them.

/// One row of results.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Median nanoseconds a key, of each contender.
    pub nanos: Vec<f64>,
    /// Of the first contender's time to that of each other: quartiles and median over the rounds.
    pub ratios: Vec<[f64; 3]>,
    /// For the reader object: the same of the first contender's time to that of its bare filters.
    pub over_bare: Option<[f64; 3]>,
}

/// Measurements of all contenders, round by round.
#[derive(Clone, Debug)]
pub struct Samples(Vec<Vec<f64>>);

impl Samples {
    /// No measurements yet.
    pub fn new(contenders: usize) -> Self {
        Self(vec![Vec::new(); contenders])
    }

    /// Forgets all measurements.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// Takes one measurement of each contender; who starts changes with the round.
    pub fn round(&mut self, round: usize, mut measure: impl FnMut(usize) -> f64) {
        let contenders = self.0.len();
        for turn in 0..contenders {
            let i = (round + turn) % contenders;
            self.0[i].push(measure(i));
        }
    }

    /// Medians, and ratios round by round.
    pub fn row(&self, name: String) -> Row {
        let nanos = self.0.iter().map(|samples| quartiles(samples.clone())[1]).collect();
        let ratios = self.0[1..].iter().map(|theirs| {
            quartiles(self.0[0].iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
        });
        Row { name, nanos, ratios: ratios.collect(), over_bare: None }
    }
}

/// First quartile, median and third quartile.
pub(crate) fn quartiles(mut samples: Vec<f64>) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| samples[samples.len() * quarter / 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_the_sorted_samples() {
        assert_eq!(quartiles(vec![5.0, 1.0, 4.0, 2.0, 3.0]), [2.0, 3.0, 4.0]);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut samples = Samples::new(2);
        for (round, (ours, theirs)) in [(1.0, 2.0), (10.0, 20.0), (3.0, 6.0)].iter().enumerate() {
            samples.round(round, |i| if i == 0 { *ours } else { *theirs });
        }
        let row = samples.row("x".to_owned());
        assert_eq!(row.nanos, [3.0, 6.0]);
        assert_eq!(row.ratios, [[0.5; 3]]);
    }
}
