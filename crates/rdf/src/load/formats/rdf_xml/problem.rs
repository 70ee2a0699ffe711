//! What is wrong with an element, and the namespace of RDF.

/// What is wrong with an element.
#[derive(Debug)]
pub(crate) struct Problem {
    /// What is wrong, and what to do.
    pub(crate) message: String,
    /// Whether it asks for more memory than any document may.
    pub(crate) is_too_large: bool,
    /// Whether an IRI is relative, and there is no base.
    pub(crate) needs_base: bool,
}

impl<T: Into<String>> From<T> for Problem {
    fn from(message: T) -> Self {
        Self { message: message.into(), is_too_large: false, needs_base: false }
    }
}

/// `http://www.w3.org/1999/02/22-rdf-syntax-ns#`
pub(crate) const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
