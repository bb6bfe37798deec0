//! A survey maps a table as the reader does, and goes on behind damage.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use partita::io::{MemoryFile, RandomAccessFile};
use partita::table::{
    BlockHandle, BlockInfo, BlockRole, ReadContext, ReaderOptions, SurveyedBlock, TableReader,
    TableSurvey, verify_table,
};
use partita::{Error, Result};
use partita_testkit::golden;

fn surveyed(path: &Path, bytes: Vec<u8>) -> (TableSurvey, Vec<SurveyedBlock>, Vec<Error>) {
    let survey = TableSurvey::open(Arc::new(MemoryFile::new(path, bytes))).unwrap();
    let (mut blocks, mut errors) = (Vec::new(), Vec::new());
    survey.visit_blocks(&mut |block: Result<SurveyedBlock>| match block {
        Ok(block) => blocks.push(block),
        Err(error) => errors.push(error),
    });
    (survey, blocks, errors)
}

#[test]
fn a_survey_finds_the_blocks_that_the_reader_lists_and_their_lengths() {
    for table in golden::tables() {
        let bytes = fs::read(table.path()).unwrap();
        let (survey, blocks, errors) = surveyed(&table.path(), bytes.clone());
        assert!(errors.is_empty(), "{}: {errors:?}", table.name());
        let mut found: Vec<BlockInfo> = blocks
            .iter()
            .map(|block| BlockInfo { role: block.role, handle: block.handle })
            .collect();
        found.sort_by_key(|block| block.handle.offset);

        let ctx = &mut ReadContext::default();
        let file = Arc::new(MemoryFile::new(table.path(), bytes));
        let reader = Arc::new(TableReader::open(file, &ReaderOptions::default(), ctx).unwrap());
        assert_eq!(found, reader.blocks(ctx).unwrap(), "{}", table.name());

        // Without the data it finds the same.
        let mut metadata = Vec::new();
        survey.visit_metadata(&mut |block| metadata.push(block.unwrap()));
        let not_data: Vec<SurveyedBlock> =
            blocks.iter().filter(|block| block.role != BlockRole::Data).copied().collect();
        assert_eq!(metadata, not_data, "{}", table.name());

        // What data blocks claim to be before compression is what they are.
        let lengths = blocks.iter().filter(|block| block.role == BlockRole::Data);
        let claimed: Option<u64> = lengths.map(|block| block.uncompressed_len).sum();
        let walked = walk(&reader);
        if let Some(claimed) = claimed {
            assert_eq!(claimed, walked.bytes_decompressed[BlockRole::Data], "{}", table.name());
        } else {
            // Only these two do not tell.
            assert!(["fv1-kBZip2Compression", "fv1-kZlibCompression"].contains(&table.name()));
        }

        let sample = survey.sample_data().unwrap();
        let entries = table.entries();
        let user_key = |key: &[u8]| key[..key.len() - 8].to_vec();
        assert_eq!(
            sample.map(|sample| (sample.first_user_key, sample.last_user_key)),
            entries.first().zip(entries.last()).map(|(a, b)| (user_key(&a.0), user_key(&b.0))),
            "{}",
            table.name()
        );
    }
}

#[test]
fn an_index_is_walked_with_its_separators_and_a_block_with_its_entries() {
    for table in golden::tables() {
        let (survey, blocks, _) = surveyed(&table.path(), fs::read(table.path()).unwrap());
        let of = |role| blocks.iter().filter(move |block| block.role == role).map(|it| it.handle);
        let (mut data, mut entries) = (Vec::new(), Vec::new());
        survey
            .visit_index(&mut |block| {
                data.push((block.separator.to_vec(), block.handle, block.index));
                ControlFlow::Continue(())
            })
            .unwrap();
        let handles: Vec<BlockHandle> = data.iter().map(|(_, handle, _)| *handle).collect();
        assert_eq!(handles, of(BlockRole::Data).collect::<Vec<_>>(), "{}", table.name());
        for (separator, handle, index) in &data {
            survey
                .visit_entries(*handle, &mut |key, value| {
                    assert!(table.name().contains("reverse") || key.user_key <= &**separator);
                    entries.push((key.user_key.to_vec(), value.to_vec()));
                    ControlFlow::Continue(())
                })
                .unwrap();
            let mut roles = of(BlockRole::Index).chain(of(BlockRole::IndexPartition));
            assert!(roles.any(|named| named == *index), "{}", table.name());
        }
        let rows = table.entries();
        let user_key = |key: &[u8]| key[..key.len() - 8].to_vec();
        let expected: Vec<_> =
            rows.iter().map(|(key, value)| (user_key(key), value.clone())).collect();
        assert_eq!(entries, expected, "{}", table.name());

        let partitions = survey.filter_partitions().unwrap();
        let handles: Vec<BlockHandle> = partitions.iter().map(|(_, handle)| *handle).collect();
        assert_eq!(handles, of(BlockRole::FilterPartition).collect::<Vec<_>>(), "{}", table.name());

        // A walk that is ended goes no further.
        let mut seen = 0;
        survey
            .visit_index(&mut |_| {
                seen += 1;
                ControlFlow::Break(())
            })
            .unwrap();
        assert_eq!(seen, data.len().min(1));
    }
}

