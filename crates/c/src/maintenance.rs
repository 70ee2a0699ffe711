//! Syncs, checkpoints, compactions, backups, images, checks and statistics.
#![allow(unsafe_code)] // Functions of C, and paths of the caller.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;

use fulgurite::ImageOptions;

use crate::arguments::{check_out, path, set, set_if_wanted};
use crate::code::{Code, Failure, guarded};
use crate::handles::{database, fulgurite_database};

/// Sizes of a database's files, in bytes, and sequences of commits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_stats {
    /// The data file.
    pub file_bytes: u64,
    /// All segments of the log.
    pub log_bytes: u64,
    /// Free pages of the data file.
    pub free_bytes: u64,
    /// Pages that only open snapshots need.
    pub pinned_bytes: u64,
    /// The memory of commits that are not in the file yet.
    pub delta_bytes: u64,
    /// The sequence of the newest visible commit.
    pub sequence: u64,
    /// The sequence of the newest commit that is known to survive a power cut.
    pub durable_sequence: u64,
    /// The number of tables.
    pub tables: u64,
}

/// The result of fulgurite_check.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_check_report {
    /// Tables that were checked.
    pub tables: u64,
    /// Entries that were read.
    pub entries: u64,
    /// Pages that were read.
    pub pages: u64,
    /// Damages that were found.
    pub damages: u64,
}

/// Makes all commits so far survive a power cut. Returns the sequence of the newest durable commit
/// if `sequence` is not NULL.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_sync(database: fulgurite_database, sequence: Option<&mut MaybeUninit<u64>>) -> c_int {
    guarded(|| {
        set_if_wanted(sequence, self::database(database)?.sync()?.0);
        Ok(())
    })
}

/// Merges all commits so far into the file, and frees the log. Others may read and write meanwhile.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_checkpoint(database: fulgurite_database) -> c_int {
    guarded(|| Ok(self::database(database)?.checkpoint()?))
}

/// Removes unused space from the file. Returns the number of bytes by which the file shrank if
/// `freed_bytes` is not NULL. Others may read and write meanwhile. Pages of open snapshots stay.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_compact(database: fulgurite_database, freed_bytes: Option<&mut MaybeUninit<u64>>) -> c_int {
    guarded(|| {
        set_if_wanted(freed_bytes, self::database(database)?.compact()?);
        Ok(())
    })
}

/// Copies the newest committed state to a new file. Others may read and write meanwhile.
/// FULGURITE_FILE_EXISTS if there is a file at the path.
///
/// # Safety
/// `path` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_backup(database: fulgurite_database, path: *const c_char) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let path = unsafe { self::path(path) }?;
        Ok(self::database(database)?.backup_to(path)?)
    })
}

/// Copies the newest committed state to a new compressed file, which fulgurite_open opens with
/// `image`. `level` is that of Zstandard, from 1 to 22; 0 is the default, 8.
/// FULGURITE_FILE_EXISTS if there is a file at the path.
///
/// # Safety
/// `path` ends with a byte 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fulgurite_write_image(database: fulgurite_database, path: *const c_char, level: i32) -> c_int {
    guarded(|| {
        // SAFETY: the promise of the caller.
        let path = unsafe { self::path(path) }?;
        let options = ImageOptions::new();
        let options = if level == 0 { options } else { options.level(level) };
        Ok(self::database(database)?.write_image(path, &options)?)
    })
}

/// Checks every page of the newest checkpoint. Commits after it are not checked. If there is damage,
/// the call returns FULGURITE_CORRUPT with the first damage as its message, and sets the report, too.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_check(
    database: fulgurite_database,
    report: Option<&mut MaybeUninit<fulgurite_check_report>>,
) -> c_int {
    guarded(|| {
        let checked = self::database(database)?.check()?;
        let counts = fulgurite_check_report {
            tables: checked.tables,
            entries: checked.entries + checked.run_entries,
            pages: checked.pages,
            damages: checked.damages.len() as u64,
        };
        set_if_wanted(report, counts);
        match checked.damages.first() {
            Some(damage) => Err(Failure::new(Code::FULGURITE_CORRUPT, format!("{damage}; restore a backup"))),
            None => Ok(()),
        }
    })
}

/// Returns sizes and numbers. `size` is sizeof(fulgurite_stats).
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fulgurite_get_stats(
    database: fulgurite_database,
    size: usize,
    stats: Option<&mut MaybeUninit<fulgurite_stats>>,
) -> c_int {
    guarded(|| {
        check_out(&stats)?;
        if size != size_of::<fulgurite_stats>() {
            let expected = size_of::<fulgurite_stats>();
            return Err(Failure::invalid(format!(
                "size is {size} and not {expected}; set it to sizeof(fulgurite_stats)"
            )));
        }
        let found = self::database(database)?.stats()?;
        let found = fulgurite_stats {
            file_bytes: found.file_bytes,
            log_bytes: found.log_bytes,
            free_bytes: found.free_bytes,
            pinned_bytes: found.pinned_bytes,
            delta_bytes: found.delta_bytes,
            sequence: found.sequence,
            durable_sequence: found.durable_sequence,
            tables: found.tables.len() as u64,
        };
        set(stats, found)
    })
}
