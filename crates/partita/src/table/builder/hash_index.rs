use crate::util::hash::hash32;

/// Seed of the hash from user key to bucket.
const SEED: u32 = 397;
/// Bucket without a key.
const NO_ENTRY: u8 = 255;
/// Bucket with keys of several restart intervals.
const COLLISION: u8 = 254;
/// Greatest restart index that a bucket can hold.
const RESTART_MAX: usize = 253;

/// Collects a data block's keys for the small hash table at its end.
///
/// ```text
/// bucket u8 * n | n u16     bucket: 255 no key, 254 several restart intervals, else the index of the interval
/// n = keys / util_ratio rounded down, made odd;  bucket of a key = Hash32(user key, 397) mod n
/// ```
pub(super) struct HashIndexBuilder {
    /// Hash and restart index of each key.
    keys: Vec<(u32, u8)>,
    buckets_per_key: f64,
    /// A running sum, not a product: rounding is RocksDB's.
    buckets: f64,
    /// False once a restart index is too great: the block then gets no hash table.
    fits: bool,
}

impl HashIndexBuilder {
    pub(super) fn new(util_ratio: f64) -> Self {
        Self { keys: Vec::new(), buckets_per_key: 1.0 / util_ratio, buckets: 0.0, fits: true }
    }

    pub(super) fn reset(&mut self) {
        self.keys.clear();
        self.buckets = 0.0;
        self.fits = true;
    }

    pub(super) fn fits(&self) -> bool {
        self.fits
    }

    pub(super) fn add(&mut self, user_key: &[u8], restart_index: usize) {
        if restart_index > RESTART_MAX {
            self.fits = false;
        }
        if self.fits {
            self.keys.push((hash32(user_key, SEED), restart_index as u8));
            self.buckets += self.buckets_per_key;
        }
    }

    fn bucket_count(&self) -> u16 {
        (self.buckets as u16) | 1
    }

    /// Bytes that [`HashIndexBuilder::append_to`] adds.
    pub(super) fn len(&self) -> usize {
        if self.fits { size_of::<u16>() + usize::from(self.bucket_count()) } else { 0 }
    }

    /// Appends buckets and their number.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        let count = self.bucket_count();
        let start = out.len();
        out.resize(start + usize::from(count), NO_ENTRY);
        let buckets = &mut out[start..];
        for &(hash, restart_index) in &self.keys {
            let bucket = &mut buckets[(hash % u32::from(count)) as usize];
            *bucket = match *bucket {
                NO_ENTRY => restart_index,
                same if same == restart_index => same,
                _ => COLLISION,
            };
        }
        out.extend_from_slice(&count.to_le_bytes());
    }
}
