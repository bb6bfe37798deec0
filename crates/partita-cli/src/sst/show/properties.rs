//! Table properties in plain words: what each is called, and how its value reads.

use std::collections::BTreeMap;

use partita::table::TableProperties;
use partita::table::properties::UNKNOWN_COLUMN_FAMILY;
use partita::util::coding::Cursor;
use serde_json::Value;

use crate::escape::Form;
use crate::units;

/// How a property's bytes are read, and how the value is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A varint that counts something.
    Count,
    /// A varint: bytes.
    Size,
    /// A varint: seconds since 1970; 0 means unknown.
    Time,
    /// A varint that is only a number: not grouped by thousands.
    Number,
    /// A varint of 4 or 8 bytes, fixed.
    Fixed,
    /// A column family's number.
    Family,
    /// A varint used as a switch.
    Flag,
    /// A switch as the text `0` or `1`.
    Digit,
    /// Code of an index type, 4 bytes.
    IndexType,
    /// Text.
    Text,
    /// Bytes of an own format.
    Bytes,
}

use Kind::{Bytes, Count, Digit, Family, Fixed, Flag, IndexType, Number, Size, Text, Time};

/// Every property that RocksDB defines, in the order in which they are shown: name on disk, words, kind.
const KNOWN: &[(&str, &str, Kind)] = &[
    ("rocksdb.num.entries", "entries", Count),
    ("rocksdb.deleted.keys", "deletions of all kinds", Count),
    ("rocksdb.merge.operands", "merge operands", Count),
    ("rocksdb.num.range-deletions", "range tombstones", Count),
    ("rocksdb.raw.key.size", "sum of key lengths", Size),
    ("rocksdb.raw.value.size", "sum of value lengths", Size),
    ("rocksdb.fixed.key.length", "fixed key length", Number),
    ("rocksdb.key.smallest.seqno", "smallest sequence number", Count),
    ("rocksdb.key.largest.seqno", "largest sequence number", Count),
    ("rocksdb.num.data.blocks", "data blocks", Count),
    ("rocksdb.data.size", "data blocks as stored", Size),
    ("rocksdb.compression", "compression", Text),
    ("rocksdb.compression_options", "compression options", Text),
    ("rocksdb.num.data.blocks.compression.rejected", "blocks where compression did not pay", Count),
    ("rocksdb.num.data.blocks.compression.bypassed", "blocks not offered to compression", Count),
    ("rocksdb.sample_for_compression.slow.data.size", "estimate with slow compression", Size),
    ("rocksdb.sample_for_compression.fast.data.size", "estimate with fast compression", Size),
    ("rocksdb.data.block.restart.interval", "data block restart interval", Number),
    ("rocksdb.separate.key.value.in.data.block", "keys and values apart", Flag),
    ("rocksdb.num.uniform.blocks", "blocks with uniform keys", Count),
    ("rocksdb.block.based.table.index.type", "index type", IndexType),
    ("rocksdb.index.size", "index before compression", Size),
    ("rocksdb.top-level.index.size", "top-level index", Size),
    ("rocksdb.index.partitions", "index partitions", Count),
    ("rocksdb.index.key.is.user.key", "index keys are user keys", Flag),
    ("rocksdb.index.value.is.delta.encoded", "index values are delta-encoded", Flag),
    ("rocksdb.index.block.restart.interval", "index block restart interval", Number),
    ("rocksdb.udi.is.primary.index", "user-defined index is primary", Flag),
    ("rocksdb.filter.policy", "filter policy", Text),
    ("rocksdb.filter.size", "filter", Size),
    ("rocksdb.num.filter_entries", "filter entries", Count),
    ("rocksdb.block.based.table.whole.key.filtering", "filter holds whole keys", Digit),
    ("rocksdb.block.based.table.prefix.filtering", "filter holds prefixes", Digit),
    (
        "rocksdb.block.based.table.decoupled.partitioned.filters",
        "filter partitions, if any, are decoupled",
        Digit,
    ),
    ("rocksdb.prefix.extractor.name", "prefix extractor", Text),
    ("rocksdb.comparator", "comparator", Text),
    ("rocksdb.merge.operator", "merge operator", Text),
    ("rocksdb.property.collectors", "property collectors", Text),
    ("rocksdb.user.defined.timestamps.persisted", "timestamps are stored", Flag),
    ("rocksdb.timestamp_min", "smallest timestamp", Bytes),
    ("rocksdb.timestamp_max", "largest timestamp", Bytes),
    ("rocksdb.column.family.name", "column family", Text),
    ("rocksdb.column.family.id", "column family number", Family),
    ("rocksdb.creating.db.identity", "made by database", Text),
    ("rocksdb.creating.session.identity", "made in session", Text),
    ("rocksdb.creating.host.identity", "made on host", Text),
    ("rocksdb.original.file.number", "made as file number", Number),
    ("rocksdb.external_sst_file.version", "external file version", Fixed),
    ("rocksdb.external_sst_file.global_seqno", "global sequence number", Fixed),
    ("rocksdb.creation.time", "oldest data written", Time),
    ("rocksdb.file.creation.time", "file written", Time),
    ("rocksdb.oldest.key.time", "oldest key", Time),
    ("rocksdb.newest.key.time", "newest key", Time),
    ("rocksdb.seqno.time.map", "times of sequence numbers", Bytes),
    ("rocksdb.format.version", "format version as noted", Number),
    ("rocksdb.tail.start.offset", "first block behind the data", Number),
    ("rocksdb.embedded.blob.stats", "embedded blobs", Bytes),
];

