//! The C interface of RocksDB: the functions that are used, and owners of the objects that they return, so that
//! callers need nothing unsafe.
//!
//! The library is found when it is first needed, and stays loaded: its threads may run until the process ends. The
//! declarations follow `rocksdb/c.h`, whose functions have kept their parameters since version 7. Every pointer to
//! one of RocksDB's objects is a [`Handle`], which no one but its owner frees; the owners are in this file.
#![allow(unsafe_code)] // Foreign function edge.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::c_interface::dynamic::{found, functions, version_in_file_name};
use crate::c_interface::reader::Readable;
use crate::c_interface::records::{Batch, RecordFunctions};
use crate::c_interface::status::{Errors, Handle, Status};
use crate::interface::walk::Walk;

/// Name of the engine in reports.
pub const NAME: &str = "rocksdb";

/// Names that the library has in current distributions.
const LIBRARY_NAMES: [&str; 4] = ["librocksdb.so", "librocksdb.so.9.10", "librocksdb.so.8.9", "librocksdb.so.7.8"];

/// The beginning of all names of functions.
const PREFIX: &str = "rocksdb_";

functions! {
    /// The functions that this library does not share.
    struct Functions;
    open: "open" (Handle, *const c_char, Errors) -> Handle;
    close: "close" (Handle);
    put: "put" (Handle, Handle, *const c_char, usize, *const c_char, usize, Errors);
    write: "write" (Handle, Handle, Handle, Errors);
    get_pinned: "get_pinned" (Handle, Handle, *const c_char, usize, Errors) -> Handle;
    slice_value: "pinnableslice_value" (Handle, *mut usize) -> *const c_char;
    slice_destroy: "pinnableslice_destroy" (Handle);
    flush: "flush" (Handle, Handle, Errors);
    flush_wal: "flush_wal" (Handle, c_uchar, Errors);
    property_int: "property_int" (Handle, *const c_char, *mut u64) -> c_int;
    optimistic_open: "optimistictransactiondb_open" (Handle, *const c_char, Errors) -> Handle;
    optimistic_base: "optimistictransactiondb_get_base_db" (Handle) -> Handle;
    optimistic_close_base: "optimistictransactiondb_close_base_db" (Handle);
    optimistic_close: "optimistictransactiondb_close" (Handle);
    optimistic_options_create: "optimistictransaction_options_create" () -> Handle;
    begin: "optimistictransaction_begin" (Handle, Handle, Handle, Handle) -> Handle;
    txn_get: "transaction_get_pinned_for_update" (Handle, Handle, *const c_char, usize, c_uchar, Errors) -> Handle;
    txn_put: "transaction_put" (Handle, *const c_char, usize, *const c_char, usize, Errors);
    txn_delete: "transaction_delete" (Handle, *const c_char, usize, Errors);
    txn_commit: "transaction_commit" (Handle, Errors);
    txn_destroy: "transaction_destroy" (Handle);
    options_create: "options_create" () -> Handle;
    options_destroy: "options_destroy" (Handle);
    create_if_missing: "options_set_create_if_missing" (Handle, c_uchar);
    increase_parallelism: "options_increase_parallelism" (Handle, c_int);
    compression: "options_set_compression" (Handle, c_int);
    write_buffer_size: "options_set_write_buffer_size" (Handle, usize);
    max_write_buffer_number: "options_set_max_write_buffer_number" (Handle, c_int);
    dynamic_level_bytes: "options_set_level_compaction_dynamic_level_bytes" (Handle, c_uchar);
    bytes_per_sync: "options_set_bytes_per_sync" (Handle, u64);
    stats_dump_period: "options_set_stats_dump_period_sec" (Handle, c_uint);
    enable_statistics: "options_enable_statistics" (Handle);
    statistics: "options_statistics_get_string" (Handle) -> *mut c_char;
    table_options_create: "block_based_options_create" () -> Handle;
    table_options_destroy: "block_based_options_destroy" (Handle);
    block_size: "block_based_options_set_block_size" (Handle, usize);
    block_cache: "block_based_options_set_block_cache" (Handle, Handle);
    filter_policy: "block_based_options_set_filter_policy" (Handle, Handle);
    cache_index_and_filter: "block_based_options_set_cache_index_and_filter_blocks" (Handle, c_uchar);
    pin_level_0: "block_based_options_set_pin_l0_filter_and_index_blocks_in_cache" (Handle, c_uchar);
    format_version: "block_based_options_set_format_version" (Handle, c_int);
    table_factory: "options_set_block_based_table_factory" (Handle, Handle);
    cache_create: "cache_create_lru" (usize) -> Handle;
    cache_destroy: "cache_destroy" (Handle);
    bloom_create: "filterpolicy_create_bloom" (f64) -> Handle;
    read_options_create: "readoptions_create" () -> Handle;
    read_options_destroy: "readoptions_destroy" (Handle);
    write_options_create: "writeoptions_create" () -> Handle;
    write_options_destroy: "writeoptions_destroy" (Handle);
    write_options_sync: "writeoptions_set_sync" (Handle, c_uchar);
    write_options_disable_wal: "writeoptions_disable_WAL" (Handle, c_int);
    flush_options_create: "flushoptions_create" () -> Handle;
    flush_options_destroy: "flushoptions_destroy" (Handle);
    optimistic_options_destroy: "optimistictransaction_options_destroy" (Handle);
}

