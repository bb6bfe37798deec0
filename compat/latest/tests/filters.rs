//! Filter blocks built by Partita are, byte by byte, those that RocksDB 11.8.1's builders make of the same keys.

use partita_compat_latest::contender::{Contender, Kind, Loop};
use partita_compat_latest::partita_filters::PartitaFilters;
use partita_compat_latest::rocks_filters::{Compiled, RocksFilters, is_haswell};
use partita_compat_latest::workload::{QueryPlan, Random, Spread, keys_of};

const BITS: &[f64] = &[
    1.0, 1.5, 2.3, 3.3, 5.0, 6.64, 7.0, 8.31, 10.0, 12.5, 14.0, 16.1, 20.0, 22.5, 30.0, 60.0, 100.0,
];

/// Key counts around every border: one line, the least Ribbon, its switch from Bloom, a few partitions, whole files.
fn key_counts() -> Vec<u32> {
    let mut counts: Vec<u32> = (1..=64).collect();
    counts.extend((70..1100).step_by(37));
    counts.extend([127, 128, 129, 240, 245, 248, 249, 250, 255, 256, 257, 499, 500, 1001, 1002]);
    counts.extend([2003, 2004, 4005, 5000, 8000, 9000, 16_000, 31_828, 63_500]);
    counts
}

fn compare(kind: Kind) {
    let mut compared = 0;
    for &bits_per_key in BITS {
        let mut ours = PartitaFilters::new(kind, bits_per_key);
        let mut theirs = RocksFilters::new(Compiled::Plain, kind, bits_per_key);
        for (filter, count) in (0..).zip(key_counts()) {
            let key_len = 1 + (filter as usize * 7) % 70 + 8;
            let keys = keys_of(filter, count, key_len);
            let (_, ours) = ours.build(&keys, key_len);
            let (_, theirs) = theirs.build(&keys, key_len);
            assert!(
                ours == theirs,
                "{kind:?}, {bits_per_key} bits, {count} keys of {key_len} bytes"
            );
            compared += 1;
        }
    }
    println!("{compared} {kind:?} filters compared");
}

#[test]
fn bloom_filters_are_equal_byte_by_byte() {
    compare(Kind::Bloom);
}

#[test]
fn ribbon_filters_are_equal_byte_by_byte() {
    compare(Kind::Ribbon);
}

#[test]
fn legacy_bloom_filters_are_equal_byte_by_byte() {
    compare(Kind::LegacyBloom);
}

#[test]
fn a_million_keys_make_equal_filters() {
    let keys = keys_of(1, 1_000_000, 16);
    for kind in [Kind::Bloom, Kind::Ribbon, Kind::LegacyBloom] {
        let (_, ours) = PartitaFilters::new(kind, 10.0).build(&keys, 16);
        let (_, theirs) = RocksFilters::new(Compiled::Plain, kind, 10.0).build(&keys, 16);
        assert!(ours == theirs, "{kind:?}");
    }
}

#[test]
fn all_contenders_answer_every_query_alike() {
    for kind in [Kind::Bloom, Kind::Ribbon, Kind::LegacyBloom] {
        let mut contenders: Vec<Box<dyn Contender>> = vec![
            Box::new(PartitaFilters::new(kind, 8.0)),
            Box::new(RocksFilters::new(Compiled::Plain, kind, 8.0)),
        ];
        if is_haswell() {
            contenders.push(Box::new(RocksFilters::new(Compiled::Avx2, kind, 8.0)));
        }
        let counts = [3000, 1, 700];
        for (filter, &count) in (0..).zip(&counts) {
            let keys = keys_of(filter, count, 24);
            let blocks: Vec<_> = contenders.iter_mut().map(|c| c.build(&keys, 24).1).collect();
            assert!(blocks.windows(2).all(|pair| pair[0] == pair[1]), "{kind:?} {count} keys");
        }
        for inside in [0.0, 0.5, 1.0] {
            for (which, batch_len) in [(Loop::Bare, 1), (Loop::BareBatch, 20), (Loop::Reader, 1)] {
                let plan = QueryPlan { spread: Spread::Random, inside, batch_len, key_len: 24 };
                let queries = plan.draw(&counts, 3000 / batch_len, &mut Random::new(3));
                let answers: Vec<u64> =
                    contenders.iter_mut().map(|c| c.run(which, &queries).positives).collect();
                assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{kind:?} {answers:?}");
                assert!(answers[0] >= (inside * 2900.0) as u64, "{kind:?} {answers:?}");
            }
        }
    }
}
