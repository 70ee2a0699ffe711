//! Errors, and how they become exceptions of `fulgurite.errors`.

use fulgurite_handles::kind;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Why a call failed.
#[derive(Debug)]
pub enum Failure {
    /// A kind of error and its text.
    Kind(&'static str, String),
    /// An exception of Python.
    Python(PyErr),
}

/// The result of a call.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// An argument is not valid.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Kind("INVALID", text.into())
    }

    /// An object is closed or ended.
    pub fn closed(object: &str) -> Self {
        let verb = if object == "transaction" { "has ended" } else { "is closed" };
        Self::Kind("CLOSED", format!("the {object} {verb}; open or begin a new one"))
    }

    /// An object has another kind than the call needs.
    pub fn read_only() -> Self {
        Self::Kind("READ_ONLY", "a read transaction changes nothing; use db.write() or db.update()".into())
    }

    /// A call of the object has panicked.
    pub fn broken() -> Self {
        Self::Kind("INTERNAL", "an earlier call of this object failed with an internal error; close it".into())
    }
}

impl From<fulgurite::Error> for Failure {
    fn from(error: fulgurite::Error) -> Self {
        Self::Kind(kind::of(&error), error.to_string())
    }
}

impl From<fulgurite_rdf::Error> for Failure {
    fn from(error: fulgurite_rdf::Error) -> Self {
        match error {
            fulgurite_rdf::Error::Engine(error) => error.into(),
            error => Self::Kind(kind::of_store(&error), error.to_string()),
        }
    }
}

impl From<fulgurite::keys::Error> for Failure {
    fn from(error: fulgurite::keys::Error) -> Self {
        Self::Kind("INVALID", error.to_string())
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Kind(kind, text) => Python::attach(|py| {
                let made = py.import("fulgurite.errors").and_then(|errors| errors.call_method1("make", (kind, &text)));
                // Without the package around it, as in a broken installation.
                made.map_or_else(|_| PyRuntimeError::new_err(text.clone()), PyErr::from_value)
            }),
        }
    }
}
