//! The C interface of RocksDB: the functions that are used, and owners of what they hand out, so that nothing unsafe
//! is left to who uses them.
//!
//! The library is found when it is first asked for, and stays: its threads may run until the process ends. The
//! declarations follow `rocksdb/c.h`, whose functions have kept their parameters since version 7. Every pointer to
//! one of RocksDB's objects is a [`Handle`], which no one but its owner frees; the owners are in this file.
#![allow(unsafe_code)] // Foreign function edge.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::dynamic::{found, functions, version_in_file_name};
use crate::walk::Walk;

/// An object of RocksDB.
type Handle = *mut c_void;

/// Where a function leaves a text if it fails.
type Errors = *mut *mut c_char;

/// Names that the library has in current distributions.
const LIBRARY_NAMES: [&str; 4] = ["librocksdb.so", "librocksdb.so.9.10", "librocksdb.so.8.9", "librocksdb.so.7.8"];

functions! {
    open: "rocksdb_open" (Handle, *const c_char, Errors) -> Handle;
    close: "rocksdb_close" (Handle);
    put: "rocksdb_put" (Handle, Handle, *const c_char, usize, *const c_char, usize, Errors);
    write: "rocksdb_write" (Handle, Handle, Handle, Errors);
    get_pinned: "rocksdb_get_pinned" (Handle, Handle, *const c_char, usize, Errors) -> Handle;
    slice_value: "rocksdb_pinnableslice_value" (Handle, *mut usize) -> *const c_char;
    slice_destroy: "rocksdb_pinnableslice_destroy" (Handle);
    flush: "rocksdb_flush" (Handle, Handle, Errors);
    flush_wal: "rocksdb_flush_wal" (Handle, c_uchar, Errors);
    property_int: "rocksdb_property_int" (Handle, *const c_char, *mut u64) -> c_int;
    free: "rocksdb_free" (Handle);
    batch_create: "rocksdb_writebatch_create" () -> Handle;
    batch_put: "rocksdb_writebatch_put" (Handle, *const c_char, usize, *const c_char, usize);
    batch_clear: "rocksdb_writebatch_clear" (Handle);
    batch_destroy: "rocksdb_writebatch_destroy" (Handle);
    iterator_create: "rocksdb_create_iterator" (Handle, Handle) -> Handle;
    iterator_first: "rocksdb_iter_seek_to_first" (Handle);
    iterator_seek: "rocksdb_iter_seek" (Handle, *const c_char, usize);
    iterator_valid: "rocksdb_iter_valid" (Handle) -> c_uchar;
    iterator_next: "rocksdb_iter_next" (Handle);
    iterator_previous: "rocksdb_iter_prev" (Handle);
    iterator_seek_back: "rocksdb_iter_seek_for_prev" (Handle, *const c_char, usize);
    iterator_key: "rocksdb_iter_key" (Handle, *mut usize) -> *const c_char;
    iterator_value: "rocksdb_iter_value" (Handle, *mut usize) -> *const c_char;
    iterator_error: "rocksdb_iter_get_error" (Handle, Errors);
    iterator_destroy: "rocksdb_iter_destroy" (Handle);
    optimistic_open: "rocksdb_optimistictransactiondb_open" (Handle, *const c_char, Errors) -> Handle;
    optimistic_base: "rocksdb_optimistictransactiondb_get_base_db" (Handle) -> Handle;
    optimistic_close_base: "rocksdb_optimistictransactiondb_close_base_db" (Handle);
    optimistic_close: "rocksdb_optimistictransactiondb_close" (Handle);
    optimistic_options_create: "rocksdb_optimistictransaction_options_create" () -> Handle;
    begin: "rocksdb_optimistictransaction_begin" (Handle, Handle, Handle, Handle) -> Handle;
    txn_get: "rocksdb_transaction_get_pinned_for_update" (Handle, Handle, *const c_char, usize, c_uchar, Errors) -> Handle;
    txn_put: "rocksdb_transaction_put" (Handle, *const c_char, usize, *const c_char, usize, Errors);
    txn_delete: "rocksdb_transaction_delete" (Handle, *const c_char, usize, Errors);
    txn_commit: "rocksdb_transaction_commit" (Handle, Errors);
    txn_destroy: "rocksdb_transaction_destroy" (Handle);
    options_create: "rocksdb_options_create" () -> Handle;
    options_destroy: "rocksdb_options_destroy" (Handle);
    create_if_missing: "rocksdb_options_set_create_if_missing" (Handle, c_uchar);
    increase_parallelism: "rocksdb_options_increase_parallelism" (Handle, c_int);
    compression: "rocksdb_options_set_compression" (Handle, c_int);
    write_buffer_size: "rocksdb_options_set_write_buffer_size" (Handle, usize);
    max_write_buffer_number: "rocksdb_options_set_max_write_buffer_number" (Handle, c_int);
    dynamic_level_bytes: "rocksdb_options_set_level_compaction_dynamic_level_bytes" (Handle, c_uchar);
    bytes_per_sync: "rocksdb_options_set_bytes_per_sync" (Handle, u64);
    stats_dump_period: "rocksdb_options_set_stats_dump_period_sec" (Handle, c_uint);
    enable_statistics: "rocksdb_options_enable_statistics" (Handle);
    statistics: "rocksdb_options_statistics_get_string" (Handle) -> *mut c_char;
    table_options_create: "rocksdb_block_based_options_create" () -> Handle;
    table_options_destroy: "rocksdb_block_based_options_destroy" (Handle);
    block_size: "rocksdb_block_based_options_set_block_size" (Handle, usize);
    block_cache: "rocksdb_block_based_options_set_block_cache" (Handle, Handle);
    filter_policy: "rocksdb_block_based_options_set_filter_policy" (Handle, Handle);
    cache_index_and_filter: "rocksdb_block_based_options_set_cache_index_and_filter_blocks" (Handle, c_uchar);
    pin_level_0: "rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache" (Handle, c_uchar);
    format_version: "rocksdb_block_based_options_set_format_version" (Handle, c_int);
    table_factory: "rocksdb_options_set_block_based_table_factory" (Handle, Handle);
    cache_create: "rocksdb_cache_create_lru" (usize) -> Handle;
    cache_destroy: "rocksdb_cache_destroy" (Handle);
    bloom_create: "rocksdb_filterpolicy_create_bloom" (f64) -> Handle;
    read_options_create: "rocksdb_readoptions_create" () -> Handle;
    read_options_destroy: "rocksdb_readoptions_destroy" (Handle);
    write_options_create: "rocksdb_writeoptions_create" () -> Handle;
    write_options_destroy: "rocksdb_writeoptions_destroy" (Handle);
    write_options_sync: "rocksdb_writeoptions_set_sync" (Handle, c_uchar);
    write_options_disable_wal: "rocksdb_writeoptions_disable_WAL" (Handle, c_int);
    flush_options_create: "rocksdb_flushoptions_create" () -> Handle;
    flush_options_destroy: "rocksdb_flushoptions_destroy" (Handle);
    optimistic_options_destroy: "rocksdb_optimistictransaction_options_destroy" (Handle);
}

