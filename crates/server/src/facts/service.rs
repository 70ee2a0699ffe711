//! The state that requests share: the databases, the options, and the limits on what runs at once.

use std::fmt;
use std::sync::Arc;

use fulgurite_facts::{CancellationToken, FactDatabase};

use crate::facts::options::FactServerOptions;
use crate::http::admission::Admission;

/// Provides the database of a server, once for each request.
pub trait FactSource: Send + Sync {
    /// Returns the current database.
    ///
    /// # Errors
    /// The reason why it cannot be opened. The response then has the status 500.
    fn database(&self) -> Result<FactDatabase, Box<dyn std::error::Error + Send + Sync>>;
}

impl FactSource for FactDatabase {
    fn database(&self) -> Result<FactDatabase, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.clone())
    }
}

/// A database that a server has, and its name for clients.
#[derive(Clone)]
pub struct ServedFacts {
    pub(super) name: String,
    pub(super) source: Arc<dyn FactSource>,
}

impl ServedFacts {
    /// A database with this name, which has no slash.
    pub fn new(name: impl Into<String>, source: impl FactSource + 'static) -> Self {
        Self { name: name.into(), source: Arc::new(source) }
    }
}

impl fmt::Debug for ServedFacts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServedFacts").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The state that requests share.
pub struct FactService {
    pub databases: Vec<ServedFacts>,
    pub options: FactServerOptions,
    pub admission: Arc<Admission<CancellationToken>>,
}
