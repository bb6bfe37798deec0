//! Options as text: filter policies, compression types, names of prefix extractors.
//!
//! What is accepted is printed in a form that is accepted as the same.

use partita::filter::FilterPolicy;
use partita::key::PrefixExtractor;
use partita::util::compression::CompressionType;

use crate::meter;

/// Parses the bytes as each of them.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    // An error quotes the text, where a control character takes up to ten.
    let limit = 64 * text.len() + 8192;
    if let Ok(Some(policy)) = meter::within(limit, || FilterPolicy::parse(text)) {
        let printed = policy.to_string();
        let again = FilterPolicy::parse(&printed);
        let again = again.unwrap_or_else(|error| panic!("{text:?} prints {printed:?}: {error}"));
        let again = again.unwrap_or_else(|| panic!("{text:?} prints {printed:?}: none"));
        assert_eq!(again.to_string(), printed, "{text:?}");
    }
    if let Ok(kind) = meter::within(limit, || text.parse::<CompressionType>()) {
        for name in [kind.as_str(), kind.options_name()] {
            assert_eq!(name.parse::<CompressionType>().ok(), Some(kind));
        }
    }
    if let Ok(kind) = meter::within(limit, || CompressionType::from_property_name(text)) {
        assert_eq!(CompressionType::from_property_name(kind.property_name()).ok(), Some(kind));
    }
    if let Some(extractor) = meter::within(limit, || PrefixExtractor::builtin(text)) {
        assert_eq!(extractor.name(), text);
        assert!(extractor.prefix(bytes).is_none_or(|prefix| bytes.starts_with(prefix)));
    }
}

/// Every form that RocksDB writes, and some that it refuses.
pub fn seeds() -> Vec<Vec<u8>> {
    [
        "nullptr",
        "bloomfilter:10:false",
        "rocksdb.BloomFilter:9.5:true",
        "ribbonfilter:10:-1",
        "{id=ribbonfilter:10;bloom_before_level=3;}",
        "rocksdb.BuiltinBloomFilter",
        "bloomfilter:1e300:false",
        "kZSTD",
        "lz4hc",
        "ZSTDNotFinal",
        "rocksdb.FixedPrefix.8",
        "rocksdb.CappedPrefix.18446744073709551615",
        "rocksdb.Noop",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
