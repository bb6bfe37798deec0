use std::fmt::Write as _;

use partita_store::objects::{KeyInfo, KeyPath, KeyValue, NewKey};
use prost::Message;

use super::plan::Plan;
use crate::lookups::SplitMix;

/// The volume that all keys are in.
pub(super) const VOLUME: &str = "volume";
const OWNER: &str = "metadata-load";
const NOTE: &str = "note";
/// Bytes of a name.
const NAME_LEN_MIN: u64 = 20;
const NAME_LEN_MAX: u64 = 80;
/// Bytes of a block.
const BLOCK_LENGTH: u64 = 256 << 20;

/// Where a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its bucket.
    pub bucket: String,
    /// Its name: two hexadecimal digits, a slash, and more of them, in no order.
    pub key: String,
}

impl Name {
    /// The same with its volume.
    pub fn path(&self) -> KeyPath<'_> {
        KeyPath { volume: VOLUME, bucket: &self.bucket, key: &self.key }
    }
}

impl Plan {
    /// The names of the buckets.
    pub fn bucket_names(&self) -> impl Iterator<Item = String> {
        (0..self.buckets.max(1)).map(bucket_name)
    }

    /// The name of a key; no other has it.
    pub fn name(&self, number: u64) -> Name {
        let mut random = self.random(number, Salt::Name);
        let scrambled = scramble(number ^ self.seed.rotate_left(32));
        let mut key = format!("{:02x}/{:014x}", scrambled >> 56, scrambled & (u64::MAX >> 8));
        let len = NAME_LEN_MIN + random.below(NAME_LEN_MAX - NAME_LEN_MIN + 1);
        append_hex(&mut key, len as usize, &mut random);
        Name { bucket: bucket_name(number % self.buckets.max(1)), key }
    }

    /// Bytes of a key's data.
    pub fn data_size(&self, number: u64) -> u64 {
        self.random(number, Salt::Size).below(BLOCK_LENGTH)
    }

    /// What a key begins with: as much that its row has the length that it is to have.
    pub fn new_key(&self, number: u64) -> NewKey {
        let mut random = self.random(number, Salt::Value);
        let (shortest, longest) = (*self.value_bytes.start(), *self.value_bytes.end());
        let len = shortest + random.below(longest.saturating_sub(shortest) + 1);
        let name = self.name(number);
        let without_note = KeyInfo {
            volume: VOLUME.to_owned(),
            bucket: name.bucket,
            key: name.key,
            owner: OWNER.to_owned(),
            ..KeyInfo::default()
        };
        let others = without_note.encoded_len() as u64 + NUMBERS_LEN;
        let mut value = String::new();
        append_hex(&mut value, len.saturating_sub(others) as usize, &mut random);
        let note = KeyValue { key: NOTE.to_owned(), value };
        NewKey { owner: OWNER.to_owned(), metadata: vec![note], block_length: BLOCK_LENGTH }
    }

    /// Random numbers of a key or a round, for one purpose.
    pub(super) fn random(&self, number: u64, salt: Salt) -> SplitMix {
        SplitMix::new(scramble(number ^ ((salt as u64) << 56)) ^ self.seed)
    }
}

/// What numbers are drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Salt {
    Name,
    Size,
    Value,
    Fate,
    Round,
}

/// Bytes of a row's numbers, of one block and of the note without its text, as they are after some millions of transactions.
const NUMBERS_LEN: u64 = 59;

fn bucket_name(number: u64) -> String {
    format!("bucket{number:04}")
}

/// Appends digits until the text has this length; a longer one is cut off.
fn append_hex(text: &mut String, len: usize, random: &mut SplitMix) {
    while text.len() < len {
        let _ = write!(text, "{:08x}", random.below(1 << 32));
    }
    text.truncate(len);
}

/// Another number for each.
fn scramble(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_distinct_of_varied_length_and_the_same_each_time() {
        let plan = Plan::default();
        let names: Vec<Name> = (0..3000).map(|number| plan.name(number)).collect();
        let distinct: HashSet<&str> = names.iter().map(|name| &*name.key).collect();
        assert_eq!(distinct.len(), names.len());
        let lengths: HashSet<usize> = names.iter().map(|name| name.key.len()).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&20), Some(&80)));
        assert_eq!(plan.name(7), names[7]);
        assert_ne!(Plan { seed: 2, ..plan }.name(7).key, names[7].key);
        // All over the place, not one behind the other.
        let rises = names.windows(2).filter(|pair| pair[0].key < pair[1].key).count();
        assert!((1400..1600).contains(&rises), "{rises}");
    }

    #[test]
    fn rows_are_as_long_as_they_have_to_be() {
        let plan = Plan::default();
        let mut lengths = Vec::new();
        for number in 0..500 {
            let (name, new) = (plan.name(number), plan.new_key(number));
            let id = 40_000_000 + number;
            let block = partita_store::objects::BlockLocation {
                container_id: id / 1000,
                local_id: id,
                length: new.block_length,
            };
            let info = KeyInfo {
                volume: VOLUME.to_owned(),
                bucket: name.bucket,
                key: name.key,
                data_size: plan.data_size(number),
                blocks: vec![block],
                creation_unix_millis: 1_800_000_000_000,
                modification_unix_millis: 1_800_000_000_000,
                object_id: id,
                update_id: id + 1,
                owner: new.owner,
                metadata: new.metadata,
            };
            lengths.push(info.encoded_len());
        }
        let (shortest, longest) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
        assert!(
            (295..320).contains(shortest) && (580..=605).contains(longest),
            "{shortest} {longest}"
        );
    }
}
