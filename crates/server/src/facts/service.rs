//! The state that requests share: the databases, the options, and the limits on what runs at once.

use std::sync::Arc;

use fulgurite_facts::{CancellationToken, FactDatabase};

use crate::facts::options::FactServerOptions;
use crate::http::admission::Admission;

/// A database that a server has, and its name for clients.
#[derive(Clone)]
pub struct ServedFacts {
    /// The name, without a slash.
    pub name: String,
    /// The database.
    pub database: FactDatabase,
}

/// The state that requests share.
pub struct FactService {
    pub databases: Vec<ServedFacts>,
    pub options: FactServerOptions,
    pub admission: Arc<Admission<CancellationToken>>,
}
