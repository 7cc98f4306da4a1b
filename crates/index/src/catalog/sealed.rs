//! Pages with a checksum: a layer between SQLite and the file of the catalog.
//!
//! SQLite trusts what it reads. A flipped byte or a zeroed block in the middle of the file could therefore change an
//! answer without anybody noticing. Every page of the catalog ends with eight bytes that SQLite leaves alone (its
//! "reserved bytes"): a CRC-32 of the rest and a fixed mark. They are written whenever a page is written to the file and
//! compared whenever one is read. A page that does not match is an error of the one statement that needed it.
//!
//! Pages in the write-ahead log have no seal. SQLite guards the log by checksums of its own, which it compares after a
//! crash, and pages get their seal when they move from there to the file. Another program may read the catalog, but if it
//! writes to it, the pages it writes count as damaged.

#![allow(unsafe_code, reason = "SQLite takes a file layer as a table of C functions")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{io, ptr};

use rusqlite::{Connection, OpenFlags, ffi};

use super::PAGE_BYTES;

/// Bytes at the end of a page that belong to the seal.
const SEAL_BYTES: usize = 8;

/// Follows the checksum, so that a page of zeros is not a sound one.
const MARK: [u8; 4] = *b"d2pg";

const PAGE: usize = PAGE_BYTES as usize;

/// SQLite locks bytes here, so it never uses the page that holds them.
const LOCKED_BYTE: u64 = 0x4000_0000;

/// Where the header of a database says how many bytes at the end of each page are not SQLite's.
const RESERVED_AT: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// Writes seals and compares them.
    Sealed,
    /// Writes seals only: for making a sealed copy of a catalog that has none.
    Sealing,
}

/// What is at the path of a catalog, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CatalogFile {
    Nothing,
    Sealed,
    /// A catalog of an older version, another program's file, or garbage.
    Other,
}

/// Opens a database through this layer.
pub(super) fn open(path: &Path, flags: OpenFlags, layer: Layer) -> rusqlite::Result<Connection> {
    let name = register(layer)?;
    Connection::open_with_flags_and_vfs(path, flags, name)
}

/// Has the pages of a database that is still empty, or of a copy that is made of it, end with room for a seal.
pub(super) fn reserve(conn: &Connection) -> rusqlite::Result<()> {
    let mut bytes = SEAL_BYTES as c_int;
    // SAFETY: the connection is open, and SQLite reads and writes one integer through the pointer.
    let code = unsafe {
        ffi::sqlite3_file_control(
            conn.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            ptr::from_mut(&mut bytes).cast(),
        )
    };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(failure(code)) }
}

#[allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]
pub(super) fn kind(path: &Path) -> io::Result<CatalogFile> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(CatalogFile::Nothing),
        other => other?,
    };
    let mut head = [0; RESERVED_AT + 1];
    match file.read_exact_at(&mut head, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Ok(if file.metadata()?.len() == 0 { CatalogFile::Nothing } else { CatalogFile::Other });
        }
        other => other?,
    }
    let sealed = head.starts_with(b"SQLite format 3\0") && usize::from(head[RESERVED_AT]) == SEAL_BYTES;
    Ok(if sealed { CatalogFile::Sealed } else { CatalogFile::Other })
}

/// Reads every page of the file and returns the number of the first that is damaged. It must not be written meanwhile.
#[allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]
pub(super) fn first_damaged(path: &Path) -> io::Result<Option<u64>> {
    let file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut page = vec![0; PAGE];
    for (number, offset) in (0..length).step_by(PAGE).enumerate() {
        if offset == LOCKED_BYTE {
            continue;
        }
        match file.read_exact_at(&mut page, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error),
            Ok(()) if is_sound(&page) => continue,
            Ok(()) => {}
        }
        return Ok(Some(number as u64 + 1));
    }
    Ok(None)
}

fn is_sound(page: &[u8]) -> bool {
    let (body, seal) = page.split_at(page.len() - SEAL_BYTES);
    seal[..4] == crc32fast::hash(body).to_le_bytes() && seal[4..] == MARK
}

