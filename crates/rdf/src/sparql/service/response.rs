//! What an endpoint answered, or why it did not.

use std::fmt;

use sparesults::QueryResultsFormat;

/// What an endpoint has answered.
#[derive(Clone, Debug)]
pub struct ServiceResponse {
    pub(crate) format: QueryResultsFormat,
    pub(crate) body: Vec<u8>,
    pub(crate) rows_max: u64,
}

impl ServiceResponse {
    /// An answer in this form, as it was sent.
    pub fn new(format: QueryResultsFormat, body: Vec<u8>) -> Self {
        Self { format, body, rows_max: u64::MAX }
    }

    /// An answer of more rows is an error of the endpoint. Default: any number.
    #[must_use]
    pub fn rows_max(mut self, rows: u64) -> Self {
        self.rows_max = rows;
        self
    }
}

/// Why an endpoint has given no answer.
#[derive(Clone, Debug)]
pub struct ServiceError {
    pub(crate) message: String,
}

impl ServiceError {
    /// With what happened and what to do about it, in one line; the endpoint is named before.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {}
