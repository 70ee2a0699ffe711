//! Exceptions of merge functions on their way through the engine.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use pyo3::prelude::*;

/// An exception of a function, as the engine passes it on.
#[derive(Debug)]
pub struct Raised {
    text: String,
    exception: Arc<PyErr>,
}

impl Raised {
    /// An exception and its text.
    pub fn new(exception: PyErr) -> Self {
        Self { text: exception.to_string(), exception: Arc::new(exception) }
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Error for Raised {}

/// The exception of a function that has led to an error.
pub fn exception_of(error: &(dyn Error + 'static)) -> Option<Arc<PyErr>> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(raised) = error.downcast_ref::<Raised>() {
            return Some(Arc::clone(&raised.exception));
        }
        cause = error.source();
    }
    None
}
