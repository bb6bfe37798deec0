//! Blocks built here against blocks that RocksDB wrote.

use super::*;

/// The keys of the files in `testdata`.
fn key(i: u32) -> Vec<u8> {
    let mut key = format!("{:08x}", i * 7).into_bytes();
    let mut tail = (u64::from(i) * u64::from(i) * 31 % 300) as u32;
    if !i.is_multiple_of(5) {
        tail %= 17;
    }
    key.extend((0..tail).rev().map(|rest| i.wrapping_add(rest) as u8));
    key
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A line of such a file: how the block is built, and what it must be.
struct Golden {
    policy: FilterPolicy,
    format_version: u32,
    entries: u32,
    prefix_len: usize,
    whole_keys: bool,
    len: usize,
    digest: u64,
}

fn golden() -> impl Iterator<Item = Golden> {
    let files =
        [include_str!("testdata/rocksdb-7.8.3.txt"), include_str!("testdata/rocksdb-11.8.1.txt")];
    let lines = files.into_iter().flat_map(str::lines);
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [kind, bits, version, entries, prefix, whole, len, digest, _] = fields[..] else {
            panic!("{line}");
        };
        Golden {
            policy: policy(kind, bits),
            format_version: version.parse().unwrap(),
            entries: entries.parse().unwrap(),
            prefix_len: prefix.parse().unwrap(),
            whole_keys: whole == "1",
            len: len.parse().unwrap(),
            digest: u64::from_str_radix(digest, 16).unwrap(),
        }
    })
}

fn policy(kind: &str, bits: &str) -> FilterPolicy {
    let bits_per_key = bits.parse().unwrap();
    match kind {
        "bloom" => FilterPolicy::Bloom { bits_per_key },
        "ribbon" => FilterPolicy::Ribbon { bits_per_key, bloom_before_level: -1 },
        _ => panic!("{kind}"),
    }
}

impl Golden {
    fn build(&self, path: FilterImpl) -> Vec<u8> {
        let mut builder =
            FilterBuilder::new(&self.policy, self.format_version, FilterLevel::Unknown)
                .unwrap()
                .with_impl(path);
        for key in (0..self.entries).map(key) {
            match key.get(..self.prefix_len) {
                None | Some([]) => builder.add_key(&key),
                Some(prefix) if self.whole_keys => builder.add_key_and_prefix(&key, prefix),
                Some(prefix) => builder.add_key(prefix),
            }
        }
        let expected_len = builder.block_len();
        let block = builder.finish();
        assert_eq!(block.len(), expected_len);
        block
    }
}

#[test]
fn blocks_are_those_of_rocksdb_bit_for_bit() {
    let mut kinds = std::collections::HashSet::new();
    for golden in golden() {
        // One path is enough for the large ones, which take most of the time.
        let paths = match golden.entries {
            0..=100_000 => FilterImpl::available(),
            _ => vec![FilterImpl::best()],
        };
        for path in paths {
            let block = golden.build(path);
            let Golden { policy, format_version, entries, .. } = &golden;
            let what = format!("{policy}, version {format_version}, {entries} keys, {path}");
            assert_eq!(block.len(), golden.len, "{what}");
            assert_eq!(fnv1a(&block), golden.digest, "{what}");
            kinds.insert(
                FilterMeta::parse(block.len(), *block.last_chunk().unwrap()).kind().as_str(),
            );
        }
    }
    assert_eq!(kinds.len(), 3);
}

#[test]
fn added_keys_are_found_and_few_others() {
    for golden in golden().filter(|golden| golden.entries <= 10_000 && golden.prefix_len == 0) {
        let filter = Filter::parse(&golden.build(FilterImpl::best()));
        for key in (0..golden.entries).map(key) {
            assert!(filter.may_contain(&KeyHash::new(&key)), "{}: {key:?}", golden.policy);
        }
        let expected_rate = filter.meta().expected_false_positive_rate(golden.entries as usize);
        let outside = 20_000;
        let found = (0..outside)
            .filter(|i| filter.may_contain(&KeyHash::new(format!("outside {i}").as_bytes())))
            .count() as f64;
        let expected = expected_rate * f64::from(outside);
        assert!(
            found <= expected * 1.2 + 4.0 * expected.sqrt() + 3.0,
            "{}, version {}, {} keys: {found} of {outside}, expected {expected}",
            golden.policy,
            golden.format_version,
            golden.entries
        );
    }
}

#[test]
fn partitions_are_cut_at_the_same_number_of_entries() {
    let lines = include_str!("testdata/entries-that-fit-11.8.1.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [kind, bits, version, len, entries] = fields[..] else { panic!("{line}") };
        let policy = policy(kind, bits);
        let builder =
            FilterBuilder::new(&policy, version.parse().unwrap(), FilterLevel::Unknown).unwrap();
        let fitting = builder.entries_that_fit(len.parse().unwrap());
        if entries == "0" {
            assert!(fitting > 0, "{line}");
        } else {
            assert_eq!(fitting.to_string(), entries, "{line}");
        }
    }
}

#[test]
fn the_example_of_the_format_document_is_true() {
    let document = include_str!("../../../../docs/format/filter.md");
    let policy = FilterPolicy::Bloom { bits_per_key: 10.0 };
    let mut builder = FilterBuilder::new(&policy, 5, FilterLevel::Unknown).unwrap();
    for key in ["apple", "banana", "cherry"] {
        builder.add_key(key.as_bytes());
    }
    let hex: String = builder.finish().iter().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<&str> = [&hex[..64], &hex[64..128], &hex[128..]].into();
    assert!(document.contains(&lines.join("\n")), "{}", lines.join("\n"));
}
