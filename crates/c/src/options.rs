//! Options of databases and tables. A field that is 0, false or NULL has the default.
#![allow(unsafe_code)] // Texts of the caller.

use std::ffi::c_char;
use std::time::Duration;

use fulgurite::{Database, Durability, Isolation, MergeOperator, Options, TableOptions};
use fulgurite_handles::type_name;

use crate::arguments::text;
use crate::code::{Failure, Result};
use crate::merge_functions::{fulgurite_merge_function, register};

/// What a commit survives when it returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fulgurite_durability {
    /// That of the database's options; for these, FULGURITE_DURABILITY_DISK.
    FULGURITE_DURABILITY_DEFAULT = 0,
    /// Nothing: a crash of the process can lose the newest commits.
    FULGURITE_DURABILITY_MEMORY = 1,
    /// A crash of the process.
    FULGURITE_DURABILITY_LOG = 2,
    /// A power cut.
    FULGURITE_DURABILITY_DISK = 3,
}

/// What is checked when a write transaction commits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fulgurite_isolation {
    /// That of the database's options; for these, FULGURITE_ISOLATION_SERIALIZABLE.
    FULGURITE_ISOLATION_DEFAULT = 0,
    /// All that it has read and written.
    FULGURITE_ISOLATION_SERIALIZABLE = 1,
    /// What it has written.
    FULGURITE_ISOLATION_SNAPSHOT = 2,
}

/// How fulgurite_merge changes a value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fulgurite_merge_operator {
    /// The table has none.
    FULGURITE_MERGE_NONE = 0,
    /// The sum, which wraps around. Values are unsigned big-endian integers of 8 bytes, or of the table's
    /// value type.
    FULGURITE_MERGE_ADD = 1,
    /// The greater of both.
    FULGURITE_MERGE_MAX = 2,
    /// The value followed by the operand.
    FULGURITE_MERGE_APPEND = 3,
    /// The sum, or the nearest number in range.
    FULGURITE_MERGE_ADD_SATURATING = 4,
    /// The sum. If it is out of range, the merge fails (FULGURITE_UNMERGEABLE).
    FULGURITE_MERGE_ADD_CHECKED = 5,
    /// The lesser of both.
    FULGURITE_MERGE_MIN = 6,
    /// The bits that are set in both.
    FULGURITE_MERGE_AND = 7,
    /// The bits that are set in at least one.
    FULGURITE_MERGE_OR = 8,
    /// The bits that are set in exactly one.
    FULGURITE_MERGE_XOR = 9,
}

/// Options of fulgurite_open. Set `size`, and leave what you do not need 0:
///
///     fulgurite_options options = {.size = sizeof options, .create = true};
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_options {
    /// sizeof(fulgurite_options)
    pub size: usize,
    /// Creates the database if it does not exist.
    pub create: bool,
    /// Opens it for reading only.
    pub read_only: bool,
    /// The file must be an image (fulgurite_write_image), which is opened for reading only.
    pub image: bool,
    /// Does not map the file into memory, so that errors of the disk are codes and not signals (SIGBUS).
    pub no_map: bool,
    /// Does not request huge pages.
    pub no_huge_pages: bool,
    /// Runs no checkpoints in the background: a checkpoint runs in fulgurite_checkpoint, or in a commit
    /// that finds delta_bytes used up.
    pub no_background: bool,
    /// A value of fulgurite_durability.
    pub durability: u32,
    /// A value of fulgurite_isolation.
    pub isolation: u32,
    /// The size of a page of a new database: 8192 or 16384 bytes. Default: 16384.
    pub page_size_bytes: u32,
    /// The size of the page cache, which is used without a map and for large images. Default: 64 MiB.
    pub cache_bytes: u64,
    /// The memory for commits before a checkpoint writes them to the file, 64 KiB to 8 GiB. Default: a
    /// 64th of the memory of the machine or control group, at least 64 MiB and at most 384 MiB.
    pub delta_bytes: u64,
    /// The memory for the changes of one transaction; above it they are spilled to the file. Default:
    /// half of delta_bytes, at least 64 MiB and at most 192 MiB.
    pub write_set_bytes: u64,
    /// The largest size of the file. 0 sets no limit.
    pub max_size_bytes: u64,
    /// How many bytes of log are kept for change feeds, beyond what recovery needs. Set it at every
    /// opening for writing: 0 keeps none, and removes what an earlier opening kept.
    pub keep_log_bytes: u64,
    /// How long opening waits for another process that has the database open for writing, before it
    /// returns FULGURITE_LOCKED.
    pub wait_for_lock_ms: u64,
    /// At what age of its oldest commit that is not in the file a background checkpoint runs, so that
    /// other processes see the commit. 0 sets no limit.
    pub checkpoint_interval_ms: u64,
    /// Merge functions, by the names that tables store. fulgurite_open copies the array and the names.
    pub merge_functions: *const fulgurite_merge_function,
    /// The number of merge functions.
    pub merge_function_count: usize,
}

