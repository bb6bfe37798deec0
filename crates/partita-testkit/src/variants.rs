//! Tables in every variant that Partita writes: named options, and deterministic contents that stress different parts
//! of the format.
//!
//! The structure of a table (format version, index, filter, prefixes) is varied in full; everything else is drawn for
//! each of these, so that the whole matrix shows every pair of choices. Names and contents are the same in every run.

use partita::Result;
use partita::filter::FilterPolicy;
use partita::io::WritableFile;
use partita::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType};
use partita::options::{
    CompressionOptions, DataBlockIndex, FilterLayout, IndexShortening, IndexType, TableOptions,
};
use partita::table::{SstFileWriter, TableBuilder, TableContext, TableSummary};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;

use crate::archive::Row;

/// What stands in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing.
    Empty,
    /// Keys `key00000000`, `key00000003`, … with up to 100 bytes of text.
    Sequential,
    /// Keys `00000000`…, ten to each 8-byte prefix.
    Prefixed,
    /// Random bytes of every length from 0 to 1,299: the empty key, runs of 0x00 and of 0xff.
    Binary,
    /// Values of up to 1 MiB.
    LargeValues,
    /// Several versions of each key: puts, deletions, single deletions, merges.
    Versions,
    /// As [`Contents::Versions`], and range tombstones.
    Ranges,
    /// Range tombstones only.
    OnlyRanges,
}

/// A range tombstone: start, end, sequence number.
pub type Tombstone = (Vec<u8>, Vec<u8>, SeqNo);

/// One table to write.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Tells what is special; usable as a file name.
    pub name: String,
    /// How it is written.
    pub options: TableOptions,
    /// The order of its keys.
    pub order: KeyOrder,
    /// What it holds.
    pub contents: Contents,
    /// About how many entries.
    pub count: usize,
    /// Written by `SstFileWriter`: each key once, with sequence number 0.
    pub is_external: bool,
}

impl Variant {
    fn new(
        name: impl Into<String>,
        options: TableOptions,
        contents: Contents,
        count: usize,
    ) -> Self {
        let name = name.into();
        Self { name, options, order: KeyOrder::Bytewise, contents, count, is_external: false }
    }

    /// Whether RocksDB 7.8 reads the file.
    pub fn is_read_by_7_8(&self) -> bool {
        self.options.format_version <= 5 && !self.options.separate_key_value_in_data_block
    }

    /// The point entries in table order: internal keys with values.
    pub fn entries(&self) -> Vec<Row> {
        let mut random = Random::new();
        let mut entries: Vec<Row> = match self.contents {
            Contents::Empty | Contents::OnlyRanges => Vec::new(),
            Contents::Versions | Contents::Ranges => versions(self.count, &mut random),
            plain => (0..self.count).map(|i| plain_entry(plain, i, &mut random)).collect(),
        };
        if self.is_external {
            for (key, _) in &mut entries {
                let parts = InternalKey::decode(key).expect("made above");
                // The writer of external files has no single deletions.
                let value_type = match parts.value_type {
                    ValueType::SingleDeletion => ValueType::Deletion,
                    other => other,
                };
                *key = InternalKey::new(parts.user_key, SeqNo::ZERO, value_type).encode();
            }
        }
        entries.sort_by(|(a, _), (b, _)| self.order.compare_internal(a, b));
        let same = |a: &[u8], b: &[u8]| match self.is_external {
            true => a[..a.len() - 8] == b[..b.len() - 8],
            false => a == b,
        };
        entries.dedup_by(|(later, _), (earlier, _)| same(later, earlier));
        entries
    }

    /// The range tombstones, in no order.
    pub fn tombstones(&self) -> Vec<Tombstone> {
        if !matches!(self.contents, Contents::Ranges | Contents::OnlyRanges) {
            return Vec::new();
        }
        let mut random = Random::new();
        (0..self.count / 10)
            .map(|_| {
                let i = random.below(self.count);
                let (from, to) = (sequential_key(i), sequential_key(i + 1 + random.below(20)));
                let (start, end) =
                    if self.order.compare(&from, &to).is_lt() { (from, to) } else { (to, from) };
                let seqno = if self.is_external { 0 } else { random.below(3 * self.count) };
                (start, end, seqno_of(seqno))
            })
            .collect()
    }

