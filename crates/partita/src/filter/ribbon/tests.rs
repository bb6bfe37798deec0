use super::*;

const PATHS: fn() -> Vec<FilterImpl> = FilterImpl::available;

fn hashes(n: u64) -> Vec<u64> {
    (0..n).map(|i| crate::util::hash::hash64(&i.to_le_bytes())).collect()
}

/// Segments and metadata.
fn built(hashes: &[u64], sizing: Sizing, path: FilterImpl) -> Option<(Vec<u8>, [u8; 5])> {
    let mut lines = Lines::empty();
    let metadata = build(&mut Scratch::default(), &mut lines, hashes, sizing, path)?;
    Some((lines.bytes().to_vec(), metadata))
}

fn sizing(hashes: &[u64], bits_per_key: f64) -> Sizing {
    let target = sizing::Target::new(bits_per_key, (bits_per_key * 1000.0) as u32);
    target.sizing(hashes.len(), hashes[0]).unwrap()
}

#[test]
fn the_order_of_keys_does_not_change_the_solution() {
    for n in [500, 3000, 20_000] {
        let mut hashes = hashes(n);
        let sizing = sizing(&hashes, 10.0);
        let expected = built(&hashes, sizing, FilterImpl::plain());
        hashes[1..].reverse(); // the first one picks the seed
        for path in PATHS() {
            assert_eq!(built(&hashes, sizing, path), expected, "{n} keys, {path}");
        }
        hashes[1..].sort_unstable();
        assert_eq!(built(&hashes, sizing, FilterImpl::best()), expected, "{n} keys, sorted");
    }
}

#[test]
fn all_paths_solve_every_number_of_columns_alike() {
    let hashes = hashes(2000);
    for bits_per_key in [1.0, 2.0, 3.5, 6.0, 11.0, 12.0, 17.5, 24.0, 40.0, 70.0, 100.0] {
        let sizing = sizing(&hashes, bits_per_key);
        let expected = built(&hashes, sizing, FilterImpl::plain()).unwrap();
        let geometry = Geometry::parse(expected.0.len(), expected.1).unwrap();
        for path in PATHS() {
            assert_eq!(built(&hashes, sizing, path).unwrap(), expected, "{bits_per_key}, {path}");
            for &hash in &hashes {
                let probe = geometry.probe(hash);
                assert!(probe.may_contain(path, &expected.0[probe.bytes()]));
            }
        }
    }
}

#[test]
fn repeated_keys_are_no_contradiction() {
    let mut twice = hashes(1000);
    twice.extend(hashes(1000));
    let sizing = sizing(&twice, 10.0);
    for path in PATHS() {
        assert!(built(&twice, sizing, path).is_some());
    }
}

#[test]
fn too_many_keys_for_the_slots_fail_under_every_seed() {
    let sizing = Sizing { slots: 256, segments_len: 7 * 2 * SEGMENT_LEN };
    for path in PATHS() {
        assert_eq!(built(&hashes(400), sizing, path), None);
        assert!(built(&hashes(200), sizing, path).is_some());
    }
}

#[test]
fn what_to_prefetch_is_what_a_query_reads() {
    for (segments, blocks) in [(14, 2), (15, 2), (100, 9), (3, 7), (0, 3), (1000, 5)] {
        let geometry = Geometry::new(3, blocks, segments);
        for hash in hashes(500) {
            assert_eq!(geometry.bytes_of(hash), geometry.probe(hash).bytes());
        }
    }
}
