//! The mark of a load in `meta`: it is committed before the first table is filled, and goes when all are. A store that is opened
//! with it was cut off in between; what is half done is undone then.

use fulgurite::{Database, ReadTxn, WriteTxn};

use crate::error::{Error, Result};
use crate::tables::{LOADING_KEY, Tables};

/// Sets the mark.
///
/// # Errors
/// [`Error::LoadRunning`] if it is set; what the engine reports.
pub fn set(database: &Database, tables: &Tables) -> Result<()> {
    let is_new = database.update(|txn| txn.insert(&tables.meta, LOADING_KEY, &[]))?;
    if is_new { Ok(()) } else { Err(Error::LoadRunning { path: database.path().to_path_buf() }) }
}

/// Takes the mark away.
///
/// # Errors
/// What the engine reports.
pub fn remove(txn: &mut WriteTxn, tables: &Tables) -> Result<()> {
    txn.delete(&tables.meta, LOADING_KEY)?;
    Ok(())
}

/// Empties what a load has filled, and takes its mark away, all in one commit.
///
/// # Errors
/// What the engine reports.
pub fn undo(database: &Database, tables: &Tables) -> Result<Tables> {
    loop {
        let mut txn = database.write()?;
        let emptied = tables.replace_loaded(&mut txn)?;
        remove(&mut txn, tables)?;
        match txn.commit() {
            Ok(_) => return Ok(emptied),
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Undoes a load that was cut off, if there is one, of a store that is being opened. Requires: no load of it is alive.
///
/// # Errors
/// [`Error::LoadCutOff`] if the database is open read-only; what the engine reports.
pub fn undo_cut_off(database: &Database, read: ReadTxn, tables: Tables) -> Result<(ReadTxn, Tables)> {
    if !read.contains_key(&tables.meta, LOADING_KEY)? {
        return Ok((read, tables));
    }
    match undo(database, &tables) {
        Ok(tables) => Ok((database.read()?, tables)),
        Err(Error::Engine(fulgurite::Error::ReadOnly { path })) => Err(Error::LoadCutOff { path }),
        Err(error) => Err(error),
    }
}
