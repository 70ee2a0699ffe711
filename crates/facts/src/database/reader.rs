//! [`FactReader`]: queries, and facts as JSON.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::json::print::{Expansion, Printer};
use crate::query::prepared::{Compiler, Page, QueryLimits};
use crate::query::reads::Reads;
use crate::reading::snapshot::Snapshot;

impl FactDatabase {
    /// Begins to read: the facts that are there now.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn reader(&self) -> Result<FactReader> {
        Ok(FactReader { snapshot: self.store.snapshot()?, compiler: Arc::clone(&self.compiler) })
    }
}

/// The facts of a database at one time.
pub struct FactReader {
    snapshot: Snapshot,
    compiler: Arc<Compiler>,
}

impl FactReader {
    /// The facts as bytes.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Answers a query.
    ///
    /// # Errors
    /// [`Error::Angle`], with the place of what is wrong; and what [`Query::run`](crate::Query::run) returns.
    pub fn query(&self, text: &str, limits: &QueryLimits) -> Result<Page> {
        self.compiler.query(text, &self.snapshot)?.run(&self.snapshot, limits)
    }

    /// Answers the rest of a query, from the continuation of a page of it on.
    ///
    /// # Errors
    /// [`Error::Continuation`], if it is not of this query; and as [`FactReader::query`].
    pub fn continue_query(&self, text: &str, limits: &QueryLimits, continuation: &[u8]) -> Result<Page> {
        self.compiler.query(text, &self.snapshot)?.continue_from(&self.snapshot, limits, continuation)
    }

    /// A fact as JSON. Null if there is none.
    ///
    /// # Errors
    /// As [`Printer::fact`].
    pub fn fact(&self, id: FactId, expansion: Expansion) -> Result<Json> {
        let lookup = |id| Reads::fact_by_id(&self.snapshot, id);
        if lookup(id)?.is_none() {
            return Ok(Json::Null);
        }
        Printer::new(self.compiler.schema(), &lookup).fact(id, expansion)
    }

    /// The results of a page as JSON: facts as `{ "id", "key", "value" }`, other values by their types.
    ///
    /// # Errors
    /// As [`Printer::fact`].
    pub fn print(&self, page: &Page, expansion: Expansion) -> Result<Vec<Json>> {
        let mut printed = Vec::with_capacity(page.results.len());
        self.print_each(page, expansion, |json| {
            printed.push(json);
            Ok::<_, Error>(())
        })?;
        Ok(printed)
    }

    /// Calls `each` with one result of a page after the other, as [`FactReader::print`] returns them: memory holds one
    /// at a time.
    ///
    /// # Errors
    /// As [`Printer::fact`], and what `each` returns.
    pub fn print_each<E: From<Error>>(
        &self,
        page: &Page,
        expansion: Expansion,
        mut each: impl FnMut(Json) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let lookup = |id| match page.derived.get(id) {
            Some(fact) => Ok(Some(fact.clone())),
            None => Reads::fact_by_id(&self.snapshot, id),
        };
        let mut printer = Printer::new(self.compiler.schema(), &lookup);
        for result in &page.results {
            each(match result.fact {
                Some(id) => printer.fact(id, expansion)?,
                None => printer.value(&page.ty, &result.bytes, expansion)?,
            })?;
        }
        Ok(())
    }
}
