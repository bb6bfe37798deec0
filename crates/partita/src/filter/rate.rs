//! Rates of false positives: theory, with the corrections that experiments ask for.

/// A Bloom filter confined to lines of `line_len` bytes.
///
/// The lines' loads spread around the mean; the rate is the mean of those one standard deviation above and below.
/// Ribbon filters are sized by this value, so its operations and their order are those of RocksDB.
pub(super) fn local_bloom(bits_per_key: f64, probes: u8, line_len: usize) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let line_bits = 8.0 * line_len as f64;
    let keys = line_bits / bits_per_key;
    let deviation = keys.sqrt();
    let crowded = bloom(line_bits / (keys + deviation), probes);
    let uncrowded = bloom(line_bits / (keys - deviation), probes);
    (crowded + uncrowded) / 2.0
}

/// The textbook rate: every probe finds a bit that some key has set.
fn bloom(bits_per_key: f64, probes: u8) -> f64 {
    let probes = f64::from(probes);
    (1.0 - (-probes / bits_per_key).exp()).powf(probes)
}

/// The same for legacy filters, whose probes are not independent; the correction was fitted by RocksDB's authors.
pub(super) fn legacy_bloom(bits_per_key: f64, probes: u8, line_len: usize) -> f64 {
    local_bloom(bits_per_key, probes, line_len) + 0.1 / (bits_per_key * 0.75 + 22.0)
}

/// A new key has the hash of one of `keys` others.
pub(super) fn collision(keys: usize, hash_bits: u32) -> f64 {
    let expected = keys as f64 * 0.5_f64.powf(f64::from(hash_bits));
    -(-expected).exp_m1()
}

/// Either of two independent events happens.
pub(super) fn either(a: f64, b: f64) -> f64 {
    a + b - a * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_rates_come_out() {
        // From RocksDB's documentation of its filters: 0.957 % measured, 1.138 % for legacy.
        assert!((local_bloom(10.0, 6, 64) - 0.0095).abs() < 0.0002);
        assert!((legacy_bloom(10.0, 6, 64) - 0.0128).abs() < 0.001);
        assert!((collision(1 << 30, 32) - 0.2212).abs() < 0.001);
        assert!((collision(1000, 64) / 5.42e-17 - 1.0).abs() < 0.01);
        assert!((either(0.5, 0.5) - 0.75).abs() < 1e-12);
    }
}
