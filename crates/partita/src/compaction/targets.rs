use crate::options::ColumnFamilyOptions;
use crate::version::Version;

/// The shape that levelled compaction strives for.
#[derive(Clone, Debug)]
pub(crate) struct LeveledShape {
    /// Files on level 0 from which on they are merged into the level below.
    pub(crate) level0_files: usize,
    /// Bytes of the first level below level 0.
    pub(crate) base_bytes: u64,
    /// How many times larger each further level is.
    pub(crate) multiplier: f64,
    /// Further factors for the levels from 1 on, where targets are fixed; those that are missing are 1.
    pub(crate) further_factors: Vec<i32>,
    /// Whether targets follow the size of the last level, so that it holds nine tenths of the data.
    pub(crate) dynamic: bool,
    pub(crate) level_count: usize,
    /// Bytes of a file on the first level below level 0, and the factor for each further one.
    pub(crate) file_bytes: u64,
    pub(crate) file_multiplier: u64,
    /// Bytes of one compaction's input; it is not exceeded where there is a choice.
    pub(crate) compaction_bytes: u64,
}

impl LeveledShape {
    pub(crate) fn new(options: &ColumnFamilyOptions) -> Self {
        let file_bytes = options.target_file_size_base;
        Self {
            level0_files: at_least_one(options.level0_file_num_compaction_trigger),
            base_bytes: options.max_bytes_for_level_base,
            multiplier: sane_multiplier(options.max_bytes_for_level_multiplier),
            further_factors: options.max_bytes_for_level_multiplier_additional.clone(),
            dynamic: options.level_compaction_dynamic_level_bytes,
            level_count: at_least_one(options.num_levels),
            file_bytes,
            file_multiplier: at_least_one(options.target_file_size_multiplier) as u64,
            compaction_bytes: options.compaction_bytes_max(),
        }
    }

    /// The factor between a level and the next, beside `multiplier`.
    fn further_factor(&self, level: usize) -> f64 {
        let factor = self.further_factors.get(level.wrapping_sub(1)).filter(|_| !self.dynamic);
        factor.map_or(1.0, |factor| f64::from(*factor).max(1.0))
    }
}

fn at_least_one(given: i32) -> usize {
    usize::try_from(given).unwrap_or(0).max(1)
}

/// Levels that shrink downwards, or a factor that is not a number, would never come to rest.
fn sane_multiplier(given: f64) -> f64 {
    if given.is_finite() { given.max(1.0) } else { 10.0 }
}

/// How many bytes each level should have at most.
///
/// With fixed targets level 1 has `base_bytes`, and each further level `multiplier` times more. With dynamic ones the
/// last level has what it has, each level above `multiplier` times less, but `base_bytes` at least, and the levels above the
/// first that would have no more than `base_bytes` stay empty:
///
/// ```text
/// level          1      2      3      4       5       6 = last
/// fixed        256M   2.5G    25G   250G    2.5T     25T
/// dynamic         -      -      -   256M    2.7G     27G     the last level holds 27 GiB; level 0 is merged into level 4
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LevelTargets {
    /// The level that level 0 is merged into.
    pub(crate) base_level: usize,
    /// By level; `u64::MAX` for those that should be empty, and for level 0, which counts files.
    pub(crate) bytes: Vec<u64>,
    /// The deepest of the levels that should be empty and are not.
    unneeded: Option<usize>,
}

impl LevelTargets {
    pub(crate) fn new(shape: &LeveledShape, version: &Version) -> Self {
        let sizes: Vec<u64> = version.levels().iter().map(|level| level.file_bytes()).collect();
        Self::of_sizes(shape, &sizes)
    }

    /// * `sizes`: bytes by level.
    fn of_sizes(shape: &LeveledShape, sizes: &[u64]) -> Self {
        let last = shape.level_count.max(sizes.len()).max(2) - 1;
        let base = match shape.dynamic {
            true => dynamic_base(shape, sizes, last),
            false => Base { level: 1, bytes: shape.base_bytes as f64, unneeded: None },
        };
        // A level smaller than what level 0 gathers would be written anew by each compaction from there.
        let least = if shape.dynamic { shape.base_bytes } else { 1 };
        let mut bytes = vec![u64::MAX; last + 1];
        let mut target = base.bytes;
        for (level, bytes) in bytes.iter_mut().enumerate().skip(base.level) {
            // A float beyond the range becomes the largest integer.
            *bytes = (target as u64).max(least).max(1);
            target *= shape.multiplier * shape.further_factor(level);
        }
        Self { base_level: base.level, bytes, unneeded: base.unneeded }
    }

    /// Whether `level` should be empty. What it has goes down when nothing else is due.
    pub(crate) fn is_unneeded(&self, level: usize) -> bool {
        level > 0 && self.unneeded.is_some_and(|deepest| level <= deepest)
    }

