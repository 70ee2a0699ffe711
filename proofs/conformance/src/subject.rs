//! What is put to the test: something that holds quads, and queries and changes them.

use std::sync::Arc;

use oxrdf::{GraphName, Quad};
use oxrdfio::RdfFormat;

use crate::answer::Answer;
use crate::suites::Documents;

/// A document to be read.
pub struct Input<'a> {
    /// Its form.
    pub format: RdfFormat,
    /// What relative references are resolved against.
    pub base: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The graph that its triples go to.
    pub graph: GraphName,
}

/// Something that the suites can test. Each test has one of its own. All errors are messages.
pub trait Subject: Sized {
    /// One without quads. `documents` are what it may find on the Web.
    ///
    /// # Errors
    /// If it cannot be made.
    fn empty(documents: &Arc<Documents>) -> Result<Self, String>;

    /// Reads a document.
    ///
    /// # Errors
    /// If the document is not well-formed.
    fn load(&mut self, input: &Input) -> Result<(), String>;

    /// All quads.
    ///
    /// # Errors
    /// If they cannot be read.
    fn quads(&self) -> Result<Vec<Quad>, String>;

    /// Whether this is a query.
    ///
    /// # Errors
    /// If it is none.
    fn parse_query(text: &str, base: &str) -> Result<(), String>;

    /// Whether this is an update.
    ///
    /// # Errors
    /// If it is none.
    fn parse_update(text: &str, base: &str) -> Result<(), String>;

    /// Answers a query.
    ///
    /// # Errors
    /// If it cannot be parsed or evaluated.
    fn query(&self, text: &str, base: &str) -> Result<Answer, String>;

    /// Answers a query as text, in the form of results with this ending: csv, tsv, srj, srx.
    ///
    /// # Errors
    /// As [`Subject::query`].
    fn query_as_text(&self, text: &str, base: &str, ending: &str) -> Result<String, String>;

    /// Carries out an update.
    ///
    /// # Errors
    /// If it cannot be parsed or carried out.
    fn update(&mut self, text: &str, base: &str) -> Result<(), String>;
}
