//! The C interface of libmdbx: owners of its environments and transactions, so that callers need nothing unsafe.
//!
//! Transactions belong to the thread that began them, and a thread has one at a time, as libmdbx wants it by default.
#![allow(unsafe_code)] // Foreign function edge.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::{null, null_mut};

use mdbx_sys as ffi;

use crate::interface::walk::Walk;

/// Largest size of the file, as LMDB's here.
const FILE_BYTES_MAX: isize = 16 << 30;

/// Threads that may read at once; by default it has slots for fewer than the suites have threads.
const READERS_MAX: u64 = 254;

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By calls, and synced at each commit.
    Synced,
    /// Through a map, and never synced.
    UnsyncedMap,
}

/// What libmdbx answered when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(c_int);

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: it takes any number.
        let text = unsafe { ffi::mdbx_strerror(self.0) };
        // SAFETY: the text ends with a zero, and stays until this thread asks for another.
        let text = unsafe { CStr::from_ptr(text) };
        write!(out, "{} ({})", text.to_string_lossy(), self.0)
    }
}

impl std::error::Error for Status {}

fn checked(code: c_int) -> Result<(), Status> {
    if code == ffi::MDBX_SUCCESS { Ok(()) } else { Err(Status(code)) }
}

/// What the library says that it is.
pub fn version() -> String {
    // SAFETY: nobody writes to it.
    let version = unsafe { &ffi::mdbx_version };
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

/// An open environment and its unnamed table.
pub struct Environment {
    env: *mut ffi::MDBX_env,
    table: ffi::MDBX_dbi,
}

// SAFETY: an environment may be used by any thread.
unsafe impl Send for Environment {}

// SAFETY: as above; transactions are made for one thread each.
unsafe impl Sync for Environment {}

impl Environment {
    /// Opens or creates the environment in `directory`.
    pub fn open(directory: &Path, access: Access) -> Result<Self, Status> {
        let path =
            CString::new(directory.as_os_str().as_encoded_bytes()).map_err(|_| Status(ffi::MDBX_EINVAL as c_int))?;
        let mut env = null_mut();
        // SAFETY: it writes to the pointer alone.
        checked(unsafe { ffi::mdbx_env_create(&mut env) })?;
        // Whatever fails from here on, the environment is closed.
        let mut environment = Self { env, table: 0 };
        // SAFETY: the environment was made above; -1 stands for the default.
        checked(unsafe { ffi::mdbx_env_set_geometry(env, -1, -1, FILE_BYTES_MAX, -1, -1, -1) })?;
        // SAFETY: as above.
        checked(unsafe { ffi::mdbx_env_set_option(env, ffi::MDBX_opt_max_readers, READERS_MAX) })?;
        let synced = match access {
            Access::Synced => 0,
            Access::UnsyncedMap => ffi::MDBX_WRITEMAP | ffi::MDBX_UTTERLY_NOSYNC,
        };
        let flags = ffi::MDBX_NORDAHEAD | ffi::MDBX_LIFORECLAIM | synced;
        // SAFETY: the environment is not open, and the path ends with a zero.
        checked(unsafe { ffi::mdbx_env_open(env, path.as_ptr(), flags, 0o644) })?;
        let txn = environment.write()?;
        let mut table = 0;
        // SAFETY: the transaction is running; no name stands for the unnamed table.
        checked(unsafe { ffi::mdbx_dbi_open(txn.txn, null(), ffi::MDBX_DB_DEFAULTS, &mut table) })?;
        txn.commit()?;
        environment.table = table;
        Ok(environment)
    }

    /// Begins a read transaction.
    #[inline]
    pub fn read(&self) -> Result<Txn<'_>, Status> {
        self.begin(ffi::MDBX_TXN_RDONLY)
    }

    /// Begins the write transaction, and waits for the one that is running.
    #[inline]
    pub fn write(&self) -> Result<Txn<'_>, Status> {
        self.begin(ffi::MDBX_TXN_READWRITE)
    }

    #[inline]
    fn begin(&self, flags: ffi::MDBX_txn_flags_t) -> Result<Txn<'_>, Status> {
        let mut txn = null_mut();
        // SAFETY: the environment is open; it writes to the pointer alone.
        checked(unsafe { ffi::mdbx_txn_begin_ex(self.env, null_mut(), flags, &mut txn, null_mut()) })?;
        Ok(Txn { environment: self, txn })
    }

    /// Makes every commit so far durable.
    pub fn sync(&self) -> Result<(), Status> {
        // SAFETY: the environment is open.
        let code = unsafe { ffi::mdbx_env_sync_ex(self.env, true, false) };
        // What has been synced before is no failure.
        if code == ffi::MDBX_RESULT_TRUE { Ok(()) } else { checked(code) }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: it is ours, and its transactions, which borrow it, have ended. What is not synced stays in the page
        // cache.
        unsafe { ffi::mdbx_env_close_ex(self.env, true) };
    }
}

