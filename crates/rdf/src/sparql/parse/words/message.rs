//! An error at a token, and what a text should have been.

use crate::error::Error;
use crate::sparql::parse::tokens::{Token, place};

/// What the text should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Query,
    Update,
}

/// An error at a token; without one, at the end of the text.
pub(crate) fn error(text: &str, token: Option<&Token>, message: String) -> Error {
    let (line, column) = place(text, token.map_or(text.trim_end().len(), |token| token.range.start));
    let near = token.map_or_else(String::new, |token| shortened(token.text(text)));
    Error::SparqlSyntax { line, column, near, message, needs_base: false }
}

fn shortened(token: &str) -> String {
    token.chars().take(40).collect()
}
