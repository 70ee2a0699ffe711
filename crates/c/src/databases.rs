//! Databases: opening and closing, and versions.
#![allow(unsafe_code)] // Functions of C, and paths of the caller.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use fulgurite_handles::{Opened, Opening};

use crate::arguments::{check_out, path, set};
use crate::code::{Failure, check_no_callback, guarded, guarded_in_callbacks};
use crate::handles::{OBJECTS, Object, add, fulgurite_database, with};
use crate::options::{fulgurite_options, options};

/// The version of this interface. Programs that were compiled with another one must not use the library.
pub const FULGURITE_ABI_VERSION: u32 = 4;

/// Returns FULGURITE_ABI_VERSION as the library was compiled.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_abi_version() -> u32 {
    FULGURITE_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0".
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Opens a database. `options` may be NULL: then the database must exist.
///
/// A process may open a database several times, with the same options. The last fulgurite_close
/// closes it. Merge functions are those of the first opening; a later opening with a new name fails
/// with FULGURITE_ALREADY_OPEN. A merge function cannot open a database (FULGURITE_INVALID).
///
/// # Safety
/// `path` ends with a byte 0. Texts of `options` do, too. Its merge functions do what their types say.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_open(
    path: *const c_char,
    options: Option<&fulgurite_options>,
    database: Option<&mut MaybeUninit<fulgurite_database>>,
) -> c_int {
    guarded_in_callbacks(|| {
        // SAFETY: the promise of the caller. First, so that contexts of merge functions are released in any case.
        let options = unsafe { self::options(options) }?;
        check_no_callback()?;
        check_out(&database)?;
        // SAFETY: the promise of the caller.
        let path = unsafe { self::path(path) }?;
        let opening = Opening::of(&path);
        let mut objects = opening.lock();
        let opened = options.open(&path)?;
        *objects += 1;
        drop(objects);
        let id = add(Object::Database(Opened { database: opened, opening }));
        set(database, fulgurite_database { id })
    })
}

/// Closes a database: merges all commits into the file, and removes the log except for what
/// `keep_log_bytes` keeps. If that fails, it returns the error.
///
/// Transactions that are open remain so: they can still read, but no longer commit. Until the last
/// of them has ended, opening the database again returns FULGURITE_LOCKED. The call waits for an
/// exclusive transaction to end. Closing a database twice returns FULGURITE_CLOSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close(database: fulgurite_database) -> c_int {
    guarded(|| {
        with(database.id, "database", |object| match object {
            Object::Database(_) => Ok(()),
            other => Err(other.is_not("database")),
        })?;
        let Some(Object::Database(Opened { database, opening })) = OBJECTS.take(database.id) else {
            return Err(Failure::closed("database"));
        };
        Ok(opening.close(database)?)
    })
}
