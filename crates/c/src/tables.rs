//! Tables.
#![allow(unsafe_code)] // Functions of C, and names of the caller.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use fulgurite::Table;

use crate::arguments::{check_out, fulgurite_slice, set, text};
use crate::code::{Failure, Result, guarded};
use crate::handles::{
    OBJECTS, Object, add, database, fulgurite_database, fulgurite_table, fulgurite_txn, keep, lock, table, with,
};
use crate::options::{fulgurite_table_options, table_options};

/// Gives the caller what `open` returns.
fn opened(place: Option<&mut MaybeUninit<fulgurite_table>>, open: impl FnOnce() -> Result<Table>) -> Result<()> {
    check_out(&place)?;
    set(place, fulgurite_table { id: add(Object::Table(open()?)) })
}

/// Creates a table in a transaction of its own. `options` may be NULL. FULGURITE_TABLE_EXISTS if a
/// table has the name.
///
/// # Safety
/// `name` and the texts of `options` end with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_create_table(
    database: fulgurite_database,
    name: *const c_char,
    options: Option<&fulgurite_table_options>,
    table: Option<&mut MaybeUninit<fulgurite_table>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let name = unsafe { text(name, "the name of the table") }?;
        // SAFETY: the promise of the caller.
        let options = unsafe { table_options(options) }?;
        opened(table, || Ok(self::database(database)?.create_table(name, options)?))
    })
}

/// Opens a table, and creates it if it does not exist. FULGURITE_TABLE_MISMATCH if an existing table
/// has other options.
///
/// # Safety
/// `name` and the texts of `options` end with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_open_or_create_table(
    database: fulgurite_database,
    name: *const c_char,
    options: Option<&fulgurite_table_options>,
    table: Option<&mut MaybeUninit<fulgurite_table>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let name = unsafe { text(name, "the name of the table") }?;
        // SAFETY: the promise of the caller.
        let options = unsafe { table_options(options) }?;
        opened(table, || Ok(self::database(database)?.open_or_create_table(name, options)?))
    })
}

/// Opens a table, whatever its options. FULGURITE_TABLE_NOT_FOUND if no table has the name.
///
/// # Safety
/// `name` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_open_table(
    database: fulgurite_database,
    name: *const c_char,
    table: Option<&mut MaybeUninit<fulgurite_table>>,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let name = unsafe { text(name, "the name of the table") }?;
        opened(table, || Ok(self::database(database)?.open_table(name)?))
    })
}

/// Closes the handle of a table. The table and its entries remain. fulgurite_close does not close
/// handles of tables.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_close_table(table: fulgurite_table) -> c_int {
    guarded(|| {
        self::table(table)?;
        OBJECTS.take(table.id).map(drop).ok_or_else(|| Failure::closed("table"))
    })
}

/// Removes a table and its entries, in a transaction of its own. Close the handle afterwards.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_drop_table(database: fulgurite_database, table: fulgurite_table) -> c_int {
    guarded(|| Ok(self::database(database)?.drop_table(&self::table(table)?)?))
}

/// Renames a table, in a transaction of its own. The handle stays valid. FULGURITE_TABLE_EXISTS if
/// another table has the name.
///
/// # Safety
/// `name` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_rename_table(
    database: fulgurite_database,
    table: fulgurite_table,
    name: *const c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let name = unsafe { text(name, "the name of the table") }?;
        self::database(database)?.rename_table(&self::table(table)?, name).map(drop).map_err(Failure::from)
    })
}

/// Returns the name of the first table after `after`, in the order of names. An `after` of length 0
/// returns the first table. FULGURITE_NOT_FOUND after the last table. The name is not followed by a
/// byte 0. It is valid as long as a value of fulgurite_get that is not in the mapped file.
///
/// # Safety
/// `after` points to as many bytes as it has.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_next_table(
    txn: fulgurite_txn,
    after: fulgurite_slice,
    name: Option<&mut MaybeUninit<fulgurite_slice>>,
) -> c_int {
    guarded(|| {
        check_out(&name)?;
        // SAFETY: the promise of the caller.
        let after = unsafe { crate::arguments::bytes(&after, "after") }?;
        let next = |tables: Vec<Table>| {
            let found = tables.into_iter().find(|table| table.name().as_bytes() > after);
            found.map(|table| table.name().as_bytes().to_vec()).ok_or(Failure::NOT_FOUND)
        };
        let found = with(txn.id, "transaction", |object| match object {
            Object::Read(reading) => {
                let found = next(reading.txn.tables())?;
                Ok(keep(&mut lock(&reading.kept), found.into()))
            }
            other => {
                let mut writing = other.write()?;
                let found = next(writing.txn().tables())?;
                Ok(keep(&mut writing.kept, found.into()))
            }
        })?;
        set(name, found)
    })
}