    /// Bytes of an output file on `level`.
    pub(crate) fn file_bytes(&self, shape: &LeveledShape, level: usize) -> u64 {
        let steps = level.saturating_sub(self.base_level) as u32;
        shape.file_bytes.saturating_mul(shape.file_multiplier.saturating_pow(steps))
    }
}

/// Where dynamic targets begin.
struct Base {
    level: usize,
    /// What the level should have, by the size of the last one.
    bytes: f64,
    /// The deepest level that has data and should have none.
    unneeded: Option<usize>,
}

fn dynamic_base(shape: &LeveledShape, sizes: &[u64], last: usize) -> Base {
    let size = |level: usize| sizes.get(level).copied().unwrap_or(0);
    let base_max = shape.base_bytes as f64;
    let base_min = base_max / shape.multiplier;
    let Some(first_filled) = (1..=last).find(|level| size(*level) > 0) else {
        return Base { level: last, bytes: base_max, unneeded: None };
    };
    // What each level should have, were the last one of the largest level's size.
    let mut target = (first_filled..=last).map(size).max().unwrap_or(0) as f64;
    let mut unneeded = None;
    for level in (first_filled..last).rev() {
        target /= shape.multiplier;
        if target <= base_min && unneeded.is_none() {
            unneeded = Some(level);
        }
    }
    if target <= base_min {
        // The first filled level is smaller than a base has to be; meanwhile it takes level 0.
        return Base { level: first_filled, bytes: base_min + 1.0, unneeded };
    }
    let mut level = first_filled;
    while level > 1 && target > base_max {
        level -= 1;
        target /= shape.multiplier;
    }
    Base { level, bytes: target.min(base_max), unneeded: None }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::compaction) fn shape() -> LeveledShape {
        LeveledShape {
            level0_files: 4,
            base_bytes: 1000,
            multiplier: 10.0,
            further_factors: Vec::new(),
            dynamic: true,
            level_count: 7,
            file_bytes: 100,
            file_multiplier: 1,
            compaction_bytes: 2500,
        }
    }

    #[test]
    fn fixed_targets_grow_from_level_1() {
        let targets = LevelTargets::of_sizes(&LeveledShape { dynamic: false, ..shape() }, &[0; 7]);
        assert_eq!(targets.base_level, 1);
        assert_eq!(targets.bytes[..4], [u64::MAX, 1000, 10_000, 100_000]);
    }

    #[test]
    fn the_shape_comes_from_the_options() {
        let options = ColumnFamilyOptions {
            max_compaction_bytes: 0,
            target_file_size_base: 100,
            target_file_size_multiplier: 3,
            max_bytes_for_level_base: 1000,
            max_bytes_for_level_multiplier: f64::NAN,
            max_bytes_for_level_multiplier_additional: vec![1, 4, -1],
            level_compaction_dynamic_level_bytes: false,
            ..ColumnFamilyOptions::default()
        };
        let shape = LeveledShape::new(&options);
        assert_eq!(shape.compaction_bytes, 2500);
        let targets = LevelTargets::of_sizes(&shape, &[0; 7]);
        assert_eq!(targets.bytes[1..], [1000, 10_000, 400_000, 4_000_000, 40_000_000, 400_000_000]);
        assert_eq!((targets.file_bytes(&shape, 1), targets.file_bytes(&shape, 3)), (100, 900));
    }

    #[test]
    fn an_empty_tree_is_filled_from_the_bottom() {
        let targets = LevelTargets::of_sizes(&shape(), &[500, 0, 0, 0, 0, 0, 0]);
        assert_eq!((targets.base_level, targets.bytes[6]), (6, 1000));
    }

    #[test]
    fn a_level_opens_above_once_the_base_is_too_large_for_one_step() {
        let base = |last: u64| LevelTargets::of_sizes(&shape(), &[0, 0, 0, 0, 0, 0, last]);
        assert_eq!(base(900).base_level, 6);
        let grown = base(27_000);
        assert_eq!(grown.base_level, 4);
        assert_eq!(grown.bytes[4..], [1000, 2700, 27_000]);
        assert_eq!(base(5_000).bytes[5..], [1000, 5000]);
    }

    #[test]
    fn a_level_that_should_be_empty_takes_level_0_and_empties() {
        let targets = LevelTargets::of_sizes(&shape(), &[0, 0, 0, 50, 0, 0, 27_000]);
        assert_eq!(targets.base_level, 3);
        assert_eq!(targets.bytes[3..], [1000, 1010, 10_100, 101_000]);
        assert!(targets.is_unneeded(3) && !targets.is_unneeded(4) && !targets.is_unneeded(0));
    }
}
