//! What lookups cost, and what is told of them.

use partita::table::{BlockRole, ReadContext};

use crate::support::{flush, in_memory, ledger};

#[test]
fn outcomes_are_counted_as_a_bookie_counts_them() {
    let (index, _) = in_memory();
    index.add_location(40_313, 11, 5).unwrap();
    index.get_location(40_313, 11).unwrap();
    assert_eq!(index.get_location(12_345, 1).unwrap(), None);
    index.get_last_entry(40_313).unwrap();
    index.get_last_entry(40_314).unwrap_err();
    let stats = index.stats();
    for operation in [&stats.lookups, &stats.last_entries] {
        assert_eq!(operation.success().count(), 1);
        assert_eq!(operation.failure().count(), 1);
        assert!(operation.success().mean_nanos() > 0.0);
        assert!(operation.success().quantile_nanos(0.5) <= operation.success().max_nanos());
        assert_eq!(operation.failed.count(), 0);
    }
}

#[test]
fn a_last_entry_reads_one_data_block_and_an_absent_ledger_none_of_others() {
    let (index, _) = in_memory();
    for ledger_id in (0..200).step_by(2) {
        index.add_locations(ledger(ledger_id, 1000)).unwrap();
    }
    flush(&index);
    index.compact().unwrap();
    let mut ctx = ReadContext::default();
    for ledger_id in (0..200).step_by(2) {
        assert_eq!(index.get_last_entry_with(ledger_id, &mut ctx).unwrap(), 999);
    }
    let touched = ctx.cache_hits[BlockRole::Data] + ctx.cache_misses[BlockRole::Data];
    assert!(touched <= 105, "{touched} data blocks for 100 lookups");

    // A ledger that would lie inside a block costs that block at most.
    let mut ctx = ReadContext::default();
    for ledger_id in (1..200).step_by(2) {
        index.get_last_entry_with(ledger_id, &mut ctx).unwrap_err();
    }
    let touched = ctx.cache_hits[BlockRole::Data] + ctx.cache_misses[BlockRole::Data];
    assert!(touched <= 100, "{touched} data blocks for 100 lookups");
}