/// The library on this machine: its functions, and those that it shares with others.
struct Library {
    functions: Functions,
    records: RecordFunctions,
}

/// The library, found when it is first needed.
///
/// # Errors
/// That the library is missing, and what to install.
fn library() -> Result<&'static Library, &'static str> {
    static FOUND: OnceLock<Result<Library, String>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref().map_err(String::as_str)
}

fn find() -> Result<Library, String> {
    const INSTALL: &str = "install the package librocksdb-dev (Debian, Ubuntu) or rocksdb (others)";
    let library = found(&LIBRARY_NAMES).ok_or(format!("the library of RocksDB was not found: {INSTALL}"))?;
    let other = |error| format!("another RocksDB is needed ({error}): {INSTALL}");
    let functions = Functions::find(library, PREFIX).map_err(other)?;
    Ok(Library { functions, records: RecordFunctions::find(library, PREFIX).map_err(other)? })
}

/// The version in the name of the library's file: the C interface does not report it.
pub fn version() -> String {
    match library() {
        Ok(_) => version_in_file_name("librocksdb.so"),
        Err(_) => "unknown".to_owned(),
    }
}

/// Why RocksDB cannot be used here.
pub fn missing() -> Option<&'static str> {
    library().err()
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Size of a memtable.
    pub write_buffer_bytes: usize,
    /// Memtables at most, the one in use included.
    pub write_buffers_max: c_int,
    /// Threads for flushes and compactions.
    pub threads: c_int,
    /// Size of the block cache.
    pub cache_bytes: usize,
    /// Bits of the Bloom filter for each key.
    pub bloom_bits: f64,
    /// Size of a block of a table.
    pub block_bytes: usize,
    /// Written bytes after which the kernel is asked to begin writing back.
    pub bytes_per_sync: u64,
    /// Whether events are counted.
    pub statistics: bool,
}

/// What a write waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wal {
    /// There is no log.
    Off,
    /// The log is handed to the operating system.
    Unsynced,
    /// The log is synced.
    Synced,
}

/// An open database, with optimistic transactions or without.
pub struct Database {
    functions: &'static Functions,
    records: &'static RecordFunctions,
    options: Handle,
    read_options: Handle,
    write_options: Handle,
    flush_options: Handle,
    txn_options: Handle,
    optimistic: Option<Handle>,
    base: Handle,
    /// Transactions that have ended, to be begun again: RocksDB's way to save allocations.
    ended: Mutex<Vec<Ended>>,
}

struct Ended(Handle);

// SAFETY: a transaction that has ended is not bound to a thread.
unsafe impl Send for Ended {}

// SAFETY: RocksDB's databases may be used by any thread, and its options are only read once the database is open.
unsafe impl Send for Database {}

