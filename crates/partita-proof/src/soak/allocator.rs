//! The C library's allocator, which keeps what was freed: between pieces that are in use, and for each of its arenas.

/// Has the allocator give back to the system what it keeps, where it can. What is resident after that is in use.
pub(super) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes the allocator's own locks, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
