//! Calls of merge functions, and their registration.

use fulgurite::{MergeOperands, MergeOutcome, Options};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error::Result;
use crate::keys::bytes_of;
use crate::merging::raised::Raised;
use crate::merging::running::Running;

/// Calls a function with copies of its arguments.
fn call(function: &Py<PyAny>, key: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
    let _running = Running::begin();
    let merged = Python::try_attach(|py| {
        let merged = || -> Result<Vec<u8>> {
            let operands: Vec<_> = operands.map(|operand| PyBytes::new(py, operand)).collect();
            let value = value.map(|value| PyBytes::new(py, value));
            let merged = function.bind(py).call1((PyBytes::new(py, key), value, PyList::new(py, operands)?))?;
            if merged.is_none() {
                return Err(PyTypeError::new_err("it returned None; return bytes, such as b\"\"").into());
            }
            bytes_of(&merged)
        };
        merged().map_err(|failure| Raised::new(failure.into()))
    });
    match merged {
        Some(merged) => Ok(merged?),
        None => Err("the interpreter is ending".into()),
    }
}

/// Adds functions to the options of an opening, by their names.
///
/// # Errors
/// `TypeError` if one cannot be called.
pub fn register(mut options: Options, given: &Bound<'_, PyAny>) -> Result<Options> {
    for (name, function) in given.cast::<PyDict>().map_err(PyErr::from)? {
        let name: String = name.extract()?;
        if !function.is_callable() {
            let kind = function.get_type().name()?;
            let text = format!("the merge function {name:?} is a function of key, value and operands, not {kind}");
            return Err(PyTypeError::new_err(text).into());
        }
        let function = function.unbind();
        options = options.merge_function(name, move |key: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>| {
            call(&function, key, value, operands)
        });
    }
    Ok(options)
}