fn seal(page: &mut [u8]) {
    let (body, seal) = page.split_at_mut(PAGE - SEAL_BYTES);
    seal[..4].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
    seal[4..].copy_from_slice(&MARK);
}

fn failure(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

/// A table of functions for open files: that of the system's layer, with two functions of ours.
#[repr(C)]
struct Methods {
    /// First, so that a pointer to it is a pointer to the whole.
    table: ffi::sqlite3_io_methods,
    system: *const ffi::sqlite3_io_methods,
    compares: bool,
}

// SAFETY: tables are made once and never changed, and so are those of the system that they point to.
unsafe impl Send for Methods {}
unsafe impl Sync for Methods {}

/// Every table made so far. There is one for each of the system's, which has few, and they are kept for ever.
static METHODS: Mutex<Vec<&'static Methods>> = Mutex::new(Vec::new());

fn register(layer: Layer) -> rusqlite::Result<&'static CStr> {
    static CODES: [OnceLock<c_int>; 2] = [OnceLock::new(), OnceLock::new()];
    let (number, name) = match layer {
        Layer::Sealed => (0, c"dir2mcp-sealed"),
        Layer::Sealing => (1, c"dir2mcp-sealing"),
    };
    let code = *CODES[number].get_or_init(|| {
        // SAFETY: SQLite is initialised by the first call. The system's layer lives for ever, and a copy of it may be
        // registered under another name as long as that lives for ever too, which a leaked box does.
        unsafe {
            let code = ffi::sqlite3_initialize();
            if code != ffi::SQLITE_OK {
                return code;
            }
            let system = ffi::sqlite3_vfs_find(ptr::null());
            if system.is_null() {
                return ffi::SQLITE_ERROR;
            }
            let mut own = *system;
            own.zName = name.as_ptr();
            own.pNext = ptr::null_mut();
            own.xOpen = Some(match layer {
                Layer::Sealed => open_sealed,
                Layer::Sealing => open_sealing,
            });
            ffi::sqlite3_vfs_register(Box::leak(Box::new(own)), 0)
        }
    });
    if code == ffi::SQLITE_OK { Ok(name) } else { Err(failure(code)) }
}

unsafe extern "C" fn open_sealed(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: the arguments are those that SQLite gave.
    unsafe { open_file(name, file, flags, out, true) }
}

unsafe extern "C" fn open_sealing(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: the arguments are those that SQLite gave.
    unsafe { open_file(name, file, flags, out, false) }
}

/// Opens a file as the system's layer does, and puts our functions in front if it is a database.
unsafe fn open_file(
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
    compares: bool,
) -> c_int {
    // SAFETY: the system's layer gets what SQLite gave us, with itself as the first argument. It fills `file`, whose
    // table of functions we may then exchange for one that calls the old one.
    unsafe {
        let system = ffi::sqlite3_vfs_find(ptr::null());
        let Some(open) = system.as_ref().and_then(|system| system.xOpen) else { return ffi::SQLITE_ERROR };
        let code = open(system, name, file, flags, out);
        if code == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 && !(*file).pMethods.is_null() {
            (*file).pMethods = &methods((*file).pMethods, compares).table;
        }
        code
    }
}

unsafe fn methods(system: *const ffi::sqlite3_io_methods, compares: bool) -> &'static Methods {
    let mut known = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) =
        known.iter().find(|known| ptr::eq(known.system, system) && known.compares == compares)
    {
        return found;
    }
    // SAFETY: SQLite's tables of functions live for ever.
    let mut table = unsafe { *system };
    table.xRead = Some(read);
    table.xWrite = Some(write);
    let made: &'static Methods = Box::leak(Box::new(Methods { table, system, compares }));
    known.push(made);
    made
}

