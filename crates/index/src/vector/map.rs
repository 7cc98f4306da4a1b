//! A part of a file, mapped into memory.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// Maps `length` bytes from `offset`, which the file must have.
pub(super) fn map(file: &File, offset: u64, length: usize) -> io::Result<Mmap> {
    // SAFETY: a mapping is undefined when its bytes change or vanish under it. Ours are never written again:
    // only what a stamp has committed is mapped, the writer only appends behind that, and a rewritten file gets
    // a new inode. Only we write to the state directory; if another program cuts the file there, the pages that are
    // gone read as zeros and the index is repaired (`faults`).
    #[allow(unsafe_code)]
    unsafe {
        MmapOptions::new().offset(offset).len(length).map(file)
    }
}
