//! The C library's allocator, which keeps what was freed: between pieces that are in use, and for each of its arenas.
//!
//! What a process has resident says little of what it uses: the end of an arena is only ever given back for the main one.

/// Bytes of the process that are in use, of Rust code's and of C libraries'; nothing where the allocator does not tell.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn allocated_bytes() -> Option<u64> {
    // SAFETY: it takes the allocator's own locks, and touches nothing that is in use.
    let told = unsafe { libc::mallinfo2() };
    // Small pieces that were freed wait in lists of their own, and count as used before they are looked through.
    Some((told.uordblks + told.hblkhd) as u64)
}

/// The same.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn allocated_bytes() -> Option<u64> {
    None
}

/// Has the allocator give back to the system what it keeps, where it can.
pub(super) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: as above.
    unsafe {
        libc::malloc_trim(0);
    }
}
