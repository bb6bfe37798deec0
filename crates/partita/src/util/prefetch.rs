//! Hints to the processor about memory that is needed soon.
//!
//! # Safety
//!
//! A prefetch is no access: any address may be named, and nothing that the program sees changes.

/// Asks for the cache line at `bytes[at]`, if it exists; a hint without other effect.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    if let Some(byte) = bytes.get(at) {
        prefetch_address(byte);
    }
}

/// Asks for the cache line at `address`; a hint without other effect.
#[inline]
pub(crate) fn prefetch_address(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is defined and changes no state that the program sees; SSE is in the baseline.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM of any address is defined and changes no state that the program sees.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