/// True for a whole page; the header alone is also read in pieces.
fn is_page(amount: c_int, offset: i64) -> bool {
    amount as usize == PAGE && offset % PAGE as i64 == 0
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: only files whose table is the first field of a `Methods` get here, and the buffer holds `amount` bytes.
    unsafe {
        let own = &*(*file).pMethods.cast::<Methods>();
        let Some(read) = (*own.system).xRead else { return ffi::SQLITE_IOERR_READ };
        let code = read(file, buffer, amount, offset);
        if !own.compares || !is_page(amount, offset) {
            return code;
        }
        match code {
            ffi::SQLITE_OK if is_sound(std::slice::from_raw_parts(buffer.cast(), PAGE)) => ffi::SQLITE_OK,
            // SQLite would take what is missing at the end of the file for zeros.
            ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ => ffi::SQLITE_IOERR_DATA,
            other => other,
        }
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: as for `read`.
    unsafe {
        let own = &*(*file).pMethods.cast::<Methods>();
        let Some(write) = (*own.system).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        if !is_page(amount, offset) {
            return write(file, buffer, amount, offset);
        }
        // The buffer is SQLite's, and it may not change under it.
        let mut page = [0; PAGE];
        page.copy_from_slice(std::slice::from_raw_parts(buffer.cast(), PAGE));
        seal(&mut page);
        write(file, page.as_ptr().cast(), amount, offset)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the test reads the file that it made")]

    use super::*;

    fn database(path: &Path) -> Connection {
        let conn = open(path, OpenFlags::default(), Layer::Sealed).unwrap();
        conn.pragma_update(None, "page_size", PAGE_BYTES).unwrap();
        reserve(&conn).unwrap();
        conn.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)").unwrap();
        conn
    }

    #[test]
    fn every_page_is_sealed_and_every_flip_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.sqlite");
        let conn = database(&path);
        let _: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).unwrap();
        for n in 0..200 {
            conn.execute("INSERT INTO t (text) VALUES (?1)", [format!("row {n} ").repeat(100)]).unwrap();
        }
        drop(conn);
        assert_eq!(kind(&path).unwrap(), CatalogFile::Sealed);
        assert_eq!(first_damaged(&path).unwrap(), None);
        let whole = std::fs::read(&path).unwrap();
        assert!(whole.len() > 8 * PAGE && whole.len().is_multiple_of(PAGE));
        let sum = |path: &Path| -> rusqlite::Result<i64> {
            let conn = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, Layer::Sealed)?;
            conn.query_row("SELECT sum(length(text)) FROM t NOT INDEXED", [], |row| row.get(0))
        };
        let wanted = sum(&path).unwrap();
        for step in 0..97 {
            let at = whole.len() * step / 97;
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (step % 8);
            std::fs::write(&path, bytes).unwrap();
            if kind(&path).unwrap() == CatalogFile::Sealed {
                assert_eq!(first_damaged(&path).unwrap(), Some((at / PAGE) as u64 + 1));
            }
            // The table is every page but the first, which is read whenever a database is opened.
            assert!(sum(&path).is_err(), "byte {at}");
        }
        for length in [whole.len() - 1, whole.len() - PAGE, whole.len() / 2] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(sum(&path).is_err(), "cut to {length}");
        }
        let mut bytes = whole.clone();
        bytes[3 * PAGE..4 * PAGE].fill(0);
        std::fs::write(&path, bytes).unwrap();
        assert!(sum(&path).is_err(), "a page of zeros");
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(sum(&path).unwrap(), wanted);
        // Another program reads it as any database.
        let plain = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let verdict: String = plain.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok");
    }

    #[test]
    fn a_copy_of_an_unsealed_database_is_sealed() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        let conn = Connection::open(&old).unwrap();
        conn.pragma_update(None, "page_size", PAGE_BYTES).unwrap();
        conn.execute_batch("CREATE TABLE t (text TEXT); INSERT INTO t VALUES ('kept')").unwrap();
        drop(conn);
        assert_eq!(kind(&old).unwrap(), CatalogFile::Other);
        let conn = open(&old, OpenFlags::SQLITE_OPEN_READ_ONLY, Layer::Sealing).unwrap();
        reserve(&conn).unwrap();
        conn.execute("VACUUM INTO ?1", [new.to_str().unwrap()]).unwrap();
        drop(conn);
        assert_eq!(kind(&new).unwrap(), CatalogFile::Sealed);
        assert_eq!(first_damaged(&new).unwrap(), None);
        let conn = open(&new, OpenFlags::default(), Layer::Sealed).unwrap();
        let text: String = conn.query_row("SELECT text FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(text, "kept");
    }
}