    /// Where the table says that it comes from.
    pub fn context(&self) -> TableContext {
        TableContext {
            column_family_id: 0,
            column_family_name: "default".to_owned(),
            db_id: "6151d5c6-639a-4fbb-82f3-f183da34e6c4".to_owned(),
            db_session_id: "FQTJY23IRXB5HU5I5H60".to_owned(),
            db_host_id: "testkit".to_owned(),
            file_number: 9,
            creation_time: 1_700_000_000,
            oldest_key_time: 1_700_000_000,
            newest_key_time: 1_700_000_500,
            file_creation_time: 1_700_001_000,
            merge_operator_name: Some("StringAppendOperator".to_owned()),
            ..TableContext::default()
        }
    }

    /// Writes the table.
    pub fn write(&self, file: Box<dyn WritableFile>) -> Result<TableSummary> {
        if self.is_external {
            return self.write_external(file);
        }
        let (options, order) = (self.options.clone(), self.order.clone());
        let mut builder = TableBuilder::new(file, options, order, self.context())?;
        for (key, value) in self.entries() {
            builder.add(&key, &value)?;
        }
        for (start, end, seqno) in self.tombstones() {
            builder.add_range_tombstone(&start, &end, seqno)?;
        }
        builder.finish()
    }

    fn write_external(&self, file: Box<dyn WritableFile>) -> Result<TableSummary> {
        let (options, order) = (self.options.clone(), self.order.clone());
        let mut writer = SstFileWriter::new(file, options, order, self.context())?;
        for (key, value) in self.entries() {
            let key = InternalKey::decode(&key)?;
            match key.value_type {
                ValueType::Merge => writer.merge(key.user_key, &value)?,
                ValueType::Deletion => writer.delete(key.user_key)?,
                _ => writer.put(key.user_key, &value)?,
            }
        }
        for (start, end, _) in self.tombstones() {
            writer.delete_range(&start, &end)?;
        }
        writer.finish()
    }
}

/// All variants.
pub fn variants() -> Vec<Variant> {
    let mut variants = structures();
    variants.extend(compressions());
    variants.extend(blocks());
    variants.extend(filters());
    variants.extend(contents());
    variants.extend(external());
    for variant in &variants {
        variant.options.validate().unwrap_or_else(|error| panic!("{}: {error}", variant.name));
    }
    variants
}

const BLOOM: FilterPolicy = FilterPolicy::Bloom { bits_per_key: 10.0 };
const RIBBON: FilterPolicy = FilterPolicy::Ribbon { bits_per_key: 10.0, bloom_before_level: -1 };

/// Format version, index type, filter and prefixes in full; the rest drawn.
fn structures() -> Vec<Variant> {
    let mut random = Random::new();
    let mut variants = Vec::new();
    for format_version in 2..=7 {
        for index_type in IndexType::ALL {
            for (filter, policy) in
                [("none", None), ("bloom", Some(BLOOM)), ("ribbon", Some(RIBBON))]
            {
                for filter_layout in layouts(index_type, policy.is_some()) {
                    for (prefixes, whole_keys) in [(false, true), (true, true), (true, false)] {
                        if index_type == IndexType::HashSearch && !prefixes
                            || policy.is_none() && !whole_keys
                        {
                            continue;
                        }
                        let structure = TableOptions {
                            format_version,
                            index_type,
                            filter_policy: policy.clone(),
                            filter_layout,
                            whole_key_filtering: whole_keys,
                            ..TableOptions::default()
                        };
                        let words = match (prefixes, whole_keys) {
                            (false, _) => "",
                            (true, true) => "-prefixes-and-keys",
                            (true, false) => "-prefixes",
                        };
                        let name = format!(
                            "fv{format_version}-{index_type}-{filter}-{filter_layout:?}{words}"
                        );
                        variants.push(drawn(name, structure, prefixes, &mut random));
                    }
                }
            }
        }
    }
    variants
}

