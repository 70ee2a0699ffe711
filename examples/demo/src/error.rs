//! Errors of the demonstration: a message is all that it needs.

/// An error of a store, of a file, or a message.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// A result with such an error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