/// Options of a new table. Set `size`, and leave what you do not need 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fulgurite_table_options {
    /// sizeof(fulgurite_table_options)
    pub size: usize,
    /// Keeps exact counts of ranges fast while changes wait for a checkpoint. Checkpoints take longer.
    pub counted: bool,
    /// Stores only the part of a key that differs from the key before it. Gets and scans are slower.
    pub packed: bool,
    /// The alignment of values: 1, 4, 8 or 16 bytes. Default: 1. Not with `packed`.
    pub value_align: u8,
    /// A value of fulgurite_merge_operator.
    pub merge: u32,
    /// The name of a merge function of fulgurite_options, in place of an operator. NULL for none.
    pub merge_function: *const c_char,
    /// The type of the keys, such as "(u32,string)", for tools and other languages. NULL for bytes. The
    /// name must be that of a type. Keys are not checked against it.
    pub key_type: *const c_char,
    /// The type of the values, as `key_type`. NULL for bytes.
    pub value_type: *const c_char,
}

/// Refuses options of another version of the header.
///
/// # Errors
/// If the size is not that of the options.
pub fn check_size(given: usize, expected: usize, name: &str) -> Result<()> {
    if given == expected {
        return Ok(());
    }
    Err(Failure::invalid(format!("{name}.size is {given} and not {expected}; set it to sizeof({name})")))
}

/// The options of an opening.
///
/// # Safety
/// As [`register`].
///
/// # Errors
/// If the size or a value is not valid.
pub unsafe fn options(given: Option<&fulgurite_options>) -> Result<Options> {
    let mut options = Database::options();
    let Some(given) = given else { return Ok(options) };
    check_size(given.size, size_of::<fulgurite_options>(), "fulgurite_options")?;
    // SAFETY: the caller's promise. First, so that contexts are released if another option is not valid.
    options = unsafe { register(options, given.merge_functions, given.merge_function_count) }?;
    options = options.create(given.create).read_only(given.read_only).image(given.image);
    options = options.map(!given.no_map).huge_pages(!given.no_huge_pages).background(!given.no_background);
    if let Some(durability) = durability(given.durability)? {
        options = options.durability(durability);
    }
    if let Some(isolation) = isolation(given.isolation)? {
        options = options.isolation(isolation);
    }
    if given.page_size_bytes != 0 {
        options = options.page_size_bytes(given.page_size_bytes);
    }
    let set = |options: Options, bytes: u64, to: fn(Options, u64) -> Options| {
        if bytes == 0 { options } else { to(options, bytes) }
    };
    options = set(options, given.cache_bytes, Options::cache_bytes);
    options = set(options, given.delta_bytes, Options::delta_bytes);
    options = set(options, given.write_set_bytes, Options::write_set_bytes);
    options = set(options, given.max_size_bytes, Options::max_size_bytes);
    options = set(options, given.keep_log_bytes, Options::keep_log);
    options = options.checkpoint_interval(Duration::from_millis(given.checkpoint_interval_ms));
    Ok(options.wait_for_lock(Duration::from_millis(given.wait_for_lock_ms)))
}