// SAFETY: as above; what is not made for several threads, the ended transactions, is behind a lock.
unsafe impl Sync for Database {}

impl Database {
    /// Opens or creates a database.
    pub fn open(directory: &Path, tuning: &Tuning, wal: Wal, transactions: bool) -> Result<Self, Status> {
        let Library { functions, records } = library().map_err(|reason| Status(reason.to_owned()))?;
        let path = CString::new(directory.as_os_str().as_encoded_bytes()).map_err(|error| Status(error.to_string()))?;
        let options = new_options(functions, tuning);
        let (optimistic, base) = if transactions {
            // SAFETY: the options are alive, and the path ends with a zero.
            let opened =
                records.checked(|errors| unsafe { (functions.optimistic_open)(options, path.as_ptr(), errors) });
            let optimistic = opened?;
            // SAFETY: the database is open.
            (Some(optimistic), unsafe { (functions.optimistic_base)(optimistic) })
        } else {
            // SAFETY: the options are alive, and the path ends with a zero.
            let opened = records.checked(|errors| unsafe { (functions.open)(options, path.as_ptr(), errors) });
            (None, opened?)
        };
        Ok(Self {
            functions,
            records,
            options,
            // SAFETY: the function has no parameters.
            read_options: unsafe { (functions.read_options_create)() },
            write_options: new_write_options(functions, wal),
            // SAFETY: the function has no parameters.
            flush_options: unsafe { (functions.flush_options_create)() },
            // SAFETY: the function has no parameters.
            txn_options: unsafe { (functions.optimistic_options_create)() },
            optimistic,
            base,
            ended: Mutex::default(),
        })
    }

    /// Puts one record.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        let (base, options) = (self.base, self.write_options);
        // SAFETY: the database and the options are alive; key and value are copied before the call returns.
        self.records
            .checked(|errors| unsafe { (self.functions.put)(base, options, k, key.len(), v, value.len(), errors) })
    }

    /// Writes a batch.
    pub fn write(&self, batch: &Batch) -> Result<(), Status> {
        let (base, options, handle) = (self.base, self.write_options, batch.handle());
        // SAFETY: database, options and batch are alive.
        self.records.checked(|errors| unsafe { (self.functions.write)(base, options, handle, errors) })
    }

    /// Writes a batch, without a log.
    pub fn write_without_log(&self, batch: &Batch) -> Result<(), Status> {
        let options = new_write_options(self.functions, Wal::Off);
        let (base, handle) = (self.base, batch.handle());
        // SAFETY: database, options and batch are alive.
        let written = self.records.checked(|errors| unsafe { (self.functions.write)(base, options, handle, errors) });
        // SAFETY: they were made above.
        unsafe { (self.functions.write_options_destroy)(options) };
        written
    }

    /// Hands the content of a slice to `read`, and frees the slice; a null slice is not a value.
    #[inline]
    fn read_slice<R>(&self, slice: Handle, read: impl FnOnce(Option<&[u8]>) -> R) -> R {
        if slice.is_null() {
            return read(None);
        }
        let mut length = 0;
        // SAFETY: the slice is alive until it is destroyed below.
        let start = unsafe { (self.functions.slice_value)(slice, &mut length) };
        // SAFETY: the slice pins so many bytes from there on.
        let value = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        let result = read(Some(value));
        // SAFETY: it was given to us, and `value` is not used any more.
        unsafe { (self.functions.slice_destroy)(slice) };
        result
    }

    /// An empty batch.
    pub fn new_batch(&self) -> Batch {
        self.records.new_batch()
    }

    /// Begins a transaction.
    ///
    /// Requires: the database was opened with transactions.
    pub fn begin(&self) -> Txn<'_> {
        let optimistic = self.optimistic.expect("the database was opened with transactions");
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let old = ended.map_or(null_mut(), |ended| ended.0);
        // SAFETY: database and options are alive; an old transaction has ended, and becomes the new one.
        let handle = unsafe { (self.functions.begin)(optimistic, self.write_options, self.txn_options, old) };
        Txn { database: self, handle }
    }

    /// Syncs the log.
    pub fn sync(&self) -> Result<(), Status> {
        // SAFETY: the database is alive.
        self.records.checked(|errors| unsafe { (self.functions.flush_wal)(self.base, 1, errors) })
    }

    /// Writes the memtable to a table.
    pub fn flush(&self) -> Result<(), Status> {
        // SAFETY: the database and the options are alive.
        self.records.checked(|errors| unsafe { (self.functions.flush)(self.base, self.flush_options, errors) })
    }

    /// One of RocksDB's numbers about itself.
    pub fn property(&self, name: &CStr) -> Option<u64> {
        let mut number = 0;
        // SAFETY: the database is alive, the name ends with a zero, and the number outlives the call.
        let failed = unsafe { (self.functions.property_int)(self.base, name.as_ptr(), &mut number) };
        (failed == 0).then_some(number)
    }

    /// What was counted, as text; `None` if nothing is.
    pub fn statistics(&self) -> Option<String> {
        // SAFETY: the options are alive.
        let text = unsafe { (self.functions.statistics)(self.options) };
        (!text.is_null()).then(|| self.records.owned_text(text))
    }
}

