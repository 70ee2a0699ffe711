//! [`Error`], the one error type of the crate.

use std::fmt;

use crate::angle::diagnostic::Diagnostic;
use crate::ids::{FactId, PredicateId};
use crate::value::error::ValueError;

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed.
    Engine(fulgurite::Error),
    /// A fact has the key of another fact of its predicate, and another value.
    KeyHasOtherValue {
        /// The predicate of both.
        predicate: PredicateId,
        /// The fact that has the key already.
        existing: FactId,
        /// The key of both.
        key: Vec<u8>,
        /// The value of the existing fact.
        existing_value: Vec<u8>,
        /// The value of the fact that was not defined.
        value: Vec<u8>,
    },
    /// A schema or a query is wrong.
    Angle(Diagnostic),
    /// Bytes are no value of their type.
    Value(ValueError),
    /// A query cannot be continued by these bytes, for a reason.
    Continuation(&'static str),
    /// A query took more time than it may, in a part that cannot be continued later.
    QueryTime,
    /// A query needs more memory than it may.
    QueryMemory {
        /// How much it may.
        limit_bytes: usize,
    },
    /// A schema has no predicate with this id.
    NoPredicate(PredicateId),
    /// A predicate is not derived.
    NoDerivation {
        /// Its name.
        name: String,
    },
    /// Facts as JSON are wrong.
    Json {
        /// Where: the line and the column, or the path.
        place: String,
        /// What is wrong.
        message: String,
    },
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Angle(diagnostic)
    }
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

impl From<fulgurite::Error> for Error {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(out),
            Self::KeyHasOtherValue { predicate, existing, key, existing_value, value } => write!(
                out,
                "cannot define a fact of predicate {predicate} with key {} and value {}: fact {existing} has this key \
                 and the value {}; a key has one value",
                Excerpt(key),
                Excerpt(value),
                Excerpt(existing_value)
            ),
            Self::Angle(diagnostic) => diagnostic.fmt(out),
            Self::Value(error) => error.fmt(out),
            Self::Continuation(reason) => {
                write!(out, "the query cannot be continued: {reason}; run it from the beginning")
            }
            Self::QueryTime => out.write_str(
                "the query took more time than it may in a negation or a set, which cannot be continued; allow it more \
                 time, or make it search fewer facts",
            ),
            Self::QueryMemory { limit_bytes } => write!(
                out,
                "the query needs more than {limit_bytes} bytes of memory; ask for fewer results at a time, or allow it \
                 more memory"
            ),
            Self::NoPredicate(predicate) => {
                write!(out, "the schema has no predicate {predicate}; use the schema that the database was made with")
            }
            Self::NoDerivation { name } => {
                write!(out, "{name} has no derivation in the schema; write one: `derive {name} stored …`")
            }
            Self::Json { place, message } => write!(out, "{place}: {message}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            Self::Angle(diagnostic) => Some(diagnostic),
            Self::Value(error) => Some(error),
            _ => None,
        }
    }
}

/// The beginning of some bytes, for messages.
struct Excerpt<'b>(&'b [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(EXCERPT_BYTES)];
        write!(out, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(out, "… ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

/// As much as fits a line.
const EXCERPT_BYTES: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_both_values_and_the_existing_fact() {
        let error = Error::KeyHasOtherValue {
            predicate: PredicateId::FIRST,
            existing: FactId::FIRST,
            key: vec![b'k'; 100],
            existing_value: b"old\0".to_vec(),
            value: b"new".to_vec(),
        };
        let message = error.to_string();
        for part in ["predicate 1024", "fact 1024", "\"new\"", "\"old\\x00\"", "… (100 bytes)"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
