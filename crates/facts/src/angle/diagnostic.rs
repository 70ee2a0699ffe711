//! Errors in a text of Angle.

use std::fmt;

/// An error in a schema or a query: the reason, the place, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, or `query`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The part of the text that is wrong.
    pub token: String,
    /// The reason.
    pub message: String,
    /// Advice. May be empty.
    pub hint: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.token.is_empty() {
            write!(f, ", at `{}`", self.token)?;
        }
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