impl Readable for Database {
    const NAME: &'static str = NAME;

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status> {
        let (base, options, k) = (self.base, self.read_options, key.as_ptr().cast());
        // SAFETY: the database and the options are alive, and the key is not kept.
        let call = |errors| unsafe { (self.functions.get_pinned)(base, options, k, key.len(), errors) };
        let slice = self.records.checked(call)?;
        Ok(self.read_slice(slice, read))
    }

    fn scan(&self, walk: Walk<'_>, each: impl FnMut(&[u8], &[u8])) -> Result<(), Status> {
        self.records.scan([self.base, self.read_options], walk, each)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let functions = self.functions;
        for ended in self.ended.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: it has ended, and nobody else has it.
            unsafe { (functions.txn_destroy)(ended.0) };
        }
        match self.optimistic {
            Some(optimistic) => {
                // SAFETY: this frees the way to the base alone, which nobody uses any more.
                unsafe { (functions.optimistic_close_base)(self.base) };
                // SAFETY: transactions borrow the database, so there are none.
                unsafe { (functions.optimistic_close)(optimistic) };
            }
            // SAFETY: nobody uses the database any more.
            None => unsafe { (functions.close)(self.base) },
        }
        for (destroy, options) in [
            (functions.optimistic_options_destroy, self.txn_options),
            (functions.flush_options_destroy, self.flush_options),
            (functions.write_options_destroy, self.write_options),
            (functions.read_options_destroy, self.read_options),
            (functions.options_destroy, self.options),
        ] {
            // SAFETY: the function belongs to this kind of options, which are ours and not used any more.
            unsafe { destroy(options) };
        }
    }
}

/// A running transaction; dropping it ends it without a commit.
pub struct Txn<'d> {
    database: &'d Database,
    handle: Handle,
}

impl Txn<'_> {
    /// Hands the value of `key` to `read`; the commit will be refused if it has changed by then.
    #[inline]
    pub fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status> {
        let (functions, records) = (self.database.functions, self.database.records);
        let (options, k) = (self.database.read_options, key.as_ptr().cast());
        // SAFETY: the transaction and the options are alive, and the key is copied.
        let call = |errors| unsafe { (functions.txn_get)(self.handle, options, k, key.len(), 1, errors) };
        let slice = records.checked(call)?;
        Ok(self.database.read_slice(slice, read))
    }

    /// Gives `key` this value.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let (functions, records) = (self.database.functions, self.database.records);
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the transaction is alive; key and value are copied.
        records.checked(|errors| unsafe { (functions.txn_put)(self.handle, k, key.len(), v, value.len(), errors) })
    }

    /// Removes `key`.
    #[inline]
    pub fn delete(&mut self, key: &[u8]) -> Result<(), Status> {
        let (functions, records) = (self.database.functions, self.database.records);
        let k = key.as_ptr().cast();
        // SAFETY: the transaction is alive, and the key is copied.
        records.checked(|errors| unsafe { (functions.txn_delete)(self.handle, k, key.len(), errors) })
    }

    /// Commits.
    pub fn commit(self) -> Result<(), Status> {
        let (functions, records) = (self.database.functions, self.database.records);
        // SAFETY: the transaction is alive.
        records.checked(|errors| unsafe { (functions.txn_commit)(self.handle, errors) })
    }
}

