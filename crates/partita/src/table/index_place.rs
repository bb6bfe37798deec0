use std::sync::OnceLock;

use super::fetch::BlockFetcher;
use super::footer::Footer;
use super::handle::BlockHandle;
use super::metaindex::{self, Metaindex};
use super::open::read_footer;
use crate::error::{Error, Result};

/// Where the index of a table is.
///
/// Before format version 6 the footer says so, and no checksum covers it: a bit that was turned on its way from the disk shows
/// only in what it leads to. The footer is looked at once more then, so that what passed by does not stay.
#[derive(Debug)]
pub(super) struct IndexPlace {
    found: BlockHandle,
    /// What the footer said when it was read again.
    again: OnceLock<BlockHandle>,
}

impl IndexPlace {
    pub(super) fn new(footer: &Footer, metaindex: &Metaindex) -> Result<Self> {
        let found = footer.index.or_else(|| metaindex.get(metaindex::INDEX)).ok_or_else(|| {
            Error::corruption("no index block is listed").in_part("metaindex block")
        })?;
        Ok(Self { found, again: OnceLock::new() })
    }

    #[inline]
    pub(super) fn handle(&self) -> BlockHandle {
        *self.again.get().unwrap_or(&self.found)
    }

    /// Looks again, since there is no index where it was said to be. Whether it is said to be elsewhere now.
    pub(super) fn look_again(&self, fetcher: &BlockFetcher) -> bool {
        let footer = read_footer(fetcher.file());
        match footer.ok().and_then(|footer| footer.index) {
            Some(handle) if handle != self.handle() => self.again.set(handle).is_ok(),
            _ => false,
        }
    }
}
