//! External files for both engines to ingest, as Partita writes them.

use std::ops::Range;
use std::path::Path;

use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::KeyOrder;
use partita::table::{SstFileWriter, TableContext};
use partita_compat_rocks::history::key;
use partita_compat_rocks::setups::Setup;

use crate::random::Random;

/// What external files are like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Their keys are among those of these numbers.
    pub within: Range<usize>,
    /// Most have keys of no more numbers in a row than this.
    pub few: usize,
    /// One in four may have as many.
    pub many: usize,
    /// Whether a tombstone may end at the key where another file starts.
    pub may_abut: bool,
}

/// Writes an external file over a stretch of keys: puts, deletions, operands, now and then a range tombstone.
///
/// # Panics
/// If that fails.
pub fn write(path: &Path, setup: &Setup, random: &mut Random, shape: &Shape) {
    let options = setup.our_family_options();
    let order = match options.comparator.id() {
        Some(name) if name.contains("Reverse") => KeyOrder::ReverseBytewise,
        _ => KeyOrder::Bytewise,
    };
    let file = DiskFileSystem.create(path).expect("it can be created");
    let context = TableContext {
        merge_operator_name: options.merge_operator.id().map(str::to_owned),
        ..TableContext::default()
    };
    let writer = SstFileWriter::new(file, options.table, order.clone(), context);
    let mut writer = writer.expect("the options are sound");
    let most = if random.below(4) == 0 { shape.many } else { shape.few };
    let len = 1 + random.below(most);
    let start = shape.within.start + random.below(shape.within.len() - len);
    let mut keys: Vec<Vec<u8>> =
        (start..start + len).step_by(1 + random.below(3)).map(key).collect();
    keys.sort_by(|a, b| order.compare(a, b));
    keys.dedup();
    for key in &keys {
        match random.below(8) {
            0 => writer.delete(key),
            1 => writer.merge(key, b"operand"),
            _ => writer.put(key, &random.bytes(60)),
        }
        .expect("keys ascend");
    }
    if random.below(4) == 0 {
        let (mut from, mut to) = (key(start + len / 2), key(start + len + 4));
        if !shape.may_abut {
            to.push(b'~');
        }
        if order.compare(&from, &to).is_gt() {
            std::mem::swap(&mut from, &mut to);
        }
        if from != to {
            writer.delete_range(&from, &to).expect("the range is one");
        }
    }
    writer.finish().expect("it can be finished");
}
