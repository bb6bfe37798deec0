//! Partita's figures in the words of the benchmarks.

use partita::cache::{Cache, Role};
use partita::table::{BlockRole, ReadContext};

use crate::lookups::{Counters, PerRole};

/// What is charged to a budget.
pub(crate) fn charged(cache: &Cache) -> PerRole<u64> {
    let stats = cache.stats();
    let charged = |role| {
        let role = stats.role(role);
        role.bytes + role.waiting_bytes
    };
    let known = PerRole {
        data: charged(Role::Data),
        index: charged(Role::IndexPiece),
        filter: charged(Role::FilterPiece),
        other: 0,
    };
    PerRole { other: stats.usage_bytes().saturating_sub(known.total()), ..known }
}

/// What reads have cost.
pub(crate) fn counters(ctx: &ReadContext) -> Counters {
    let by_role = |counts: &partita::table::PerRole<u64>| PerRole {
        data: counts[BlockRole::Data],
        index: counts[BlockRole::Index] + counts[BlockRole::IndexPartition],
        filter: counts[BlockRole::Filter] + counts[BlockRole::FilterPartition],
        other: counts[BlockRole::IndexTopLevel] + counts[BlockRole::FilterTopLevel],
    };
    Counters {
        reads: by_role(&ctx.blocks_read),
        bytes: by_role(&ctx.bytes_read),
        hits: by_role(&ctx.cache_hits),
    }
}
