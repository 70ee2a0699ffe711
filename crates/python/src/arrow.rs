//! Streams of record batches, by Arrow's C data interface: <https://arrow.apache.org/docs/format/CDataInterface.html>
//!
//! The structures below are those of the interface. Each has a function that releases it; private data is a box that
//! owns everything that the structure points to. Children are moved to the consumer by moving the parent.
#![allow(unsafe_code)] // The structures are of C.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use fulgurite::keys::{Datum, Type};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::{Failure, Result};
use crate::keys::Column;

/// `struct ArrowSchema`
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    children_count: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

/// `struct ArrowArray`
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    buffers_count: i64,
    children_count: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// `struct ArrowArrayStream`
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private: *mut c_void,
}

/// The cells of a column. None is null.
pub type Cells = Vec<Option<Vec<u8>>>;

/// A column of a batch: its buffers.
pub struct Built {
    length: i64,
    null_count: i64,
    buffers: Vec<Vec<u64>>,
    has_nulls: bool,
    /// The elements of lists.
    child: Option<Box<Built>>,
}

impl Built {
    /// A column of cells with a fixed width, without nulls.
    pub fn fixed(length: usize, bytes: &[u8]) -> Self {
        let buffers = vec![Vec::new(), aligned(bytes)];
        Self { length: length as i64, null_count: 0, buffers, has_nulls: false, child: None }
    }

    /// A column of cells with a fixed width, or none for null.
    pub fn fixed_or_null(width: usize, cells: impl Iterator<Item = Option<impl AsRef<[u8]>>>) -> Self {
        let (mut bytes, mut validity, mut length, mut null_count) = (Vec::new(), Vec::new(), 0_usize, 0);
        for cell in cells {
            if length.is_multiple_of(8) {
                validity.push(0);
            }
            match cell {
                Some(cell) => {
                    validity[length / 8] |= 1 << (length % 8);
                    bytes.extend_from_slice(cell.as_ref());
                }
                None => {
                    null_count += 1;
                    bytes.extend(std::iter::repeat_n(0, width));
                }
            }
            length += 1;
        }
        let buffers = vec![aligned(&validity), aligned(&bytes)];
        Self { length: length as i64, null_count, buffers, has_nulls: null_count > 0, child: None }
    }

    /// A column of lists with these numbers of elements, which `elements` has one after the other.
    ///
    /// # Errors
    /// If there are more elements than offsets of 32 bits can count.
    pub fn lists(counts: impl Iterator<Item = usize>, elements: Self) -> Result<Self, String> {
        let (mut offsets, mut length, mut end) = (0_i32.to_ne_bytes().to_vec(), 0, 0);
        for count in counts {
            (length, end) = (length + 1, end + count);
            let end = i32::try_from(end).map_err(|_| TOO_LONG.to_owned())?;
            offsets.extend_from_slice(&end.to_ne_bytes());
        }
        let buffers = vec![Vec::new(), aligned(&offsets)];
        Ok(Self { length, null_count: 0, buffers, has_nulls: false, child: Some(Box::new(elements)) })
    }
}

/// Checks the number of rows that a batch of a stream may have.
///
/// # Errors
/// If it is 0.
pub fn check_batch_rows(batch_rows: usize) -> Result<()> {
    if batch_rows == 0 { Err(Failure::invalid("batch_rows must be at least 1, not 0")) } else { Ok(()) }
}

/// A batch is too long for offsets of 32 bits.
const TOO_LONG: &str = "a batch has more than 2 GiB; ask for fewer rows by batch_rows";

/// The next batch, one column for each field, or none after the last.
pub type Next = Box<dyn FnMut() -> Result<Option<Vec<Built>>, String> + Send>;

/// What one column of Arrow's is.
#[derive(Clone, Debug)]
pub struct Field {
    name: String,
    /// The format of the interface: `z` for bytes, `u` for texts, others for numbers.
    format: &'static str,
    /// The stored type of numbers and texts, and whether it is a key's.
    stored: Option<(Type, bool)>,
    /// The elements of lists.
    child: Option<Box<Field>>,
}