/// Reads all data blocks once and returns what that cost.
fn walk(table: &Arc<TableReader>) -> ReadContext {
    use partita::iter::InternalIterator as _;
    let mut iter = table.iter();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        iter.next().unwrap();
    }
    iter.context().clone()
}

#[test]
fn a_damaged_index_partition_is_reported_and_the_others_are_mapped() {
    let db = golden::get("locations-partitioned");
    let path = &db.sst_paths()[0];
    let bytes = fs::read(path).unwrap();
    let (_, whole, _) = surveyed(path, bytes.clone());
    let partition = whole.iter().find(|block| block.role == BlockRole::IndexPartition).unwrap();
    let mut damaged = bytes;
    damaged[partition.handle.offset as usize] ^= 1;
    let (_, blocks, errors) = surveyed(path, damaged);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].part(), Some("index partition"));
    assert_eq!(errors[0].offset(), Some(partition.handle.offset));
    let data = |blocks: &[SurveyedBlock]| {
        blocks.iter().filter(|block| block.role == BlockRole::Data).count()
    };
    assert!(data(&blocks) > 0 && data(&blocks) < data(&whole));
    assert!(blocks.iter().any(|block| block.role == BlockRole::FilterPartition));
}

#[test]
fn a_table_in_an_unknown_order_is_mapped() {
    let db = golden::get("foreign-comparator");
    let path = &db.sst_paths()[0];
    let (survey, blocks, errors) = surveyed(path, fs::read(path).unwrap());
    assert!(errors.is_empty() && blocks.len() > 5);
    let sample = survey.sample_data().unwrap().unwrap();
    assert!(sample.first_user_key > sample.last_user_key, "the order is a reverse one");
}

/// A table of version 5 without checksums whose metaindex names one block under many names.
#[test]
fn a_block_that_is_named_again_is_damage() {
    let table = golden::table("fv5-kNoChecksum");
    let mut bytes = fs::read(table.path()).unwrap();
    let (survey, ..) = surveyed(&table.path(), bytes.clone());
    // The filter's handle in the metaindex is made that of the properties: equal in length, so nothing moves.
    let encoded = |name: &str| {
        let mut out = Vec::new();
        survey.metaindex().get(name).unwrap().encode_to(&mut out);
        out
    };
    let filter = encoded("fullfilter.rocksdb.BuiltinBloomFilter");
    let properties = encoded("rocksdb.properties");
    assert_eq!(filter.len(), properties.len());
    let at = bytes.windows(filter.len()).rposition(|window| window == filter).unwrap();
    bytes[at..at + filter.len()].copy_from_slice(&properties);

    let (_, _, errors) = surveyed(&table.path(), bytes.clone());
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].message().contains("bytes in common"), "{errors:?}");
    let file: Arc<dyn RandomAccessFile> = Arc::new(MemoryFile::new(table.path(), bytes));
    let report = verify_table(&file, &ReaderOptions::default(), &mut |_| {});
    let found = report.damages.iter().any(|damage| damage.message().contains("bytes in common"));
    assert!(found, "{report:?}");
    let ctx = &mut ReadContext::default();
    let reader = TableReader::open(file, &ReaderOptions::default(), ctx).unwrap();
    assert!(reader.blocks(ctx).unwrap_err().message().contains("bytes in common"));
}
