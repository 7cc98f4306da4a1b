//! Gives memory back to the system after a burst of work.

/// The C library keeps what a burst freed, in case of another one; an idle server should not.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub(crate) fn give_back() {
    // SAFETY: takes no pointers and keeps no promises; the library locks its heaps itself.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn give_back() {}