impl Field {
    /// The column of a table. Texts and numbers of up to 64 bits have types of Arrow. All others are stored bytes.
    pub fn of(name: &str, column: &Column) -> Self {
        let is_key = name == "key";
        let format = match column.kind() {
            Some(Type::String) => "u",
            Some(Type::I8) => "c",
            Some(Type::U8) => "C",
            Some(Type::I16) => "s",
            Some(Type::U16) => "S",
            Some(Type::I32) => "i",
            Some(Type::U32) => "I",
            Some(Type::I64) => "l",
            Some(Type::U64) => "L",
            Some(Type::F32) => "f",
            Some(Type::F64) => "g",
            _ => "z",
        };
        let stored = column.kind().filter(|_| format != "z" && format != "u");
        Self { name: name.to_owned(), format, stored: stored.map(|kind| (kind.clone(), is_key)), child: None }
    }

    /// A column of texts.
    pub fn text(name: &str) -> Self {
        Self::new(name, "u")
    }

    /// A column with a format of the interface.
    pub fn new(name: &str, format: &'static str) -> Self {
        Self { name: name.to_owned(), format, stored: None, child: None }
    }

    /// A column of lists of texts.
    pub fn texts(name: &str) -> Self {
        Self { child: Some(Box::new(Self::text("item"))), ..Self::new(name, "+l") }
    }

    /// The column of a batch.
    ///
    /// # Errors
    /// If a cell is not of the column's type or no UTF-8 in a column of texts, or all together are too long for
    /// offsets of 32 bits.
    pub fn array(&self, cells: &[Option<Vec<u8>>]) -> Result<Built, String> {
        let null_count = cells.iter().filter(|cell| cell.is_none()).count();
        let mut validity = vec![0; cells.len().div_ceil(8)];
        for (row, _) in cells.iter().enumerate().filter(|(_, cell)| cell.is_some()) {
            validity[row / 8] |= 1 << (row % 8);
        }
        let mut buffers = vec![aligned(&validity)];
        match &self.stored {
            Some((kind, is_key)) => {
                let mut numbers = Vec::new();
                for cell in cells {
                    push_number(kind, *is_key, cell.as_deref(), &mut numbers)?;
                }
                buffers.push(aligned(&numbers));
            }
            None => {
                let (mut offsets, mut bytes) = (0_i32.to_ne_bytes().to_vec(), Vec::new());
                for cell in cells {
                    let cell = cell.as_deref().unwrap_or_default();
                    self.check_text(cell)?;
                    bytes.extend_from_slice(cell);
                    let end = i32::try_from(bytes.len()).map_err(|_| TOO_LONG.to_owned())?;
                    offsets.extend_from_slice(&end.to_ne_bytes());
                }
                buffers.push(aligned(&offsets));
                buffers.push(aligned(&bytes));
            }
        }
        let length = cells.len() as i64;
        Ok(Built { length, null_count: null_count as i64, buffers, has_nulls: null_count > 0, child: None })
    }

    /// Readers of Arrow rely on columns of texts being UTF-8. Any program can store other bytes in the table.
    fn check_text(&self, cell: &[u8]) -> Result<(), String> {
        if self.format != "u" {
            return Ok(());
        }
        std::str::from_utf8(cell).map(drop).map_err(|error| {
            format!("the column {} has a text that is not UTF-8 ({error}); read the stored bytes with view", self.name)
        })
    }
}

fn push_number(kind: &Type, is_key: bool, cell: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), String> {
    let width = kind.fixed_width().unwrap_or(8);
    let Some(bytes) = cell else {
        out.extend(std::iter::repeat_n(0, width));
        return Ok(());
    };
    let datum = if is_key { kind.decode_key(bytes) } else { kind.decode_value(bytes) };
    let least = |bytes: [u8; 16]| {
        if cfg!(target_endian = "little") { bytes[..width].to_vec() } else { bytes[16 - width..].to_vec() }
    };
    match datum.map_err(|error| error.to_string())? {
        Datum::Unsigned(number) => out.extend(least(number.to_ne_bytes())),
        Datum::Signed(number) => out.extend(least(number.to_ne_bytes())),
        Datum::F32(number) => out.extend(number.to_ne_bytes()),
        Datum::F64(number) => out.extend(number.to_ne_bytes()),
        _ => return Err(format!("a value is not of type {kind}")),
    }
    Ok(())
}

/// The bytes in memory that is aligned for numbers, as Arrow requires.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        })
        .collect()
}

