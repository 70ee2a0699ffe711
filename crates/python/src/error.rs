//! Errors, and how they become exceptions of `fulgurite.errors`.

use std::sync::Arc;

use fulgurite_events::Expected;
use fulgurite_handles::kind;
use pyo3::exceptions::{PyAttributeError, PyException, PyImportError, PyRuntimeError};
use pyo3::prelude::*;

use crate::merging::raised;
use crate::names;

/// Why a call failed.
#[derive(Debug)]
pub enum Failure {
    /// A kind of error and its text.
    Kind(&'static str, String),
    /// As `Kind`, with attributes of the exception.
    Detailed(&'static str, String, Vec<(&'static str, Detail)>),
    /// As `Kind`, because of an exception of a merge function. An exception that is no `Exception`, such as that of an
    /// interrupt, is raised itself.
    Caused(&'static str, String, Arc<PyErr>),
    /// An exception of Python.
    Python(PyErr),
}

/// An attribute of an exception.
#[derive(Debug)]
pub enum Detail {
    /// A name, such as that of a stream.
    Name(Vec<u8>),
    /// A number, or None.
    Number(Option<u64>),
    /// A word.
    Word(&'static str),
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

    /// This thread would wait for its own exclusive transaction.
    pub fn nested() -> Self {
        let text = "this thread has an exclusive transaction open; write by it, or commit or abort it first";
        Self::Kind("NESTED", text.into())
    }

    /// This thread would wait for its own bulk load.
    pub fn loading() -> Self {
        let text = "this thread is in a bulk load; its iterable must not change, checkpoint or close the database";
        Self::Kind("NESTED", text.into())
    }

    /// A call of the object has panicked.
    pub fn broken() -> Self {
        Self::Kind("INTERNAL", "an earlier call of this object failed with an internal error; close it".into())
    }
}

impl From<fulgurite::Error> for Failure {
    fn from(error: fulgurite::Error) -> Self {
        let (kind, text) = (kind::of(&error), error.to_string());
        match raised::exception_of(&error) {
            Some(exception) => Self::Caused(kind, text, exception),
            None => Self::Kind(kind, text),
        }
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

impl From<fulgurite_events::Error> for Failure {
    fn from(error: fulgurite_events::Error) -> Self {
        use fulgurite_events::Error as Store;
        let text = error.to_string();
        match error {
            Store::Engine(error) => (*error).into(),
            // What a function of Python raised is raised again.
            Store::Program(source) | Store::Codec { source } => match source.downcast::<PyErr>() {
                Ok(error) => Self::Python(*error),
                Err(_) => Self::Kind("DECODE", text),
            },
            Store::WrongVersion { stream, expected, actual } => {
                let expected = match expected {
                    Expected::Exact(version) => Detail::Number(Some(version.0)),
                    Expected::Any => Detail::Word("any"),
                    Expected::NoStream => Detail::Word("no stream"),
                    Expected::StreamExists => Detail::Word("stream exists"),
                };
                let actual = Detail::Number(actual.map(|version| version.0));
                let details = vec![("stream", Detail::Name(stream)), ("expected", expected), ("actual", actual)];
                Self::Detailed("WRONG_VERSION", text, details)
            }
            Store::ConditionFailed { position } => {
                Self::Detailed("CONDITION_FAILED", text, vec![("position", Detail::Number(Some(position.0)))])
            }
            Store::IdReused { stream, version } => {
                let version = Detail::Number(Some(version.0));
                Self::Detailed("ID_REUSED", text, vec![("stream", Detail::Name(stream)), ("version", version)])
            }
            Store::StreamNotFound { stream } => {
                Self::Detailed("STREAM_NOT_FOUND", text, vec![("stream", Detail::Name(stream))])
            }
            Store::Tombstone { stream } => Self::Detailed("TOMBSTONE", text, vec![("stream", Detail::Name(stream))]),
            Store::Nested => Self::Kind("NESTED", text),
            Store::NotEvents { .. } => Self::Kind("NOT_A_DATABASE", text),
            Store::OtherOptions { .. } => Self::Kind("ALREADY_OPEN", text),
            Store::Damaged { .. } => Self::Kind("CORRUPT", text),
            Store::Socket { .. } => Self::Kind("SOCKET", text),
            Store::Invalid { .. } => Self::Kind("INVALID", text),
            _ => Self::Kind("OTHER", text),
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
        let (kind, text, details, cause) = match failure {
            Failure::Python(error) => return error,
            Failure::Kind(kind, text) => (kind, text, Vec::new(), None),
            Failure::Detailed(kind, text, details) => (kind, text, details, None),
            Failure::Caused(kind, text, cause) => (kind, text, Vec::new(), Some(cause)),
        };
        Python::attach(|py| {
            if let Some(cause) = cause.as_ref().filter(|cause| !cause.is_instance_of::<PyException>(py)) {
                return cause.clone_ref(py);
            }
            let make = || {
                let made = py.import("fulgurite.errors")?.call_method1("make", (kind, &text))?;
                for (name, detail) in &details {
                    match detail {
                        Detail::Name(bytes) => made.setattr(*name, names::text_of(py, bytes)?)?,
                        Detail::Number(number) => made.setattr(*name, *number)?,
                        Detail::Word(word) => made.setattr(*name, *word)?,
                    }
                }
                let error = PyErr::from_value(made);
                error.set_cause(py, cause.as_ref().map(|cause| cause.clone_ref(py)));
                Ok::<_, PyErr>(error)
            };
            make().unwrap_or_else(|error| {
                let is_missing =
                    error.is_instance_of::<PyImportError>(py) || error.is_instance_of::<PyAttributeError>(py);
                // Without the package around it, as in a broken installation. Other exceptions, such as an interrupt
                // that was pending, come first.
                if is_missing { PyRuntimeError::new_err(text.clone()) } else { error }
            })
        })
    }
}
