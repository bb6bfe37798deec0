//! FastLocalBloom: all probes of a key fall into one 64-byte line.
//!
//! ```text
//! | line 0 | line 1 | ... | line n-1 || 0xff | 0x00 | probes | 0x0000 |
//! |<------- 64 bytes each --------->||  u8  |  u8  |   u8   | u16 LE |
//!
//! hash = h2:h1 (32 bits each);  line = h1 * n / 2^32
//! probe i: g = h2 * 0x9e3779b9^i (mod 2^32);  bit = g >> 23, i.e. byte bit / 8, bit bit % 8 of the line
//! ```
//!
//! The siblings hold one path each: `plain` always, `avx2` on x86-64, `neon` on ARM. Kernels for SSE4 and AVX-512 were
//! tried, too: without a permutation across the line SSE loses to plain code, and AVX-512's one permutation of the whole
//! line takes longer than AVX2's two and a blend (Zen 4). A kernel finds the line itself, because nothing of it can be
//! inlined into callers that are compiled for any processor: one call does it all.
//! Format: docs/format/filter.md, section 4.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
pub(super) mod sizing;

use super::KeyHash;
use super::lines::{LINE_LEN, Line};
use super::path::{FilterImpl, Path};

/// Marker of new Bloom filters in the first metadata byte.
pub(super) const MARKER: u8 = 0xff;

/// The step between probes: 2^32 divided by the golden ratio.
const STEP: u32 = 0x9e37_79b9;

/// Powers of `STEP`: what a lane multiplies the hash by to make its probe at once.
const fn step_powers<const N: usize>() -> [u32; N] {
    let mut powers = [1; N];
    let mut i = 1;
    while i < N {
        powers[i] = STEP.wrapping_mul(powers[i - 1]);
        i += 1;
    }
    powers
}

/// Where a filter's probes fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    lines: u32,
    probes: u8,
}

impl Geometry {
    /// A filter of `len` bytes of lines; `None` if `metadata` is reserved or there is no line.
    pub(super) fn parse(len: usize, metadata: [u8; 5]) -> Option<Self> {
        let [_, sub_implementation, block_and_probes, rest @ ..] = metadata;
        let (log2_lines, probes) = (block_and_probes >> 5, block_and_probes & 31);
        let lines = u32::try_from(len / LINE_LEN).ok()?;
        let known = sub_implementation == 0
            && log2_lines == 0
            && (1..=30).contains(&probes)
            && rest == [0, 0]
            && lines > 0;
        known.then_some(Self { lines, probes })
    }

    /// For a filter to be built: `lines` lines, at most 2^26.
    fn new(lines: u32, probes: u8) -> Self {
        Self { lines, probes }
    }

    /// Probes per key.
    pub(super) fn probes(self) -> u8 {
        self.probes
    }

    /// Number of lines.
    pub(super) fn lines(self) -> usize {
        self.lines as usize
    }

    /// The line of a key; below the number of lines.
    #[inline]
    pub(super) fn line_of(self, hash: u64) -> usize {
        (((hash & 0xffff_ffff) * u64::from(self.lines)) >> 32) as usize
    }

    /// Whether all the probes of a key are set in its line.
    #[inline]
    pub(super) fn may_contain(self, path: FilterImpl, hash: u64, line: &[u8; LINE_LEN]) -> bool {
        let (hash, probes) = ((hash >> 32) as u32, self.probes);
        match path.path() {
            Path::Plain => plain::may_contain(line, hash, probes),
            #[cfg(target_arch = "x86_64")]
            Path::Sse42 => plain::may_contain(line, hash, probes),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `FilterImpl` exists only for instructions that the processor has.
            Path::Avx2 | Path::Avx512 => unsafe { avx2::may_contain(line, hash, probes) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Path::Neon => unsafe { neon::may_contain(line, hash, probes) },
        }
    }
}

impl Geometry {
    /// Whether the filter may hold the key: finds its line and looks at its probes.
    ///
    /// * `lines`: those of the filter.
    #[inline]
    pub(super) fn may_contain_in(self, path: FilterImpl, lines: &[Line], hash: u64) -> bool {
        match path.path() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `FilterImpl` exists only for instructions that the processor has.
            Path::Avx2 | Path::Avx512 => unsafe { avx2::may_contain_in(self, lines, hash) },
            _ => self.may_contain_in_elsewhere(path, lines, hash),
        }
    }

    #[inline(never)]
    fn may_contain_in_elsewhere(self, path: FilterImpl, lines: &[Line], hash: u64) -> bool {
        match lines.get(self.line_of(hash)) {
            Some(line) => self.may_contain(path, hash, &line.0),
            None => true, // not reached: the geometry counts the lines
        }
    }

    /// Answers for many keys: `answers[i]` becomes the answer for `keys[i]`.
    pub(super) fn may_contain_batch(
        self,
        path: FilterImpl,
        lines: &[Line],
        keys: &[KeyHash<'_>],
        answers: &mut [bool],
    ) {
        for key in keys {
            prefetch_line(lines, self.line_of(key.hash64()));
        }
        match path.path() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `FilterImpl` exists only for instructions that the processor has.
            Path::Avx2 | Path::Avx512 => unsafe {
                avx2::may_contain_batch(self, lines, keys, answers);
            },
            _ => {
                for (key, answer) in keys.iter().zip(answers) {
                    let hash = key.hash64();
                    if let Some(line) = lines.get(self.line_of(hash)) {
                        *answer = self.may_contain(path, hash, &line.0);
                    }
                }
            }
        }
    }
}

/// Keys whose lines are on their way from memory while the filter is built.
const ADDS_IN_FLIGHT: usize = 16;

/// Adds keys to zeroed lines and returns the metadata to stand behind them.
///
/// * `lines`: at least one; their number comes from [`sizing::block_len`].
pub(super) fn build(lines: &mut [Line], hashes: &[u64], probes: u8) -> [u8; 5] {
    let geometry = Geometry::new(lines.len() as u32, probes);
    let mut ahead = hashes.iter().skip(ADDS_IN_FLIGHT);
    for &hash in hashes.iter().take(ADDS_IN_FLIGHT) {
        prefetch_line(lines, geometry.line_of(hash));
    }
    for &hash in hashes {
        if let Some(&next) = ahead.next() {
            prefetch_line(lines, geometry.line_of(next));
        }
        plain::add(&mut lines[geometry.line_of(hash)].0, (hash >> 32) as u32, probes);
    }
    [MARKER, 0, probes, 0, 0]
}

#[inline]
fn prefetch_line(lines: &[Line], line: usize) {
    if let Some(line) = lines.get(line) {
        crate::util::prefetch::prefetch(&line.0, 0);
    }
}
