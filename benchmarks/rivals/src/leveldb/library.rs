//! The C interface of LevelDB: the functions that are used, and owners of what they hand out, so that nothing unsafe
//! is left to who uses them. The declarations follow `leveldb/c.h`, which has not changed since version 1.18.
#![allow(unsafe_code)] // Foreign function edge.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use crate::dynamic::{found, functions};
use crate::walk::Walk;

/// An object of LevelDB.
type Handle = *mut c_void;

/// Where a function leaves a text if it fails.
type Errors = *mut *mut c_char;

const LIBRARY_NAMES: [&str; 2] = ["libleveldb.so", "libleveldb.so.1d"];

functions! {
    open: "leveldb_open" (Handle, *const c_char, Errors) -> Handle;
    close: "leveldb_close" (Handle);
    put: "leveldb_put" (Handle, Handle, *const c_char, usize, *const c_char, usize, Errors);
    write: "leveldb_write" (Handle, Handle, Handle, Errors);
    get: "leveldb_get" (Handle, Handle, *const c_char, usize, *mut usize, Errors) -> *mut c_char;
    compact_range: "leveldb_compact_range" (Handle, *const c_char, usize, *const c_char, usize);
    free: "leveldb_free" (Handle);
    iterator_create: "leveldb_create_iterator" (Handle, Handle) -> Handle;
    iterator_first: "leveldb_iter_seek_to_first" (Handle);
    iterator_seek: "leveldb_iter_seek" (Handle, *const c_char, usize);
    iterator_valid: "leveldb_iter_valid" (Handle) -> c_uchar;
    iterator_next: "leveldb_iter_next" (Handle);
    iterator_previous: "leveldb_iter_prev" (Handle);
    iterator_last: "leveldb_iter_seek_to_last" (Handle);
    iterator_key: "leveldb_iter_key" (Handle, *mut usize) -> *const c_char;
    iterator_value: "leveldb_iter_value" (Handle, *mut usize) -> *const c_char;
    iterator_error: "leveldb_iter_get_error" (Handle, Errors);
    iterator_destroy: "leveldb_iter_destroy" (Handle);
    batch_create: "leveldb_writebatch_create" () -> Handle;
    batch_put: "leveldb_writebatch_put" (Handle, *const c_char, usize, *const c_char, usize);
    batch_destroy: "leveldb_writebatch_destroy" (Handle);
    options_create: "leveldb_options_create" () -> Handle;
    options_destroy: "leveldb_options_destroy" (Handle);
    create_if_missing: "leveldb_options_set_create_if_missing" (Handle, c_uchar);
    write_buffer_size: "leveldb_options_set_write_buffer_size" (Handle, usize);
    compression: "leveldb_options_set_compression" (Handle, c_int);
    cache: "leveldb_options_set_cache" (Handle, Handle);
    filter_policy: "leveldb_options_set_filter_policy" (Handle, Handle);
    cache_create: "leveldb_cache_create_lru" (usize) -> Handle;
    cache_destroy: "leveldb_cache_destroy" (Handle);
    bloom_create: "leveldb_filterpolicy_create_bloom" (c_int) -> Handle;
    bloom_destroy: "leveldb_filterpolicy_destroy" (Handle);
    read_options_create: "leveldb_readoptions_create" () -> Handle;
    read_options_destroy: "leveldb_readoptions_destroy" (Handle);
    write_options_create: "leveldb_writeoptions_create" () -> Handle;
    write_options_destroy: "leveldb_writeoptions_destroy" (Handle);
    write_options_sync: "leveldb_writeoptions_set_sync" (Handle, c_uchar);
    major_version: "leveldb_major_version" () -> c_int;
    minor_version: "leveldb_minor_version" () -> c_int;
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
    const INSTALL: &str = "install the package libleveldb-dev (Debian, Ubuntu) or leveldb (others)";
    let library = found(&LIBRARY_NAMES).ok_or(format!("the library of LevelDB was not found: {INSTALL}"))?;
    Functions::find(library).map_err(|error| format!("another LevelDB is needed ({error}): {INSTALL}"))
}