fn layouts(index_type: IndexType, has_filter: bool) -> Vec<FilterLayout> {
    match index_type {
        IndexType::TwoLevel if has_filter => {
            vec![FilterLayout::Full, FilterLayout::PartitionedWithIndex, FilterLayout::Partitioned]
        }
        _ => vec![FilterLayout::Full],
    }
}

/// Draws what the structure leaves open.
fn drawn(name: String, structure: TableOptions, prefixes: bool, random: &mut Random) -> Variant {
    let contents = match prefixes {
        true => *random.one_of(&[Contents::Prefixed, Contents::Binary, Contents::Ranges]),
        false => *random.one_of(&[Contents::Sequential, Contents::Binary, Contents::Ranges]),
    };
    let extractor = match contents {
        Contents::Prefixed => PrefixExtractor::Fixed(8),
        _ => random.one_of(&[PrefixExtractor::Fixed(6), PrefixExtractor::Capped(9)]).clone(),
    };
    let compression = CompressionOptions::new(*random.one_of(&CompressionType::ALL));
    let index_block_restart_interval = match structure.index_type {
        IndexType::HashSearch => 1,
        _ => *random.one_of(&[1, 2, 8, 16]),
    };
    let options = TableOptions {
        checksum: *random.one_of(&ChecksumType::ALL),
        block_size: *random.one_of(&[1, 300, 1024, 4096]),
        block_restart_interval: *random.one_of(&[1, 3, 16]),
        use_delta_encoding: random.below(4) != 0,
        data_block_index: *random.one_of(&[
            DataBlockIndex::BinarySearch,
            DataBlockIndex::BinaryAndHash { util_ratio: 0.75 },
        ]),
        index_block_restart_interval,
        index_shortening: *random.one_of(&[
            IndexShortening::None,
            IndexShortening::Separators,
            IndexShortening::SeparatorsAndSuccessor,
        ]),
        metadata_block_size: *random.one_of(&[64, 512, 4096]),
        enable_index_compression: random.below(3) != 0,
        prefix_extractor: prefixes.then_some(extractor),
        compression,
        ..structure
    };
    Variant::new(name, options, contents, 2000)
}

/// Each compression in each framing, with and without dictionary.
fn compressions() -> Vec<Variant> {
    let mut variants = Vec::new();
    for format_version in [5, 6, 7] {
        for kind in CompressionType::ALL {
            let name = format!("fv{format_version}-{kind}");
            let mut options = TableOptions::with_compression(kind);
            options.format_version = format_version;
            variants.push(Variant::new(&name, options.clone(), Contents::Sequential, 3000));
            if kind.uses_dictionary() {
                options.compression.max_dict_bytes = 4096;
                let name = format!("{name}-dictionary");
                variants.push(Variant::new(&name, options.clone(), Contents::Ranges, 3000));
                // The samples are taken while blocks still come.
                options.compression.max_dict_buffer_bytes = 30_000;
                options.filter_layout = FilterLayout::PartitionedWithIndex;
                let name = format!("{name}-early");
                variants.push(Variant::new(&name, options.clone(), Contents::Sequential, 3000));
            }
            if kind == CompressionType::Zstd {
                options.compression.zstd_max_train_bytes = 100_000;
                let name = format!("{name}-trained");
                variants.push(Variant::new(&name, options, Contents::Sequential, 5000));
            }
        }
    }
    for (kind, level) in [
        (CompressionType::Zlib, 1),
        (CompressionType::Zlib, 9),
        (CompressionType::Lz4hc, 12),
        (CompressionType::Zstd, -5),
        (CompressionType::Zstd, 19),
    ] {
        let mut options = TableOptions::with_compression(kind);
        options.compression.level = level;
        // Blocks beyond 2^14 bytes, the window that RocksDB inflates with.
        options.block_size = 100_000;
        variants.push(Variant::new(
            format!("{kind}-level{level}"),
            options,
            Contents::Sequential,
            8000,
        ));
    }
    variants
}

