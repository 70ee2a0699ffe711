//! The error for a term that a format cannot express.

use oxrdf::TermRef;

use crate::error::Error;

pub(crate) fn unwritable(term: TermRef<'_>, format: &'static str, reason: &str) -> Error {
    Error::Unwritable { term: shortened(term), format, reason: reason.to_owned() }
}

/// The beginning of a term, for messages.
pub(crate) fn shortened(term: TermRef<'_>) -> String {
    let mut term: String = term.to_string();
    if let Some((end, _)) = term.char_indices().nth(TERM_CHARACTERS) {
        term.truncate(end);
        term.push('…');
    }
    term
}

/// As much of a term as an error shows.
const TERM_CHARACTERS: usize = 200;
