//! Names that are bytes in Rust, such as those of streams, and texts in Python.
//!
//! Bytes that are not UTF-8 become lone surrogates, as Python does it for names of files.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The text of a name.
///
/// # Errors
/// Those of the interpreter, such as no memory.
pub fn text_of<'py>(py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(name) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, name).call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// The name of a text or of bytes.
///
/// # Errors
/// `TypeError` for other objects.
pub fn bytes_of(name: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = name.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let Ok(text) = name.cast::<PyString>() else {
        let kind = name.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a name of a stream is a str or bytes, not {kind}")));
    };
    if let Ok(text) = text.to_cow() {
        return Ok(text.as_bytes().to_vec());
    }
    text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()
}
