//! Memory of a server that runs for weeks: it goes back to the system after a burst of work.

/// The C library keeps what a burst freed, in case of another one; an idle server should not.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub(crate) fn give_back() {
    // SAFETY: takes no pointers and keeps no promises; the library locks its heaps itself.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn give_back() {}

/// Sets the allocator up for indexing and serving, before threads start. Indexing peaks a quarter lower by it, at the same
/// speed (C sources of 190 MB: 179 and 189 MB instead of 215 and 250). Large pieces always come from the system and go
/// back to it one by one: left to itself, the library takes the first large piece that is freed as a reason to keep
/// all later ones of that size. And there are few heaps, because each keeps what its own threads freed.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub(crate) fn prepare() {
    const LARGE: i32 = 256 * 1024;
    let heaps = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8) as i32;
    // SAFETY: these set numbers; no pointer is involved, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
        libc::mallopt(libc::M_ARENA_MAX, heaps);
    }
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn prepare() {}

/// Raises the number of files and connections that may be open to what the system allows.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it, the server takes fewer connections.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Keeps the memory of this process, which holds keys, out of core dumps and away from other processes of the user.
pub(crate) fn forbid_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Where either is refused, the other still holds.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// How many connections there may be: the index needs files, too.
pub(crate) fn max_connections() -> usize {
    use rustix::process::{Resource, getrlimit};
    const FOR_FILES: u64 = 256;
    const MOST: u64 = 16_384;
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    files.saturating_sub(FOR_FILES).clamp(64, MOST) as usize
}
