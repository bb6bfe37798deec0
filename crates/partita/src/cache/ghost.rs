//! What was evicted lately: 32 bits for each object.
//!
//! A table with one place for each fingerprint; a newer one takes the place of an older one. So what is remembered
//! fades with age, at about as many evictions as the table has places. A false memory costs nothing but a wrong guess.

/// Fingerprints of evicted objects.
#[derive(Debug, Default)]
pub(super) struct Ghost {
    /// 0 for none.
    places: Vec<u32>,
}

impl Ghost {
    /// Makes room to remember about `objects`.
    pub(super) fn fit(&mut self, objects: usize) {
        if objects <= self.places.len() {
            return;
        }
        let old = std::mem::replace(&mut self.places, vec![0; objects.next_power_of_two().max(16)]);
        for print in old.into_iter().filter(|print| *print != 0) {
            let place = self.place(print);
            self.places[place] = print;
        }
    }

    /// Forgets all and gives the memory back.
    pub(super) fn clear(&mut self) {
        self.places = Vec::new();
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
    }

    /// Remembers the object with this hash.
    pub(super) fn remember(&mut self, hash: u64) {
        if !self.places.is_empty() {
            let print = fingerprint(hash);
            let place = self.place(print);
            self.places[place] = print;
        }
    }

    /// Whether the object is remembered; then it is forgotten.
    pub(super) fn recall(&mut self, hash: u64) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let print = fingerprint(hash);
        let place = self.place(print);
        let known = self.places[place] == print;
        if known {
            self.places[place] = 0;
        }
        known
    }

    fn place(&self, print: u32) -> usize {
        // Fibonacci hashing: the high bits of the product depend on all bits.
        let spread = u64::from(print).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> 32) as usize & (self.places.len() - 1)
    }
}

fn fingerprint(hash: u64) -> u32 {
    (hash as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_recalled_once_also_after_growth() {
        let mut ghost = Ghost::default();
        ghost.remember(7);
        assert!(!ghost.recall(7), "without room nothing is remembered");
        ghost.fit(100);
        ghost.remember(7);
        ghost.remember(0);
        ghost.fit(1000);
        assert!(ghost.recall(7) && ghost.recall(0));
        assert!(!ghost.recall(7) && !ghost.recall(8));
        ghost.clear();
        assert_eq!(ghost.allocated_bytes(), 0);
    }
}