fn blocks() -> Vec<Variant> {
    let with = |name: &str, contents: Contents, change: fn(&mut TableOptions)| {
        let mut options = TableOptions::default();
        change(&mut options);
        Variant::new(name, options, contents, 2500)
    };
    vec![
        with("defaults", Contents::Sequential, |_| {}),
        with("rocksdb-defaults", Contents::Sequential, |o| *o = TableOptions::rocksdb_defaults()),
        with("block-align", Contents::Binary, |o| {
            o.block_align = true;
            o.compression = CompressionOptions::new(CompressionType::None);
        }),
        with("block-align-large-blocks", Contents::Sequential, |o| {
            o.block_align = true;
            o.block_size = 16_384;
            o.compression = CompressionOptions::new(CompressionType::None);
        }),
        with("super-block-alignment", Contents::Sequential, |o| {
            o.super_block_alignment_size = 16_384;
            o.super_block_alignment_space_overhead_ratio = 4;
            o.compression = CompressionOptions::new(CompressionType::None);
        }),
        with("data-block-hash-crowded", Contents::Sequential, |o| {
            o.data_block_index = DataBlockIndex::BinaryAndHash { util_ratio: 8.0 };
            o.block_size = 16_384;
        }),
        with("data-block-hash-too-many-restarts", Contents::Sequential, |o| {
            o.data_block_index = DataBlockIndex::BinaryAndHash { util_ratio: 0.75 };
            o.block_restart_interval = 1;
            o.block_size = 32_768;
        }),
        with("one-key-a-block", Contents::Binary, |o| {
            o.block_size = 1;
            o.metadata_block_size = 1;
        }),
        with("values-apart", Contents::Binary, |o| {
            o.format_version = 7;
            o.separate_key_value_in_data_block = true;
        }),
        with("values-apart-hash-dictionary", Contents::Ranges, |o| {
            o.format_version = 7;
            o.separate_key_value_in_data_block = true;
            o.data_block_index = DataBlockIndex::BinaryAndHash { util_ratio: 0.75 };
            o.compression.max_dict_bytes = 2000;
            o.block_restart_interval = 3;
        }),
    ]
}

fn filters() -> Vec<Variant> {
    let mut variants = Vec::new();
    for layout in [FilterLayout::PartitionedWithIndex, FilterLayout::Partitioned] {
        for (kind, policy) in [("bloom", BLOOM), ("ribbon", RIBBON)] {
            let options = TableOptions {
                filter_policy: Some(policy),
                filter_layout: layout,
                block_size: 100,
                // 64 bytes of Bloom filter are 51 keys, and a Ribbon filter does not get below that.
                metadata_block_size: 12,
                ..TableOptions::default()
            };
            let name = format!("small-partitions-{kind}-{layout:?}");
            variants.push(Variant::new(name, options, Contents::Binary, 1300));
        }
    }
    let five_keys = TableOptions {
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 100.0 }),
        metadata_block_size: 64,
        block_size: 1,
        ..TableOptions::default()
    };
    variants.push(Variant::new("five-key-partitions", five_keys, Contents::Sequential, 3000));
    for bits_per_key in [0.1, 0.5, 3.3, 16.0, 40.0] {
        for format_version in [4, 5] {
            let policy = Some(FilterPolicy::Bloom { bits_per_key });
            let options =
                TableOptions { filter_policy: policy, format_version, ..TableOptions::default() };
            let name = format!("fv{format_version}-bloom-{bits_per_key}-bits");
            variants.push(Variant::new(name, options, Contents::Binary, 1300));
        }
    }
    variants
}

fn contents() -> Vec<Variant> {
    let mut variants = Vec::new();
    for format_version in [2, 5, 7] {
        let with = |name: &str, contents, count| {
            let options = TableOptions { format_version, ..TableOptions::default() };
            Variant::new(format!("fv{format_version}-{name}"), options, contents, count)
        };
        variants.push(with("empty", Contents::Empty, 0));
        variants.push(with("one-entry", Contents::Sequential, 1));
        variants.push(with("empty-key-only", Contents::Binary, 1));
        variants.push(with("large-values", Contents::LargeValues, 20));
        variants.push(with("versions", Contents::Versions, 3000));
        variants.push(with("only-ranges", Contents::OnlyRanges, 300));
        for mut reverse in [
            with("reverse", Contents::Ranges, 3000),
            with("reverse-binary", Contents::Binary, 1500),
        ] {
            reverse.order = KeyOrder::ReverseBytewise;
            variants.push(reverse);
        }
        let mut full = with("empty-full-filter", Contents::Empty, 0);
        full.options.index_type = IndexType::BinarySearch;
        full.options.filter_layout = FilterLayout::Full;
        variants.push(full);
    }
    variants
}

