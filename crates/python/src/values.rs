//! Values that are read in place.
#![allow(unsafe_code)] // The buffer protocol.

use std::ffi::c_int;
use std::sync::Arc;

use fulgurite_handles::HeldValue;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Failure, Result};
use crate::keys::bytes_of;
use crate::kinds::Lease;

/// Bytes that do not change or move while this object lives.
#[derive(Clone)]
enum Bytes {
    /// In a snapshot, which is kept.
    Held(Arc<HeldValue>),
    /// In memory.
    Owned(Arc<Vec<u8>>),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Held(value) => value,
            Self::Owned(value) => value,
        }
    }
}

enum Source {
    /// A read transaction.
    Leased(Arc<Lease>),
    /// A copy.
    Owned(Arc<Vec<u8>>),
}

/// The bytes of a value, not copied. Use it by memoryview(value) or bytes(value).
///
/// It is valid until its transaction ends; then it raises ClosedError. A memoryview of it that was made before keeps
/// the snapshot, and stays valid.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Value(Source);

impl Value {
    /// A value of a snapshot.
    pub fn leased(lease: Arc<Lease>) -> Self {
        Self(Source::Leased(lease))
    }

    /// A copied value.
    pub fn owned(value: Vec<u8>) -> Self {
        Self(Source::Owned(Arc::new(value)))
    }

    fn get(&self) -> Result<Bytes> {
        Ok(match &self.0 {
            Source::Leased(lease) => Bytes::Held(lease.get()?),
            Source::Owned(value) => Bytes::Owned(Arc::clone(value)),
        })
    }
}

/// The object behind a memoryview of a value.
#[pyclass(frozen, module = "fulgurite._native")]
struct Viewed(Bytes);

#[pymethods]
impl Value {
    fn __len__(&self) -> Result<usize> {
        Ok(self.get()?.len())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.get()?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> Result<bool> {
        let mine = self.get()?;
        Ok(bytes_of(other).is_ok_and(|other| other == *mine))
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
        // SAFETY: the caller's view, which must have no object after an error.
        unsafe { (*view).obj = std::ptr::null_mut() };
        let viewed = Bound::new(slf.py(), Viewed(slf.get().get()?))?;
        let bytes = &viewed.get().0;
        let length = ffi::Py_ssize_t::try_from(bytes.len()).map_err(|_| Failure::invalid("the value is too long"))?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the bytes do not change or move while `viewed` lives, and the view keeps a reference to it. The view
        // is read-only, so nothing writes to them.
        match unsafe { ffi::PyBuffer_FillInfo(view, viewed.as_ptr(), start, length, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }

    /// Does nothing. Without it, numpy would not keep a view of the bytes, but this object, which ends with its
    /// transaction.
    ///
    /// # Safety
    /// None is needed.
    #[expect(clippy::unused_self, reason = "a method of Python")]
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {}
}
