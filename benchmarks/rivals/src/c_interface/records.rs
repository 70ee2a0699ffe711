//! Batches and scans of C interfaces of LevelDB's shape: RocksDB's functions have the same names after the prefix,
//! and the same parameters.
#![allow(unsafe_code)] // Foreign function edge.

use std::ffi::{CStr, c_char, c_uchar};
use std::ptr::null_mut;

use libloading::Library;

use crate::c_interface::dynamic::functions;
use crate::c_interface::status::{Errors, Handle, Status};
use crate::interface::walk::Walk;

functions! {
    /// Functions that both libraries have.
    struct Shared;
    free: "free" (Handle);
    iterator_create: "create_iterator" (Handle, Handle) -> Handle;
    iterator_first: "iter_seek_to_first" (Handle);
    iterator_last: "iter_seek_to_last" (Handle);
    iterator_seek: "iter_seek" (Handle, *const c_char, usize);
    iterator_valid: "iter_valid" (Handle) -> c_uchar;
    iterator_next: "iter_next" (Handle);
    iterator_previous: "iter_prev" (Handle);
    iterator_key: "iter_key" (Handle, *mut usize) -> *const c_char;
    iterator_value: "iter_value" (Handle, *mut usize) -> *const c_char;
    iterator_error: "iter_get_error" (Handle, Errors);
    iterator_destroy: "iter_destroy" (Handle);
    batch_create: "writebatch_create" () -> Handle;
    batch_put: "writebatch_put" (Handle, *const c_char, usize, *const c_char, usize);
    batch_clear: "writebatch_clear" (Handle);
    batch_destroy: "writebatch_destroy" (Handle);
}

/// A function that moves an iterator to the last record whose key is not above a key.
type SeekBack = unsafe extern "C" fn(Handle, *const c_char, usize);

/// The functions for batches and scans.
pub struct RecordFunctions {
    shared: Shared,
    /// RocksDB has such a function. LevelDB seeks upwards only.
    seek_back: Option<SeekBack>,
}

impl RecordFunctions {
    /// Looks the functions up, whose names begin with `prefix`.
    ///
    /// # Errors
    /// The name of a function that the library lacks.
    pub fn find(library: &Library, prefix: &str) -> Result<Self, libloading::Error> {
        // SAFETY: the type is that of the declaration in RocksDB's header; LevelDB has no function of this name.
        let seek_back = unsafe { library.get(format!("{prefix}iter_seek_for_prev").as_bytes()) };
        Ok(Self { shared: Shared::find(library, prefix)?, seek_back: seek_back.ok().map(|found| *found) })
    }

    /// Runs a call that may leave the text of an error.
    ///
    /// # Errors
    /// That text.
    #[inline(always)]
    pub fn checked<T>(&self, call: impl FnOnce(Errors) -> T) -> Result<T, Status> {
        let mut text = null_mut();
        let result = call(&mut text);
        if text.is_null() { Ok(result) } else { Err(self.status(text)) }
    }

    #[cold]
    fn status(&self, text: *mut c_char) -> Status {
        Status(self.owned_text(text))
    }

    /// Copies a text that the library gave away, and frees it.
    pub fn owned_text(&self, text: *mut c_char) -> String {
        // SAFETY: these libraries give away texts that end with a zero.
        let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        self.free(text.cast());
        copy
    }

    /// Frees what the library gave away, which no one else has.
    pub fn free(&self, given: Handle) {
        // SAFETY: the library gave it away, and the caller has it alone.
        unsafe { (self.shared.free)(given) };
    }