/// The functions of the library on this machine.
///
/// # Errors
/// That there is none, and what to install.
fn functions() -> Result<&'static Functions, &'static str> {
    static FOUND: OnceLock<Result<Functions, String>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref().map_err(String::as_str)
}

fn find() -> Result<Functions, String> {
    const INSTALL: &str = "install the package librocksdb-dev (Debian, Ubuntu) or rocksdb (others)";
    let library = found(&LIBRARY_NAMES).ok_or(format!("the library of RocksDB was not found: {INSTALL}"))?;
    Functions::find(library).map_err(|error| format!("another RocksDB is needed ({error}): {INSTALL}"))
}

/// The version that is in the name of the library's file: its C interface does not tell.
pub fn version() -> String {
    match functions() {
        Ok(_) => version_in_file_name("librocksdb.so"),
        Err(_) => "unknown".to_owned(),
    }
}

/// Why RocksDB cannot be used here.
pub fn missing() -> Option<&'static str> {
    functions().err()
}

/// What RocksDB answered when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status(String);

impl Status {
    /// Whether it says that another transaction was in the way, or that it cannot be told whether one was.
    pub fn is_conflict(&self) -> bool {
        self.0.starts_with("Resource busy") || self.0.starts_with("Operation failed. Try again.")
    }
}

impl From<Status> for Box<dyn std::error::Error + Send + Sync> {
    fn from(status: Status) -> Self {
        status.0.into()
    }
}

impl Functions {
    /// Runs a call that may leave the text of an error.
    #[inline(always)]
    fn checked<T>(&self, call: impl FnOnce(Errors) -> T) -> Result<T, Status> {
        let mut text = null_mut();
        let result = call(&mut text);
        if text.is_null() { Ok(result) } else { Err(self.status(text)) }
    }

