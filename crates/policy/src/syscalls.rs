//! A third wall, for the processes that read hostile documents: the kernel ends them for any system call that reading does
//! not need.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use linux::read_only_syscalls;

/// Nothing of the kind here.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn read_only_syscalls() -> Result<(), String> {
    Err("this system filters no system calls".to_owned())
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use std::collections::BTreeMap;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter_all_threads};

    /// Memory, the open pipes, the clock, the end, and what a panic or an abort does on its way.
    const ALLOWED: &[libc::c_long] = &[
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_mprotect,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_prctl,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// What the libraries ask in good faith, and can do without: these fail, as if there were nothing.
    const REFUSED: &[libc::c_long] = &[
        libc::SYS_openat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_readlink,
        libc::SYS_newfstatat,
        libc::SYS_fstat,
        libc::SYS_statx,
        libc::SYS_readlinkat,
        libc::SYS_faccessat,
        libc::SYS_getcwd,
        libc::SYS_lseek,
        libc::SYS_fcntl,
        libc::SYS_ioctl,
        libc::SYS_prlimit64,
        libc::SYS_sched_getaffinity,
        libc::SYS_sysinfo,
        libc::SYS_uname,
    ];

    /// From here on, the threads of this process read from and write to what is open, and compute. The reason if the kernel
    /// cannot do that.
    pub fn read_only_syscalls() -> Result<(), String> {
        let refuse = program(REFUSED, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;
        let known: Vec<libc::c_long> = ALLOWED.iter().chain(REFUSED).copied().collect();
        let end = program(&known, SeccompAction::KillProcess, SeccompAction::Allow)?;
        // Of two answers the kernel takes the stricter one. The filter that ends the process comes last: setting filters is
        // not among what reading needs.
        for filter in [refuse, end] {
            apply_filter_all_threads(&filter).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn program(
        calls: &[libc::c_long],
        others: SeccompAction,
        these: SeccompAction,
    ) -> Result<BpfProgram, String> {
        let arch = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };
        let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
        SeccompFilter::new(rules, others, these, arch)
            .and_then(BpfProgram::try_from)
            .map_err(|error| error.to_string())
    }
}