/// Why LevelDB cannot be used here.
pub fn missing() -> Option<&'static str> {
    functions().err()
}

/// What the library says that it is.
pub fn version() -> String {
    let Ok(functions) = functions() else { return "unknown".to_owned() };
    // SAFETY: it takes nothing.
    let major = unsafe { (functions.major_version)() };
    // SAFETY: it takes nothing.
    let minor = unsafe { (functions.minor_version)() };
    format!("{major}.{minor}")
}

/// What LevelDB answered when it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status(String);

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
        // SAFETY: LevelDB gives away texts that end with a zero.
        let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: it was given away, and nobody else has it.
        unsafe { (self.free)(text.cast()) };
        Status(copy)
    }
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Size of a memtable.
    pub write_buffer_bytes: usize,
    /// Size of the block cache.
    pub cache_bytes: usize,
    /// Bits of the Bloom filter for each key.
    pub bloom_bits: c_int,
    /// Whether each write waits until the log is synced.
    pub synced: bool,
}

/// An open database.
pub struct Database {
    functions: &'static Functions,
    base: Handle,
    options: Handle,
    read_options: Handle,
    write_options: Handle,
    synced_options: Handle,
    cache: Handle,
    bloom: Handle,
}

// SAFETY: LevelDB's databases may be used by any thread, and its options are only read once the database is open.
unsafe impl Send for Database {}

// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens or creates a database.
    pub fn open(directory: &Path, tuning: &Tuning) -> Result<Self, Status> {
        let functions = functions().map_err(|reason| Status(reason.to_owned()))?;
        let path = CString::new(directory.as_os_str().as_encoded_bytes());
        let path = path.map_err(|_| Status("the path has a zero byte".to_owned()))?;
        // SAFETY: it takes nothing.
        let options = unsafe { (functions.options_create)() };
        // SAFETY: it takes a number.
        let cache = unsafe { (functions.cache_create)(tuning.cache_bytes) };
        // SAFETY: it takes a number.
        let bloom = unsafe { (functions.bloom_create)(tuning.bloom_bits) };
        // SAFETY: the options were made above, here and in the calls that follow.
        unsafe { (functions.create_if_missing)(options, 1) };
        // SAFETY: as above.
        unsafe { (functions.write_buffer_size)(options, tuning.write_buffer_bytes) };
        // SAFETY: as above. 0 stands for no compression.
        unsafe { (functions.compression)(options, 0) };
        // SAFETY: as above; the cache lives as long as this database.
        unsafe { (functions.cache)(options, cache) };
        // SAFETY: as above; the filter's policy lives as long as this database.
        unsafe { (functions.filter_policy)(options, bloom) };
        let opened = functions.checked(|errors| {
            // SAFETY: the options are alive, and the path ends with a zero.
            unsafe { (functions.open)(options, path.as_ptr(), errors) }
        });
        let database = Self {
            functions,
            base: *opened.as_ref().unwrap_or(&null_mut()),
            options,
            // SAFETY: it takes nothing.
            read_options: unsafe { (functions.read_options_create)() },
            write_options: new_write_options(functions, tuning.synced),
            synced_options: new_write_options(functions, true),
            cache,
            bloom,
        };
        opened.map(|_| database)
    }

    /// Puts one record.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Status> {
        let (options, k, v) = (self.write_options, key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the database and the options are alive; key and value are copied.
        let call = |errors| unsafe { (self.functions.put)(self.base, options, k, key.len(), v, value.len(), errors) };
        self.functions.checked(call)
    }

    /// Writes a batch.
    pub fn write(&self, batch: &Batch) -> Result<(), Status> {
        self.write_with(self.write_options, batch)
    }

    /// Syncs the log, and with it all that is in it: an empty batch that is synced does so.
    pub fn sync(&self) -> Result<(), Status> {
        self.write_with(self.synced_options, &Batch::new(self))
    }

    fn write_with(&self, options: Handle, batch: &Batch) -> Result<(), Status> {
        // SAFETY: database, options and batch are alive.
        self.functions.checked(|errors| unsafe { (self.functions.write)(self.base, options, batch.handle, errors) })
    }

    /// Hands the newest value of `key` to `read`.
    #[inline]
    pub fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status> {
        let (options, k) = (self.read_options, key.as_ptr().cast());
        let mut length = 0;
        // SAFETY: the database and the options are alive, and the key is not kept.
        let call = |errors| unsafe { (self.functions.get)(self.base, options, k, key.len(), &mut length, errors) };
        let start = self.functions.checked(call)?;
        if start.is_null() {
            return Ok(read(None));
        }
        // SAFETY: so many bytes are ours until they are freed below.
        let value = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        let result = read(Some(value));
        // SAFETY: they were given away, and nobody has them any more.
        unsafe { (self.functions.free)(start.cast()) };
        Ok(result)
    }

    /// Compacts everything, and waits for it.
    pub fn compact(&self) {
        // SAFETY: the database is alive; null stands for no bound.
        unsafe { (self.functions.compact_range)(self.base, null(), 0, null(), 0) };
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
            Walk::Back(from, _) => self.seek_back(iterator, from),
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

impl Database {
    /// Moves to the last record whose key is not above `from`: LevelDB seeks upwards alone.
    fn seek_back(&self, iterator: Handle, from: &[u8]) {
        let functions = self.functions;
        // SAFETY: the iterator is alive, here and in the calls that follow; the key is not kept.
        unsafe { (functions.iterator_seek)(iterator, from.as_ptr().cast(), from.len()) };
        // SAFETY: as above.
        if unsafe { (functions.iterator_valid)(iterator) } == 0 {
            // SAFETY: as above.
            unsafe { (functions.iterator_last)(iterator) };
            return;
        }
        let mut length = 0;
        // SAFETY: the iterator stands on a record.
        let key = unsafe { (functions.iterator_key)(iterator, &mut length) };
        // SAFETY: so many bytes stay there until the iterator moves.
        let is_above = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), length) } > from;
        if is_above {
            // SAFETY: the iterator stands on a record.
            unsafe { (functions.iterator_previous)(iterator) };
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let functions = self.functions;
        if !self.base.is_null() {
            // SAFETY: it is ours, and not used any more.
            unsafe { (functions.close)(self.base) };
        }
        for (destroy, object) in [
            (functions.write_options_destroy, self.write_options),
            (functions.write_options_destroy, self.synced_options),
            (functions.read_options_destroy, self.read_options),
            (functions.options_destroy, self.options),
            (functions.bloom_destroy, self.bloom),
            (functions.cache_destroy, self.cache),
        ] {
            // SAFETY: the function belongs to this kind of object, which is ours, and which the closed database used
            // alone.
            unsafe { destroy(object) };
        }
    }
}

fn new_write_options(functions: &Functions, synced: bool) -> Handle {
    // SAFETY: it takes nothing.
    let options = unsafe { (functions.write_options_create)() };
    // SAFETY: the options were made above.
    unsafe { (functions.write_options_sync)(options, c_uchar::from(synced)) };
    options
}

/// Puts to be written together.
pub struct Batch {
    functions: &'static Functions,
    handle: Handle,
}

impl Batch {
    /// Empty.
    pub fn new(database: &Database) -> Self {
        let functions = database.functions;
        // SAFETY: it takes nothing.
        Self { functions, handle: unsafe { (functions.batch_create)() } }
    }

    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the batch is alive; key and value are copied.
        unsafe { (self.functions.batch_put)(self.handle, k, key.len(), v, value.len()) };
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: it is ours, and not used any more.
        unsafe { (self.functions.batch_destroy)(self.handle) };
    }
}