    #[cold]
    fn status(&self, text: *mut c_char) -> Status {
        Status(self.owned_text(text))
    }

    /// Copies a text that RocksDB gave away, and frees it.
    fn owned_text(&self, text: *mut c_char) -> String {
        // SAFETY: RocksDB gives away texts that end with a zero.
        let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: it was given away, and nobody else has it.
        unsafe { (self.free)(text.cast()) };
        copy
    }
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
        let functions = functions().map_err(|reason| Status(reason.to_owned()))?;
        let path = CString::new(directory.as_os_str().as_encoded_bytes()).map_err(|error| Status(error.to_string()))?;
        let options = new_options(functions, tuning);
        let (optimistic, base) = if transactions {
            // SAFETY: the options are alive, and the path ends with a zero.
            let opened =
                functions.checked(|errors| unsafe { (functions.optimistic_open)(options, path.as_ptr(), errors) });
            let optimistic = opened?;
            // SAFETY: the database is open.
            (Some(optimistic), unsafe { (functions.optimistic_base)(optimistic) })
        } else {
            // SAFETY: the options are alive, and the path ends with a zero.
            let opened = functions.checked(|errors| unsafe { (functions.open)(options, path.as_ptr(), errors) });
            (None, opened?)
        };
        Ok(Self {
            functions,
            options,
            // SAFETY: it takes nothing.
            read_options: unsafe { (functions.read_options_create)() },
            write_options: new_write_options(functions, wal),
            // SAFETY: it takes nothing.
            flush_options: unsafe { (functions.flush_options_create)() },
            // SAFETY: it takes nothing.
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
        self.functions
            .checked(|errors| unsafe { (self.functions.put)(base, options, k, key.len(), v, value.len(), errors) })
    }

    /// Writes a batch.
    pub fn write(&self, batch: &Batch) -> Result<(), Status> {
        let (base, options, handle) = (self.base, self.write_options, batch.handle);
        // SAFETY: database, options and batch are alive.
        self.functions.checked(|errors| unsafe { (self.functions.write)(base, options, handle, errors) })
    }

    /// Writes a batch, without a log.
    pub fn write_without_log(&self, batch: &Batch) -> Result<(), Status> {
        let options = new_write_options(self.functions, Wal::Off);
        let (base, handle) = (self.base, batch.handle);
        // SAFETY: database, options and batch are alive.
        let written = self.functions.checked(|errors| unsafe { (self.functions.write)(base, options, handle, errors) });
        // SAFETY: they were made above.
        unsafe { (self.functions.write_options_destroy)(options) };
        written
    }

    /// Hands the value of `key` to `read`.
    #[inline]
    pub fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status> {
        let (base, options, k) = (self.base, self.read_options, key.as_ptr().cast());
        // SAFETY: the database and the options are alive, and the key is not kept.
        let call = |errors| unsafe { (self.functions.get_pinned)(base, options, k, key.len(), errors) };
        let slice = self.functions.checked(call)?;
        Ok(self.read_slice(slice, read))
    }

    /// Hands what a slice holds to `read`, and lets go of it; a null slice stands for no value.
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
        self.functions.checked(|errors| unsafe { (self.functions.flush_wal)(self.base, 1, errors) })
    }

    /// Writes the memtable to a table.
    pub fn flush(&self) -> Result<(), Status> {
        // SAFETY: the database and the options are alive.
        self.functions.checked(|errors| unsafe { (self.functions.flush)(self.base, self.flush_options, errors) })
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
        (!text.is_null()).then(|| self.functions.owned_text(text))
    }