/// A running transaction; dropping it ends it without a commit.
pub struct Txn<'e> {
    environment: &'e Environment,
    txn: *mut ffi::MDBX_txn,
}

impl Txn<'_> {
    /// Hands the value of `key` to `read`.
    #[inline]
    pub fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status> {
        let mut value = nothing();
        // SAFETY: the transaction is running, and the key is not kept.
        match unsafe { ffi::mdbx_get(self.txn, self.environment.table, &borrowed(key), &mut value) } {
            ffi::MDBX_SUCCESS => Ok(read(Some(self.bytes(&value)))),
            ffi::MDBX_NOTFOUND => Ok(read(None)),
            code => Err(Status(code)),
        }
    }

    /// Gives `key` this value.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Status> {
        self.put_with(ffi::MDBX_UPSERT, key, value)
    }

    /// Gives `key`, which is above all others, this value.
    pub fn append(&self, key: &[u8], value: &[u8]) -> Result<(), Status> {
        self.put_with(ffi::MDBX_APPEND, key, value)
    }

    #[inline]
    fn put_with(&self, flags: ffi::MDBX_put_flags_t, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let mut value = borrowed(value);
        // SAFETY: the transaction is running; key and value are copied.
        checked(unsafe { ffi::mdbx_put(self.txn, self.environment.table, &borrowed(key), &mut value, flags) })
    }

    /// Removes `key`, if it is present.
    pub fn delete(&self, key: &[u8]) -> Result<(), Status> {
        // SAFETY: the transaction is running, and the key is not kept; no value is asked for.
        match unsafe { ffi::mdbx_del(self.txn, self.environment.table, &borrowed(key), null()) } {
            ffi::MDBX_NOTFOUND => Ok(()),
            code => checked(code),
        }
    }

    /// The records of a walk.
    pub fn scan(&self, walk: Walk<'_>, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Status> {
        let mut cursor = null_mut();
        // SAFETY: the transaction is running; it writes to the pointer alone.
        checked(unsafe { ffi::mdbx_cursor_open(self.txn, self.environment.table, &mut cursor) })?;
        let (mut key, mut step) = match walk {
            Walk::All => (nothing(), ffi::MDBX_FIRST),
            Walk::Forward(from, _) | Walk::Prefix(from) => (borrowed(from), ffi::MDBX_SET_RANGE),
            Walk::Back(from, _) => (borrowed(from), ffi::MDBX_TO_KEY_LESSER_OR_EQUAL),
        };
        let mut value = nothing();
        let mut outcome = Ok(());
        for _ in 0..walk.count_max() {
            // SAFETY: the cursor was made above.
            match unsafe { ffi::mdbx_cursor_get(cursor, &mut key, &mut value, step) } {
                ffi::MDBX_SUCCESS if walk.has(self.bytes(&key)) => each(self.bytes(&key), self.bytes(&value)),
                ffi::MDBX_SUCCESS | ffi::MDBX_NOTFOUND => break,
                code => {
                    outcome = Err(Status(code));
                    break;
                }
            }
            step = if walk.is_back() { ffi::MDBX_PREV } else { ffi::MDBX_NEXT };
        }
        // SAFETY: it was made above and is not used any more.
        unsafe { ffi::mdbx_cursor_close(cursor) };
        outcome
    }

    /// What libmdbx handed out, which stays until the transaction changes something or ends.
    #[inline]
    fn bytes(&self, found: &ffi::MDBX_val) -> &[u8] {
        if found.iov_len == 0 {
            return &[];
        }
        // SAFETY: the value has so many bytes; changes need the transaction exclusively, and end this borrow.
        unsafe { std::slice::from_raw_parts(found.iov_base.cast::<u8>(), found.iov_len) }
    }

    /// Commits.
    pub fn commit(self) -> Result<(), Status> {
        let txn = self.txn;
        std::mem::forget(self);
        // SAFETY: the transaction is running, and nobody uses it any more, whatever comes of it.
        checked(unsafe { ffi::mdbx_txn_commit_ex(txn, null_mut()) })
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is running, and nobody uses it any more.
        unsafe { ffi::mdbx_txn_abort_ex(self.txn, null_mut()) };
    }
}

#[inline]
fn borrowed(bytes: &[u8]) -> ffi::MDBX_val {
    ffi::MDBX_val { iov_base: bytes.as_ptr().cast::<c_void>().cast_mut(), iov_len: bytes.len() }
}

#[inline]
fn nothing() -> ffi::MDBX_val {
    ffi::MDBX_val { iov_base: null_mut(), iov_len: 0 }
}
