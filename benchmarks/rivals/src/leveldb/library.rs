//! The C interface of LevelDB: the functions that are used, and owners of the objects that they return, so that
//! callers need nothing unsafe. The declarations follow `leveldb/c.h`, which has not changed since version 1.18.
#![allow(unsafe_code)] // Foreign function edge.

use std::ffi::{CString, c_char, c_int, c_uchar};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use crate::c_interface::dynamic::{found, functions};
use crate::c_interface::reader::Readable;
use crate::c_interface::records::{Batch, RecordFunctions};
use crate::c_interface::status::{Errors, Handle, Status};
use crate::interface::walk::Walk;

/// Name of the engine in reports.
pub const NAME: &str = "leveldb";

const LIBRARY_NAMES: [&str; 2] = ["libleveldb.so", "libleveldb.so.1d"];

/// The beginning of all names of functions.
const PREFIX: &str = "leveldb_";

functions! {
    /// The functions that this library does not share.
    struct Functions;
    open: "open" (Handle, *const c_char, Errors) -> Handle;
    close: "close" (Handle);
    put: "put" (Handle, Handle, *const c_char, usize, *const c_char, usize, Errors);
    write: "write" (Handle, Handle, Handle, Errors);
    get: "get" (Handle, Handle, *const c_char, usize, *mut usize, Errors) -> *mut c_char;
    compact_range: "compact_range" (Handle, *const c_char, usize, *const c_char, usize);
    options_create: "options_create" () -> Handle;
    options_destroy: "options_destroy" (Handle);
    create_if_missing: "options_set_create_if_missing" (Handle, c_uchar);
    write_buffer_size: "options_set_write_buffer_size" (Handle, usize);
    compression: "options_set_compression" (Handle, c_int);
    cache: "options_set_cache" (Handle, Handle);
    filter_policy: "options_set_filter_policy" (Handle, Handle);
    cache_create: "cache_create_lru" (usize) -> Handle;
    cache_destroy: "cache_destroy" (Handle);
    bloom_create: "filterpolicy_create_bloom" (c_int) -> Handle;
    bloom_destroy: "filterpolicy_destroy" (Handle);
    read_options_create: "readoptions_create" () -> Handle;
    read_options_destroy: "readoptions_destroy" (Handle);
    write_options_create: "writeoptions_create" () -> Handle;
    write_options_destroy: "writeoptions_destroy" (Handle);
    write_options_sync: "writeoptions_set_sync" (Handle, c_uchar);
    major_version: "major_version" () -> c_int;
    minor_version: "minor_version" () -> c_int;
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
    const INSTALL: &str = "install the package libleveldb-dev (Debian, Ubuntu) or leveldb (others)";
    let library = found(&LIBRARY_NAMES).ok_or(format!("the library of LevelDB was not found: {INSTALL}"))?;
    let other = |error| format!("another LevelDB is needed ({error}): {INSTALL}");
    let functions = Functions::find(library, PREFIX).map_err(other)?;
    Ok(Library { functions, records: RecordFunctions::find(library, PREFIX).map_err(other)? })
}

/// Why LevelDB cannot be used here.
pub fn missing() -> Option<&'static str> {
    library().err()
}

/// What the library says that it is.
pub fn version() -> String {
    let Ok(Library { functions, .. }) = library() else { return "unknown".to_owned() };
    // SAFETY: the function has no parameters.
    let major = unsafe { (functions.major_version)() };
    // SAFETY: the function has no parameters.
    let minor = unsafe { (functions.minor_version)() };
    format!("{major}.{minor}")
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
    records: &'static RecordFunctions,
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
        let Library { functions, records } = library().map_err(|reason| Status(reason.to_owned()))?;
        let path = CString::new(directory.as_os_str().as_encoded_bytes());
        let path = path.map_err(|_| Status("the path has a zero byte".to_owned()))?;
        // SAFETY: the function has no parameters.
        let options = unsafe { (functions.options_create)() };
        // SAFETY: the only parameter is a number.
        let cache = unsafe { (functions.cache_create)(tuning.cache_bytes) };
        // SAFETY: the only parameter is a number.
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
        let opened = records.checked(|errors| {
            // SAFETY: the options are alive, and the path ends with a zero.
            unsafe { (functions.open)(options, path.as_ptr(), errors) }
        });
        let database = Self {
            functions,
            records,
            base: *opened.as_ref().unwrap_or(&null_mut()),
            options,
            // SAFETY: the function has no parameters.
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
        self.records.checked(call)
    }

    /// Writes a batch.
    pub fn write(&self, batch: &Batch) -> Result<(), Status> {
        self.write_with(self.write_options, batch)
    }

    /// Syncs the log, and with it all that is in it: an empty batch that is synced does so.
    pub fn sync(&self) -> Result<(), Status> {
        self.write_with(self.synced_options, &self.new_batch())
    }

    /// An empty batch.
    pub fn new_batch(&self) -> Batch {
        self.records.new_batch()
    }

    fn write_with(&self, options: Handle, batch: &Batch) -> Result<(), Status> {
        // SAFETY: database, options and batch are alive.
        self.records.checked(|errors| unsafe { (self.functions.write)(self.base, options, batch.handle(), errors) })
    }

    /// Compacts everything, and waits for it.
    pub fn compact(&self) {
        // SAFETY: the database is alive; null stands for no bound.
        unsafe { (self.functions.compact_range)(self.base, null(), 0, null(), 0) };
    }
}

impl Readable for Database {
    const NAME: &'static str = NAME;

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Status> {
        let (options, k) = (self.read_options, key.as_ptr().cast());
        let mut length = 0;
        // SAFETY: the database and the options are alive, and the key is not kept.
        let call = |errors| unsafe { (self.functions.get)(self.base, options, k, key.len(), &mut length, errors) };
        let start = self.records.checked(call)?;
        if start.is_null() {
            return Ok(read(None));
        }
        // SAFETY: so many bytes are ours until they are freed below.
        let value = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        let result = read(Some(value));
        self.records.free(start.cast());
        Ok(result)
    }

    fn scan(&self, walk: Walk<'_>, each: impl FnMut(&[u8], &[u8])) -> Result<(), Status> {
        self.records.scan([self.base, self.read_options], walk, each)
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
    // SAFETY: the function has no parameters.
    let options = unsafe { (functions.write_options_create)() };
    // SAFETY: the options were made above.
    unsafe { (functions.write_options_sync)(options, c_uchar::from(synced)) };
    options
}
