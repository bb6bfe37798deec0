//! What the benchmark asks of an engine's filters.

/// A filter implementation with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// FastLocalBloom, format version 5 and later.
    Bloom,
    /// Standard128Ribbon.
    Ribbon,
    /// Legacy Bloom, before format version 5.
    LegacyBloom,
}

/// Which loop runs over the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// Reads the queries and asks nothing: what is subtracted.
    Dry,
    /// The same, and hashes the keys.
    DryWithHash,
    /// Asks the filter bits, one key at a time.
    Bare,
    /// Asks the filter bits with a batch of keys for one filter.
    BareBatch,
    /// Asks through the object that a table reader holds, one key at a time.
    Reader,
}

/// Queries as all contenders get them.
#[derive(Clone, Debug)]
pub struct Queries {
    /// The filter to ask, one for each batch.
    pub filters: Vec<u32>,
    /// The keys, one after the other.
    pub keys: Vec<u8>,
    /// Bytes of each key.
    pub key_len: usize,
    /// Keys for each entry of `filters`; 1 but for [`Loop::BareBatch`].
    pub batch_len: usize,
}

impl Queries {
    /// How many keys.
    pub fn len(&self) -> usize {
        self.keys.len() / self.key_len
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// What one loop took.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Nanoseconds for all queries.
    pub nanos: u64,
    /// Positive answers; anything for dry loops.
    pub positives: u64,
}

/// One engine's filters, all of one kind and setting.
pub trait Contender {
    /// The engine's name, as in the table of results.
    fn name(&self) -> &'static str;

    /// Builds the next filter of `keys`, each `key_len` bytes, and keeps it. Returns the nanoseconds from the first
    /// key to the finished block, and the block.
    fn build(&mut self, keys: &[u8], key_len: usize) -> (u64, Vec<u8>);

    /// Runs one loop over the queries.
    fn run(&mut self, which: Loop, queries: &Queries) -> Timing;
}