    /// The records of a walk.
    pub fn scan(&self, walk: Walk<'_>, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Status> {
        let functions = self.functions;
        // SAFETY: the database and the options are alive.
        let iterator = unsafe { (functions.iterator_create)(self.base, self.read_options) };
        match walk {
            // SAFETY: the iterator was made above, here and in the calls that follow.
            Walk::All => unsafe { (functions.iterator_first)(iterator) },
            // SAFETY: as above; the key is not kept.
            Walk::Forward(from, _) | Walk::Prefix(from) => unsafe {
                (functions.iterator_seek)(iterator, from.as_ptr().cast(), from.len())
            },
            // SAFETY: as above; the key is not kept.
            Walk::Back(from, _) => unsafe {
                (functions.iterator_seek_back)(iterator, from.as_ptr().cast(), from.len())
            },
        }
        let step = if walk.is_back() { functions.iterator_previous } else { functions.iterator_next };
        let mut left = walk.count_max();
        // SAFETY: as above.
        while left > 0 && unsafe { (functions.iterator_valid)(iterator) } != 0 {
            left -= 1;
            let (mut key_length, mut value_length) = (0, 0);
            // SAFETY: the iterator stands on a record.
            let key = unsafe { (functions.iterator_key)(iterator, &mut key_length) };
            // SAFETY: the iterator stands on a record.
            let value = unsafe { (functions.iterator_value)(iterator, &mut value_length) };
            // SAFETY: so many bytes stay there until the iterator moves.
            let key = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), key_length) };
            // SAFETY: so many bytes stay there until the iterator moves.
            let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), value_length) };
            if !walk.has(key) {
                break;
            }
            each(key, value);
            // SAFETY: the iterator stands on a record.
            unsafe { step(iterator) };
        }
        // SAFETY: as above.
        let result = functions.checked(|errors| unsafe { (functions.iterator_error)(iterator, errors) });
        // SAFETY: it was made above and is not used any more.
        unsafe { (functions.iterator_destroy)(iterator) };
        result
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
        let functions = self.database.functions;
        let (options, k) = (self.database.read_options, key.as_ptr().cast());
        // SAFETY: the transaction and the options are alive, and the key is copied.
        let call = |errors| unsafe { (functions.txn_get)(self.handle, options, k, key.len(), 1, errors) };
        let slice = functions.checked(call)?;
        Ok(self.database.read_slice(slice, read))
    }

    /// Gives `key` this value.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let functions = self.database.functions;
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the transaction is alive; key and value are copied.
        functions.checked(|errors| unsafe { (functions.txn_put)(self.handle, k, key.len(), v, value.len(), errors) })
    }

    /// Takes `key` away.
    #[inline]
    pub fn delete(&mut self, key: &[u8]) -> Result<(), Status> {
        let functions = self.database.functions;
        let k = key.as_ptr().cast();
        // SAFETY: the transaction is alive, and the key is copied.
        functions.checked(|errors| unsafe { (functions.txn_delete)(self.handle, k, key.len(), errors) })
    }

    /// Commits.
    pub fn commit(self) -> Result<(), Status> {
        let functions = self.database.functions;
        // SAFETY: the transaction is alive.
        functions.checked(|errors| unsafe { (functions.txn_commit)(self.handle, errors) })
    }
}

impl Drop for Txn<'_> {
    /// Beginning it again, or destroying it, rolls back what was not committed.
    fn drop(&mut self) {
        self.database.ended.lock().unwrap_or_else(PoisonError::into_inner).push(Ended(self.handle));
    }
}

/// Puts to be written together.
pub struct Batch {
    functions: &'static Functions,
    handle: Handle,
}

impl Batch {
    /// Empty; `None` where there is no library.
    pub fn new() -> Option<Self> {
        let functions = functions().ok()?;
        // SAFETY: it takes nothing.
        Some(Self { functions, handle: unsafe { (functions.batch_create)() } })
    }

    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the batch is alive; key and value are copied.
        unsafe { (self.functions.batch_put)(self.handle, k, key.len(), v, value.len()) };
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        // SAFETY: the batch is alive.
        unsafe { (self.functions.batch_clear)(self.handle) };
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: it is ours, and not used any more.
        unsafe { (self.functions.batch_destroy)(self.handle) };
    }
}

fn new_write_options(functions: &Functions, wal: Wal) -> Handle {
    // SAFETY: it takes nothing.
    let options = unsafe { (functions.write_options_create)() };
    // SAFETY: the options were made above.
    unsafe { (functions.write_options_sync)(options, c_uchar::from(wal == Wal::Synced)) };
    // SAFETY: the options were made above.
    unsafe { (functions.write_options_disable_wal)(options, c_int::from(wal == Wal::Off)) };
    options
}

fn new_options(functions: &Functions, tuning: &Tuning) -> Handle {
    // SAFETY: it takes nothing.
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
    // SAFETY: it takes nothing.
    let tables = unsafe { (functions.table_options_create)() };
    // SAFETY: it takes a number.
    let cache = unsafe { (functions.cache_create)(tuning.cache_bytes) };
    // SAFETY: the table's options and the cache were made above; the options keep a share of the cache.
    unsafe { (functions.block_cache)(tables, cache) };
    // SAFETY: our share of the cache is not used any more.
    unsafe { (functions.cache_destroy)(cache) };
    // SAFETY: it takes a number.
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