impl Drop for Txn<'_> {
    /// Beginning it again, or destroying it, rolls back what was not committed.
    fn drop(&mut self) {
        self.database.ended.lock().unwrap_or_else(PoisonError::into_inner).push(Ended(self.handle));
    }
}

fn new_write_options(functions: &Functions, wal: Wal) -> Handle {
    // SAFETY: the function has no parameters.
    let options = unsafe { (functions.write_options_create)() };
    // SAFETY: the options were made above.
    unsafe { (functions.write_options_sync)(options, c_uchar::from(wal == Wal::Synced)) };
    // SAFETY: the options were made above.
    unsafe { (functions.write_options_disable_wal)(options, c_int::from(wal == Wal::Off)) };
    options
}

fn new_options(functions: &Functions, tuning: &Tuning) -> Handle {
    // SAFETY: the function has no parameters.
    let options = unsafe { (functions.options_create)() };
    // SAFETY: the options were made above, here and in the calls that follow.
    unsafe { (functions.create_if_missing)(options, 1) };
    // SAFETY: as above.
    unsafe { (functions.increase_parallelism)(options, tuning.threads) };
    // SAFETY: as above. 0 stands for no compression.
    unsafe { (functions.compression)(options, 0) };
    // SAFETY: as above.
    unsafe { (functions.write_buffer_size)(options, tuning.write_buffer_bytes) };
    // SAFETY: as above.
    unsafe { (functions.max_write_buffer_number)(options, tuning.write_buffers_max) };
    // SAFETY: as above.
    unsafe { (functions.dynamic_level_bytes)(options, 1) };
    // SAFETY: as above.
    unsafe { (functions.bytes_per_sync)(options, tuning.bytes_per_sync) };
    // SAFETY: as above. 0 turns the periodic report off, which would be paid for in other engines' turns.
    unsafe { (functions.stats_dump_period)(options, 0) };
    if tuning.statistics {
        // SAFETY: as above.
        unsafe { (functions.enable_statistics)(options) };
    }
    set_tables(functions, options, tuning);
    options
}

fn set_tables(functions: &Functions, options: Handle, tuning: &Tuning) {
    // SAFETY: the function has no parameters.
    let tables = unsafe { (functions.table_options_create)() };
    // SAFETY: the only parameter is a number.
    let cache = unsafe { (functions.cache_create)(tuning.cache_bytes) };
    // SAFETY: the table's options and the cache were made above; the options keep a share of the cache.
    unsafe { (functions.block_cache)(tables, cache) };
    // SAFETY: our share of the cache is not used any more.
    unsafe { (functions.cache_destroy)(cache) };
    // SAFETY: the only parameter is a number.
    let bloom = unsafe { (functions.bloom_create)(tuning.bloom_bits) };
    // SAFETY: the options become the owner of the filter's policy.
    unsafe { (functions.filter_policy)(tables, bloom) };
    // SAFETY: the table's options were made above, here and in the calls that follow.
    unsafe { (functions.block_size)(tables, tuning.block_bytes) };
    // SAFETY: as above.
    unsafe { (functions.cache_index_and_filter)(tables, 1) };
    // SAFETY: as above.
    unsafe { (functions.pin_level_0)(tables, 1) };
    // SAFETY: as above. 5 is the newest that version 7 knows.
    unsafe { (functions.format_version)(tables, 5) };
    // SAFETY: as above; the options copy what they need.
    unsafe { (functions.table_factory)(options, tables) };
    // SAFETY: they were made above and are not used any more.
    unsafe { (functions.table_options_destroy)(tables) };
}
