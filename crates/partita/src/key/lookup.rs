use super::{InternalKey, KeyHash, SeqNo};

/// What a point lookup asks for: the newest entry of a user key that is visible at a sequence number.
///
/// The key's filter hash is computed once, here, for all tables that are asked.
#[derive(Clone, Copy, Debug)]
pub struct LookupKey<'k> {
    user_key: &'k [u8],
    seqno: SeqNo,
    hash: KeyHash<'k>,
}

impl<'k> LookupKey<'k> {
    /// The lookup of `user_key` as of `seqno`; [`SeqNo::MAX`] sees everything.
    pub fn new(user_key: &'k [u8], seqno: SeqNo) -> Self {
        Self { user_key, seqno, hash: KeyHash::new(user_key) }
    }

    /// The user key.
    pub fn user_key(&self) -> &'k [u8] {
        self.user_key
    }

    /// The sequence number up to which entries are visible.
    pub fn seqno(&self) -> SeqNo {
        self.seqno
    }

    /// The user key's filter hash.
    pub fn hash(&self) -> &KeyHash<'k> {
        &self.hash
    }

    /// The internal key to seek to.
    pub fn seek_key(&self) -> InternalKey<'k> {
        InternalKey::for_seek(self.user_key, self.seqno)
    }
}