    /// Hands the records of a walk to `each`.
    ///
    /// Requires: `database` and `read_options` are alive objects of this library.
    ///
    /// # Errors
    /// What the library answered.
    pub fn scan(
        &self,
        [database, read_options]: [Handle; 2],
        walk: Walk<'_>,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Status> {
        let functions = &self.shared;
        // SAFETY: the database and the options are alive.
        let iterator = unsafe { (functions.iterator_create)(database, read_options) };
        self.move_to_first(iterator, walk);
        let step = if walk.is_back() { functions.iterator_previous } else { functions.iterator_next };
        let mut left = walk.count_max();
        // SAFETY: the iterator is alive, here and in the calls that follow.
        while left > 0 && unsafe { (functions.iterator_valid)(iterator) } != 0 {
            left -= 1;
            let (mut key_length, mut value_length) = (0, 0);
            // SAFETY: the iterator is at a record.
            let key = unsafe { (functions.iterator_key)(iterator, &mut key_length) };
            // SAFETY: the iterator is at a record.
            let value = unsafe { (functions.iterator_value)(iterator, &mut value_length) };
            // SAFETY: so many bytes stay valid until the iterator moves.
            let key = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), key_length) };
            // SAFETY: so many bytes stay valid until the iterator moves.
            let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), value_length) };
            if !walk.has(key) {
                break;
            }
            each(key, value);
            // SAFETY: the iterator is at a record.
            unsafe { step(iterator) };
        }
        // SAFETY: as above.
        let result = self.checked(|errors| unsafe { (functions.iterator_error)(iterator, errors) });
        // SAFETY: the iterator was made above and is not used any more.
        unsafe { (functions.iterator_destroy)(iterator) };
        result
    }

    /// Moves a new iterator to the first record of a walk, if the walk has one.
    fn move_to_first(&self, iterator: Handle, walk: Walk<'_>) {
        let functions = &self.shared;
        match (walk, self.seek_back) {
            // SAFETY: the iterator is alive, here and in the calls that follow.
            (Walk::All, _) => unsafe { (functions.iterator_first)(iterator) },
            // SAFETY: as above; the key is not kept.
            (Walk::Forward(from, _) | Walk::Prefix(from), _) => unsafe {
                (functions.iterator_seek)(iterator, from.as_ptr().cast(), from.len())
            },
            // SAFETY: as above; the key is not kept.
            (Walk::Back(from, _), Some(seek_back)) => unsafe { seek_back(iterator, from.as_ptr().cast(), from.len()) },
            (Walk::Back(from, _), None) => self.seek_up_then_back(iterator, from),
        }
    }

    /// Moves to the last record whose key is not above `from`, with a seek upwards.
    fn seek_up_then_back(&self, iterator: Handle, from: &[u8]) {
        let functions = &self.shared;
        // SAFETY: the iterator is alive, here and in the calls that follow; the key is not kept.
        unsafe { (functions.iterator_seek)(iterator, from.as_ptr().cast(), from.len()) };
        // SAFETY: as above.
        if unsafe { (functions.iterator_valid)(iterator) } == 0 {
            // SAFETY: as above.
            unsafe { (functions.iterator_last)(iterator) };
            return;
        }
        let mut length = 0;
        // SAFETY: the iterator is at a record.
        let key = unsafe { (functions.iterator_key)(iterator, &mut length) };
        // SAFETY: so many bytes stay valid until the iterator moves.
        let is_above = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), length) } > from;
        if is_above {
            // SAFETY: the iterator is at a record.
            unsafe { (functions.iterator_previous)(iterator) };
        }
    }

    /// An empty batch.
    pub fn new_batch(&'static self) -> Batch {
        // SAFETY: the function has no parameters.
        Batch { functions: &self.shared, handle: unsafe { (self.shared.batch_create)() } }
    }
}

/// Puts that are written together.
pub struct Batch {
    functions: &'static Shared,
    handle: Handle,
}

impl Batch {
    /// The library's object.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the batch is alive; key and value are copied.
        unsafe { (self.functions.batch_put)(self.handle, k, key.len(), v, value.len()) };
    }

    /// Removes all puts.
    pub fn clear(&mut self) {
        // SAFETY: the batch is alive.
        unsafe { (self.functions.batch_clear)(self.handle) };
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: the batch is ours, and not used any more.
        unsafe { (self.functions.batch_destroy)(self.handle) };
    }
}