/// The text of a failure, where no interpreter is.
pub fn text_of(failure: &Failure) -> String {
    match failure {
        Failure::Kind(_, text) | Failure::Detailed(_, text, _) | Failure::Caused(_, text, _) => text.clone(),
        Failure::Python(error) => error.to_string(),
    }
}

/// What a schema owns.
struct SchemaParts {
    _format: CString,
    _name: CString,
    children: Vec<*mut Schema>,
}

impl Schema {
    fn new(format: &str, name: &str, children: Vec<Self>) -> Self {
        // Names with a byte 0 have no place in C.
        let (format, name) = (CString::new(format).unwrap_or_default(), CString::new(name).unwrap_or_default());
        let (format_start, name_start) = (format.as_ptr(), name.as_ptr());
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut parts = Box::new(SchemaParts { _format: format, _name: name, children });
        Self {
            format: format_start,
            name: name_start,
            metadata: null(),
            flags: NULLABLE,
            children_count: parts.children.len() as i64,
            children: parts.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_schema),
            private: Box::into_raw(parts).cast(),
        }
    }

    fn of(fields: &[Field]) -> Self {
        Self::new("+s", "", fields.iter().map(Self::of_field).collect())
    }

    fn of_field(field: &Field) -> Self {
        Self::new(field.format, &field.name, field.child.iter().map(|child| Self::of_field(child)).collect())
    }
}

/// The flag of columns that may have nulls.
const NULLABLE: i64 = 2;

/// Frees what a schema owns.
///
/// # Safety
/// `schema` is one of [`Schema::new`], and not released yet.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the caller's promise.
    let schema = unsafe { &mut *schema };
    // SAFETY: `private` is the box of `Schema::new`, and is taken once: `release` is cleared below.
    let parts = unsafe { Box::from_raw(schema.private.cast::<SchemaParts>()) };
    for child in &parts.children {
        // SAFETY: each child is a box of `Schema::new`, which is freed here once.
        let mut child = unsafe { Box::from_raw(*child) };
        if let Some(release) = child.release {
            // SAFETY: the consumer has not released this child, as its `release` is set.
            unsafe { release(&raw mut *child) };
        }
    }
    schema.release = None;
}

/// What an array owns.
struct ArrayParts {
    _buffers: Vec<Vec<u64>>,
    starts: Vec<*const c_void>,
    children: Vec<*mut Array>,
}

impl Array {
    fn new(length: i64, null_count: i64, buffers: Vec<Vec<u64>>, has_validity: bool, children: Vec<Self>) -> Self {
        let starts = buffers.iter().enumerate().map(|(place, buffer)| match place {
            0 if !has_validity => null(),
            _ => buffer.as_ptr().cast(),
        });
        let starts: Vec<*const c_void> = starts.collect();
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut parts = Box::new(ArrayParts { _buffers: buffers, starts, children });
        Self {
            length,
            null_count,
            offset: 0,
            buffers_count: parts.starts.len() as i64,
            children_count: parts.children.len() as i64,
            buffers: parts.starts.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_array),
            private: Box::into_raw(parts).cast(),
        }
    }

    fn of(columns: Vec<Built>) -> Self {
        let length = columns.first().map_or(0, |column| column.length);
        Self::new(length, 0, vec![Vec::new()], false, columns.into_iter().map(Self::of_column).collect())
    }

    fn of_column(column: Built) -> Self {
        let children = column.child.into_iter().map(|child| Self::of_column(*child)).collect();
        Self::new(column.length, column.null_count, column.buffers, column.has_nulls, children)
    }
}

/// Frees what an array owns.
///
/// # Safety
/// `array` is one of [`Array::new`], and not released yet.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: the caller's promise.
    let array = unsafe { &mut *array };
    // SAFETY: `private` is the box of `Array::new`, and is taken once: `release` is cleared below.
    let parts = unsafe { Box::from_raw(array.private.cast::<ArrayParts>()) };
    for child in &parts.children {
        // SAFETY: each child is a box of `Array::new`, which is freed here once.
        let mut child = unsafe { Box::from_raw(*child) };
        if let Some(release) = child.release {
            // SAFETY: the consumer has not moved this child out, as its `release` is set.
            unsafe { release(&raw mut *child) };
        }
    }
    array.release = None;
}

/// What a stream owns.
struct StreamParts {
    fields: Vec<Field>,
    next: Next,
    error: CString,
}