/// All recorded properties as words and values for people, known ones first.
pub(super) fn in_words(properties: &TableProperties) -> Vec<(String, String)> {
    let mut entries = properties.encode();
    let mut rows = Vec::new();
    for (name, words, kind) in KNOWN {
        if let Some(bytes) = entries.remove(name.as_bytes()) {
            rows.push(((*words).to_owned(), kind.words(&bytes)));
        }
    }
    let others = entries.iter().map(|(name, value)| {
        (Form::Escaped.text(name), format!("\"{}\"", Form::Escaped.text(value)))
    });
    rows.extend(others);
    rows
}

/// All recorded properties by their names on disk: numbers, switches and texts as such, other bytes in hexadecimal.
pub(super) fn as_json(properties: &TableProperties) -> BTreeMap<String, Value> {
    let kinds: BTreeMap<&[u8], Kind> =
        KNOWN.iter().map(|(name, _, kind)| (name.as_bytes(), *kind)).collect();
    let json = |(name, value): (&Vec<u8>, &Vec<u8>)| {
        let kind = kinds.get(&name[..]).copied().unwrap_or(Bytes);
        (Form::Escaped.text(name), kind.json(value))
    };
    properties.encode().iter().map(json).collect()
}

impl Kind {
    fn number(self, bytes: &[u8]) -> Option<u64> {
        match self {
            Count | Size | Time | Number | Family | Flag => Cursor::new(bytes).varint64(),
            Fixed | IndexType => match bytes.len() {
                4 => Cursor::new(bytes).fixed32().map(u64::from),
                _ => Cursor::new(bytes).fixed64(),
            },
            Digit | Text | Bytes => None,
        }
    }

    fn words(self, bytes: &[u8]) -> String {
        let number = self.number(bytes).unwrap_or_default();
        match self {
            Count => units::count(number),
            Size => units::exact_size(number),
            Time if number == 0 => "unknown".to_owned(),
            Time => units::time(number),
            Family if number == UNKNOWN_COLUMN_FAMILY => "none".to_owned(),
            Number | Fixed | Family => number.to_string(),
            Flag => yes_or_no(number != 0),
            Digit => yes_or_no(bytes == b"1"),
            IndexType => index_type_name(number),
            Text if matches!(bytes, b"" | b"nullptr" | b"[]") => "none".to_owned(),
            Text => Form::Escaped.text(bytes),
            Bytes => Form::Hex.text(bytes),
        }
    }

    fn json(self, bytes: &[u8]) -> Value {
        match self {
            Flag => Value::Bool(self.number(bytes).is_some_and(|number| number != 0)),
            Digit => Value::Bool(bytes == b"1"),
            Text => Value::String(String::from_utf8_lossy(bytes).into_owned()),
            Bytes => Value::String(Form::Hex.text(bytes)),
            _ => self.number(bytes).map_or(Value::Null, Value::from),
        }
    }
}

/// An index type by its code.
pub(super) fn index_type_name(code: u64) -> String {
    match code {
        0 => "binary search".to_owned(),
        1 => "hash search".to_owned(),
        2 => "two-level".to_owned(),
        3 => "binary search with first keys".to_owned(),
        other => format!("unknown ({other})"),
    }
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every property that the library knows, each with some value.
    fn all() -> TableProperties {
        let mut properties = TableProperties::default();
        let names = KNOWN.iter().map(|(name, _, kind)| {
            let value: &[u8] = match kind {
                Fixed if name.ends_with("seqno") => &[9, 0, 0, 0, 0, 0, 0, 0],
                Fixed | IndexType => &[2, 0, 0, 0],
                Digit => b"1",
                Text => b"text",
                _ => &[7],
            };
            (name.as_bytes(), value)
        });
        properties.user_collected = TableProperties::decode(names).encode();
        properties
    }

    #[test]
    fn each_known_property_is_read_by_the_library_in_the_same_encoding() {
        let entries = all().user_collected;
        let read = TableProperties::decode(entries.iter().map(|(n, v)| (&n[..], &v[..])));
        assert_eq!(read.malformed, []);
        assert_eq!(read.user_collected, BTreeMap::new());
        assert_eq!(entries.len(), KNOWN.len());
        assert_eq!(in_words(&read).len(), KNOWN.len());
    }

    #[test]
    fn values_have_units_and_words() {
        assert_eq!(Size.words(&[0x80, 0x50]), "10.0 KiB (10,240 bytes)");
        assert_eq!(Time.words(&[0]), "unknown");
        assert_eq!(Family.words(&[0xff, 0xff, 0xff, 0xff, 7]), "none");
        assert_eq!(Digit.words(b"0"), "no");
        assert_eq!(IndexType.words(&[2, 0, 0, 0]), "two-level");
        assert_eq!(Fixed.json(&[9, 0, 0, 0, 0, 0, 0, 0]), Value::from(9));
        assert_eq!(Text.json(b"a"), Value::from("a"));
    }

    #[test]
    fn what_users_collected_comes_last_and_is_escaped() {
        let mut properties = TableProperties { num_entries: Some(1), ..Default::default() };
        properties.user_collected.insert(b"a\n".to_vec(), b"\0".to_vec());
        let expected = [("entries", "1"), (r"a\n", r#""\x00""#)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(in_words(&properties), expected);
    }
}