fn external() -> Vec<Variant> {
    let mut variants = Vec::new();
    for format_version in 2..=7 {
        for contents in
            [Contents::Sequential, Contents::Binary, Contents::Ranges, Contents::LargeValues]
        {
            let options = TableOptions { format_version, ..TableOptions::default() };
            let name = format!("fv{format_version}-external-{contents:?}");
            let count = if contents == Contents::LargeValues { 10 } else { 2000 };
            let variant = Variant::new(name, options, contents, count);
            variants.push(Variant { is_external: true, ..variant });
        }
    }
    variants
}

fn plain_entry(contents: Contents, i: usize, random: &mut Random) -> Row {
    let key = match contents {
        Contents::Prefixed => format!("{:08}{:04}", i / 10, i % 10).into_bytes(),
        Contents::Binary => random.binary(i),
        _ => sequential_key(i),
    };
    let value = match contents {
        Contents::LargeValues if i.is_multiple_of(4) => random.text_of(1 << 20),
        Contents::LargeValues => random.text(1 << 20),
        _ => random.text(100),
    };
    (InternalKey::new(&key, seqno_of(i), ValueType::Value).encode(), value)
}

fn versions(count: usize, random: &mut Random) -> Vec<Row> {
    (0..count)
        .map(|i| {
            // Some keys have dozens of versions, so that these span blocks.
            let key = match random.below(10) {
                0..3 => sequential_key(count / 2),
                _ => sequential_key(random.below(count)),
            };
            let (value_type, value) = match random.below(10) {
                0 => (ValueType::Deletion, Vec::new()),
                1 => (ValueType::SingleDeletion, Vec::new()),
                2..4 => (ValueType::Merge, random.text(20)),
                _ => (ValueType::Value, random.text(100)),
            };
            (InternalKey::new(&key, seqno_of(i + 1), value_type).encode(), value)
        })
        .collect()
}

fn sequential_key(i: usize) -> Vec<u8> {
    format!("key{:08}", i * 3).into_bytes()
}

fn seqno_of(number: usize) -> SeqNo {
    SeqNo::new(number as u64).expect("counts are small")
}

/// Marsaglia's xorshift64: the same sequence in every run.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(88_172_645_463_325_252)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn one_of<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }

    /// Up to `max` bytes of text.
    fn text(&mut self, max: usize) -> Vec<u8> {
        let len = self.below(max + 1);
        self.text_of(len)
    }

    /// Text in which compressors find something.
    fn text_of(&mut self, len: usize) -> Vec<u8> {
        const WORDS: [&str; 8] =
            ["table ", "index ", "filter ", "block ", "footer ", "restart ", "level ", "key "];
        let mut text = Vec::with_capacity(len + 8);
        while text.len() < len {
            text.extend_from_slice(self.one_of(&WORDS).as_bytes());
        }
        text.truncate(len);
        text
    }

    fn binary(&mut self, i: usize) -> Vec<u8> {
        let len = i % 1300;
        match i % 50 {
            7 => vec![0x00; len % 40],
            8 => vec![0xff; len % 40],
            _ => (0..len).map(|_| self.below(256) as u8).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_contents_the_same_in_every_run() {
        let variants = variants();
        let mut names: Vec<_> = variants.iter().map(|variant| &variant.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), variants.len());
        assert!(variants.len() > 200);
        let variant = variants.iter().find(|variant| variant.contents == Contents::Ranges).unwrap();
        assert_eq!(variant.entries(), variant.entries());
        assert!(!variant.tombstones().is_empty());
    }

    #[test]
    fn the_empty_key_and_runs_of_one_byte_occur() {
        let options = TableOptions::default();
        let entries = Variant::new("x", options, Contents::Binary, 60).entries();
        let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| &key[..key.len() - 8]).collect();
        assert_eq!(keys[0], b"");
        assert!(keys.contains(&&[0u8; 7][..]) && keys.contains(&&[0xffu8; 8][..]));
    }
}