impl Stream {
    fn new(fields: Vec<Field>, next: Next) -> Self {
        let parts = Box::new(StreamParts { fields, next, error: CString::default() });
        Self {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private: Box::into_raw(parts).cast(),
        }
    }
}

/// # Safety
/// `stream` is one of [`Stream::new`], and not released yet; `out` is a place for a schema.
unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the caller's promise.
    let stream = unsafe { &*stream };
    // SAFETY: `private` is the box of `Stream::new`, which lives until the release.
    let parts = unsafe { &*stream.private.cast::<StreamParts>() };
    // SAFETY: the caller's promise.
    unsafe { out.write(Schema::of(&parts.fields)) };
    0
}

/// The error of Unix for failed input.
const EIO: c_int = 5;

/// # Safety
/// As [`get_schema`]; no other call of the stream runs.
unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: the caller's promise.
    let stream = unsafe { &*stream };
    // SAFETY: `private` is the box of `Stream::new`, which lives until the release, and calls do not overlap.
    let parts = unsafe { &mut *stream.private.cast::<StreamParts>() };
    let batch = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| released(&mut parts.next)));
    let array = match batch.unwrap_or_else(|_| Err("a bug in Fulgurite, please report it".into())) {
        Ok(Some(columns)) => Array::of(columns),
        // The end of the stream is an array that is released.
        Ok(None) => Array { release: None, ..Array::ended() },
        Err(text) => {
            parts.error = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
            return EIO;
        }
    };
    // SAFETY: the caller's promise.
    unsafe { out.write(array) };
    0
}

/// Reads a batch without the interpreter's lock: consumers call with it or without, and the reader may wait for a lock
/// whose holder waits for the interpreter.
fn released(next: &mut Next) -> Result<Option<Vec<Built>>, String> {
    let mut next = Some(next);
    let batch = Python::try_attach(|py| next.take().map(|next| py.detach(next)));
    match (batch.flatten(), next) {
        (Some(batch), _) => batch,
        // The interpreter ends.
        (None, Some(next)) => next(),
        (None, None) => Ok(None),
    }
}

impl Array {
    fn ended() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            buffers_count: 0,
            children_count: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private: null_mut(),
        }
    }
}

/// # Safety
/// As [`get_schema`].
unsafe extern "C" fn get_last_error(stream: *mut Stream) -> *const c_char {
    // SAFETY: the caller's promise.
    let stream = unsafe { &*stream };
    // SAFETY: `private` is the box of `Stream::new`, which lives until the release.
    let parts = unsafe { &*stream.private.cast::<StreamParts>() };
    parts.error.as_ptr()
}

/// # Safety
/// As [`get_schema`].
unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: the caller's promise.
    let stream = unsafe { &mut *stream };
    // SAFETY: `private` is the box of `Stream::new`, and is taken once: `release` is cleared below.
    drop(unsafe { Box::from_raw(stream.private.cast::<StreamParts>()) });
    stream.release = None;
}

/// A stream in a capsule. The consumer moves the stream out by clearing its `release`.
#[repr(transparent)]
struct Held(Stream);

// SAFETY: all that a stream owns is `Send` (the fields and `Next`), and its functions may be called from any thread.
unsafe impl Send for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it is a stream of `Stream::new`, which no consumer has moved out: its `release` is set.
            unsafe { release(&raw mut self.0) };
        }
    }
}

/// Record batches of Arrow, for any reader of its capsule interface, such as pyarrow and polars. It can be read once.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct ArrowStream(Mutex<Option<(Vec<Field>, Next)>>);

impl ArrowStream {
    /// A stream of batches.
    pub fn new(fields: Vec<Field>, next: Next) -> Self {
        Self(Mutex::new(Some((fields, next))))
    }
}

#[pymethods]
impl ArrowStream {
    /// The stream, in a capsule. Another schema than the stream's cannot be requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        // Consumers accept another schema than the requested one.
        let _ = requested_schema;
        let taken = self.0.lock().map_err(|_| Failure::broken())?.take();
        let (fields, next) = taken.ok_or_else(|| Failure::invalid("the stream was read already; make a new one"))?;
        Ok(PyCapsule::new_with_value(py, Held(Stream::new(fields, next)), c"arrow_array_stream")?)
    }
}
