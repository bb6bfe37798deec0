//! Which instructions the filters use.
//!
//! Every path gives the same bits. The best one that the processor has is found once; a filter remembers it, so a
//! query pays one predictable branch.

use std::fmt;
use std::sync::OnceLock;

/// A set of instructions that this processor has.
///
/// Values exist for available paths only, which is what makes calling them sound.
///
/// ```
/// use partita::filter::FilterImpl;
///
/// assert!(FilterImpl::available().contains(&FilterImpl::best()));
/// assert_eq!(FilterImpl::by_name("plain"), Some(FilterImpl::plain()));
/// assert_eq!(FilterImpl::by_name("quantum"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FilterImpl(Path);

/// The paths; only `Plain` exists everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Path {
    /// Portable code.
    Plain,
    /// SSE4.2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Sse42,
    /// AVX2, BMI1, BMI2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ, VL and VPOPCNTDQ, on top of the above.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl FilterImpl {
    /// The fastest path that this processor has.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<FilterImpl> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().pop().unwrap_or(Self(Path::Plain)))
    }

    /// Portable code.
    pub const fn plain() -> Self {
        Self(Path::Plain)
    }

    /// All paths that this processor has, the fastest last.
    pub fn available() -> Vec<Self> {
        let mut paths = vec![Self(Path::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            let popcnt = is_x86_feature_detected!("popcnt");
            if popcnt && is_x86_feature_detected!("sse4.2") {
                paths.push(Self(Path::Sse42));
            }
            let avx2 = popcnt
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            if avx2 {
                paths.push(Self(Path::Avx2));
            }
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq");
            if avx512 {
                paths.push(Self(Path::Avx512));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            paths.push(Self(Path::Neon));
        }
        paths
    }

    /// The path called `name` (`plain`, `sse4.2`, `avx2`, `avx512`, `neon`), if this processor has it.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::available().into_iter().find(|path| path.name() == name)
    }

    /// The path's name.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Path::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Path::Sse42 => "sse4.2",
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Path::Neon => "neon",
        }
    }

    /// What to match on.
    #[inline]
    pub(super) const fn path(self) -> Path {
        self.0
    }
}

impl fmt::Debug for FilterImpl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for FilterImpl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
