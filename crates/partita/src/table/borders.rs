use super::{ReadContext, TableReader};
use crate::error::Result;

impl TableReader {
    /// User keys that cut the table into parts of about the same number of bytes, ascending: the last key of each part but
    /// the last, or a key between it and the next.
    ///
    /// * `parts_max`: parts at most. There are no more than the index has pieces.
    /// * Cost: the top level of the index, which stays open with the table.
    pub(crate) fn borders(&self, parts_max: usize, ctx: &mut ReadContext) -> Result<Vec<&[u8]>> {
        let pieces = self.index(ctx)?.partitions();
        let parts = parts_max.clamp(1, pieces.len().max(1));
        let border = |part: usize| pieces.separator(part * pieces.len() / parts - 1);
        Ok((1..parts).map(border).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::io::MemoryWriter;
    use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};
    use crate::options::TableOptions;
    use crate::table::{ReaderOptions, TableBuilder, TableContext};

    #[test]
    fn parts_are_of_about_the_same_size() {
        let file = MemoryWriter::new("1.sst");
        let options =
            TableOptions { block_size: 100, metadata_block_size: 100, ..TableOptions::default() };
        let context = TableContext::default();
        let mut builder =
            TableBuilder::new(Box::new(file.clone()), options, KeyOrder::Bytewise, context)
                .unwrap();
        for n in 0..1000u32 {
            let key = InternalKey::new(&n.to_be_bytes(), SeqNo::ZERO, ValueType::Value).encode();
            builder.add(&key, &[7; 20]).unwrap();
        }
        builder.finish().unwrap();
        let (file, ctx) = (Arc::new(file.into_file()), &mut ReadContext::default());
        let table = TableReader::open(file, &ReaderOptions::default(), ctx).unwrap();
        let borders = table.borders(4, ctx).unwrap();
        let numbers: Vec<u32> =
            borders.iter().map(|key| u32::from_be_bytes((*key).try_into().unwrap())).collect();
        assert_eq!(numbers.len(), 3);
        for (number, wanted) in numbers.iter().zip([250u32, 500, 750]) {
            assert!(number.abs_diff(wanted) < 30, "{numbers:?}");
        }
        assert_eq!(table.borders(1, ctx).unwrap(), [b""; 0]);
        assert!(table.borders(1_000_000, ctx).unwrap().len() < 1000);
    }
}
