//! [`Error`], the one error type of the crate.

use std::fmt;

use crate::ids::{FactId, PredicateId};

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
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            Self::KeyHasOtherValue { .. } => None,
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
