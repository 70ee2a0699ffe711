//! Values that are read in place.
#![allow(unsafe_code)] // The buffer protocol.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fulgurite_handles::HeldValue;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Failure, Result};
use crate::keys::bytes_of;

/// Where the bytes are.
enum Bytes {
    /// In a snapshot, which is kept.
    Held(HeldValue),
    /// In memory of the value.
    Owned(Vec<u8>),
}

/// The bytes of a value, not copied. Use it by memoryview(value) or bytes(value).
///
/// It is valid until its transaction ends; then it raises ClosedError. A memoryview of it that was made before keeps
/// the snapshot, and stays valid.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Value {
    bytes: Bytes,
    has_ended: Arc<AtomicBool>,
}

impl Value {
    /// A value of a snapshot.
    pub fn held(value: HeldValue, has_ended: Arc<AtomicBool>) -> Self {
        Self { bytes: Bytes::Held(value), has_ended }
    }

    /// A copied value.
    pub fn owned(value: Vec<u8>) -> Self {
        Self { bytes: Bytes::Owned(value), has_ended: Arc::default() }
    }

    fn get(&self) -> Result<&[u8]> {
        if self.has_ended.load(Ordering::SeqCst) {
            return Err(Failure::closed("transaction"));
        }
        Ok(match &self.bytes {
            Bytes::Held(value) => value,
            Bytes::Owned(value) => value,
        })
    }
}

#[pymethods]
impl Value {
    fn __len__(&self) -> Result<usize> {
        Ok(self.get()?.len())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.get()?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> Result<bool> {
        let mine = self.get()?;
        Ok(bytes_of(other).is_ok_and(|other| other == mine))
    }

    fn __repr__(&self) -> String {
        self.get().map_or_else(
            |_| "<fulgurite._native.Value of an ended transaction>".into(),
            |bytes| format!("<fulgurite._native.Value of {} bytes>", bytes.len()),
        )
    }

    /// Fills a view of the bytes.
    ///
    /// # Safety
    /// `view` is a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let Ok(bytes) = slf.get().get() else {
            // SAFETY: the caller's view, which must have no object after an error.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(Failure::closed("transaction").into());
        };
        let length = ffi::Py_ssize_t::try_from(bytes.len()).map_err(|_| Failure::invalid("the value is too long"))?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the bytes do not change or move while this object lives, and the view keeps a reference to it. The
        // view is read-only, so nothing writes to them.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