/// The durability with this number; none for the default.
///
/// # Errors
/// If there is none.
pub fn durability(number: u32) -> Result<Option<Durability>> {
    match number {
        0 => Ok(None),
        1 => Ok(Some(Durability::Memory)),
        2 => Ok(Some(Durability::Log)),
        3 => Ok(Some(Durability::Disk)),
        _ => Err(Failure::invalid(format!("there is no durability {number}; use 1 (memory), 2 (log) or 3 (disk)"))),
    }
}

/// The isolation with this number; none for the default.
///
/// # Errors
/// If there is none.
pub fn isolation(number: u32) -> Result<Option<Isolation>> {
    match number {
        0 => Ok(None),
        1 => Ok(Some(Isolation::Serializable)),
        2 => Ok(Some(Isolation::Snapshot)),
        _ => Err(Failure::invalid(format!("there is no isolation {number}; use 1 (serializable) or 2 (snapshot)"))),
    }
}

/// The options of a new table.
///
/// # Safety
/// Its texts end with a byte 0.
///
/// # Errors
/// If the size or a value is not valid.
pub unsafe fn table_options(given: Option<&fulgurite_table_options>) -> Result<TableOptions> {
    let Some(given) = given else { return Ok(TableOptions::new()) };
    check_size(given.size, size_of::<fulgurite_table_options>(), "fulgurite_table_options")?;
    let mut options = TableOptions::new().counted(given.counted).packed(given.packed).value_align(given.value_align);
    if given.merge != 0 {
        let operator = u8::try_from(given.merge).ok().and_then(MergeOperator::from_number);
        let unknown = || Failure::invalid(format!("there is no merge operator {}; use 1 to 9", given.merge));
        let operator = operator.ok_or_else(unknown)?;
        options = options.merge(operator);
    }
    if !given.merge_function.is_null() {
        // SAFETY: the caller's promise.
        let name = unsafe { text(given.merge_function, "merge_function") }?;
        if given.merge != 0 {
            return Err(Failure::invalid("a table has merge or merge_function, not both"));
        }
        options = options.merge_function(name);
    }
    if !given.key_type.is_null() {
        // SAFETY: the caller's promise.
        let name = unsafe { text(given.key_type, "key_type") }?;
        options = options.key_type(type_name(name, "key_type").map_err(Failure::invalid)?);
    }
    if !given.value_type.is_null() {
        // SAFETY: the caller's promise.
        let name = unsafe { text(given.value_type, "value_type") }?;
        options = options.value_type(type_name(name, "value_type").map_err(Failure::invalid)?);
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_operators_have_the_numbers_of_the_file_format() {
        assert_eq!(fulgurite_merge_operator::FULGURITE_MERGE_ADD as u8, MergeOperator::Add as u8);
        assert_eq!(fulgurite_merge_operator::FULGURITE_MERGE_XOR as u8, MergeOperator::Xor as u8);
        assert_eq!(MergeOperator::ALL.len(), fulgurite_merge_operator::FULGURITE_MERGE_XOR as usize);
    }

    #[test]
    fn names_of_types_are_stored_without_spaces() {
        let given = fulgurite_table_options {
            size: size_of::<fulgurite_table_options>(),
            counted: false,
            packed: false,
            value_align: 1,
            merge: 0,
            merge_function: std::ptr::null(),
            key_type: c"(u32, string)".as_ptr(),
            value_type: c" u64".as_ptr(),
        };
        // SAFETY: the texts end with a byte 0.
        let options = unsafe { table_options(Some(&given)) }.expect("both are names of types");
        assert_eq!(options, TableOptions::new().value_align(1).key_type("(u32,string)").value_type("u64"));
    }
}
