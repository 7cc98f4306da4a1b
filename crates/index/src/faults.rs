//! Survives that a mapped file is cut under us.
//!
//! Reading a mapped page that its file no longer has ends a process by SIGBUS. Only we write to the state
//! directory, but a full disk that was tidied up by hand must not take the server down. The handler puts a page of zeros
//! where the missing one was and counts it: a search then knows that the files need a repair.

#![allow(unsafe_code, reason = "a signal handler can only be set through the C library")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

static FAULTS: AtomicU64 = AtomicU64::new(0);
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// From now on a mapped file that is cut costs a repair, not the process. Call it once, early.
pub fn survive_cut_files() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // SAFETY: the handler does nothing but atomic operations and system calls, and is set with its own stack allowed,
        // as the one that Rust sets for stack overflows.
        unsafe {
            PAGE_BYTES.store(libc::sysconf(libc::_SC_PAGESIZE).max(4096) as usize, Ordering::Relaxed);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    });
}

/// How many pages were missing so far.
pub(crate) fn count() -> u64 {
    FAULTS.load(Ordering::Acquire)
}

unsafe extern "C" fn on_bus_error(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a valid description of the fault. The page that could not be read is the one that is
    // replaced; nothing else is mapped there.
    unsafe {
        if (*info).si_code == libc::BUS_ADRERR {
            let bytes = PAGE_BYTES.load(Ordering::Relaxed);
            let page = ((*info).si_addr() as usize & !(bytes - 1)) as *mut libc::c_void;
            let flags = libc::MAP_FIXED | libc::MAP_ANONYMOUS | libc::MAP_PRIVATE;
            let mapped = libc::mmap(page, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if mapped != libc::MAP_FAILED {
                FAULTS.fetch_add(1, Ordering::AcqRel);
                return;
            }
        }
        // Not ours to mend: the same fault ends the process as if there were no handler.
        libc::signal(signal, libc::SIG_DFL);
    }
}
