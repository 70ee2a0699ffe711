//! [`FactReader`]: queries, and facts as JSON.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;

use crate::angle::tree::DeriveWhen;
use crate::cancellation::Deadline;
use crate::database::derived_counts::{is_stored, not_derived};
use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::json::print::{Expansion, Printer};
use crate::layout::meta::STATE;
use crate::layout::tables::Side;
use crate::ownership::slice::Slice;
use crate::query::prepared::{Compiler, EachResult, FoundResult, Page, Query, QueryLimits, collected};
use crate::query::reads::Reads;
use crate::reading::snapshot::Snapshot;
use crate::state::State;

impl FactDatabase {
    /// Begins to read: the facts that are there now.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn reader(&self) -> Result<FactReader> {
        let plans = Mutex::new(Vec::new());
        Ok(FactReader { snapshot: self.store.snapshot()?, compiler: Arc::clone(&self.compiler), plans })
    }
}

/// The facts of a database at one time.
pub struct FactReader {
    snapshot: Snapshot,
    compiler: Arc<Compiler>,
    /// The queries that have further pages, the last one at the end: the next page need not compile them again.
    plans: Mutex<Vec<(String, Arc<Query>)>>,
}

/// So many compiled queries are kept.
const PLANS_MAX: usize = 16;

impl FactReader {
    /// The facts as bytes.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same reader without the facts that `slice` hides. Facts that are derived on demand are derived from those
    /// of the slice.
    #[must_use]
    pub fn sliced(self, slice: Slice) -> Self {
        // Plans that are kept stay right: they depend on counts, and counts are of all facts, not of the slice.
        let Self { snapshot, compiler, plans } = self;
        Self { snapshot: snapshot.sliced(Arc::new(slice)), compiler, plans }
    }

    /// Runs a query.
    ///
    /// # Errors
    /// [`Error::Angle`], with the place of the error, and as [`Query::run`](crate::Query::run).
    pub fn query(&self, text: &str, limits: &QueryLimits) -> Result<Page> {
        collected(|each| self.query_each(text, limits, None, each))
    }

    /// Returns the next page of a query, from the continuation of the previous one.
    ///
    /// # Errors
    /// [`Error::Continuation`], if it is not of this query; and as [`FactReader::query`].
    pub fn continue_query(&self, text: &str, limits: &QueryLimits, continuation: &[u8]) -> Result<Page> {
        collected(|each| self.query_each(text, limits, Some(continuation), each))
    }

    /// Runs a query, or continues it, and calls `each` with each result: `each` can end the page. The time limit is for
    /// the whole call: to check the query, to find results, and to run `each`. The returned page has no results.
    ///
    /// # Errors
    /// As [`FactReader::query`] and [`FactReader::continue_query`]; errors of `each`.
    pub fn query_each(
        &self,
        text: &str,
        limits: &QueryLimits,
        continuation: Option<&[u8]>,
        each: &mut EachResult<'_>,
    ) -> Result<Page> {
        self.compiled(text, limits, |query, deadline| {
            query.each_until(&self.snapshot, limits, deadline, continuation, each)
        })
    }

    /// Runs a query, compiled for an earlier page or now, and keeps it if there is a further page. It is compiled and
    /// run until the same deadline.
    fn compiled(
        &self,
        text: &str,
        limits: &QueryLimits,
        run: impl FnOnce(&Query, &Deadline) -> Result<Page>,
    ) -> Result<Page> {
        let deadline = limits.deadline();
        let kept = self.kept(text);
        let query = match &kept {
            Some(query) => Arc::clone(query),
            None => Arc::new(self.compiler.query_until(text, &self.snapshot, &deadline)?),
        };
        let page = run(&query, &deadline)?;
        if kept.is_none() && page.continuation.is_some() {
            self.keep(text, query);
        }
        Ok(page)
    }

    fn kept(&self, text: &str) -> Option<Arc<Query>> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.iter().rev().find(|(of, _)| of == text).map(|(_, query)| Arc::clone(query))
    }

    fn keep(&self, text: &str, query: Arc<Query>) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|(of, _)| of != text);
        if plans.len() == PLANS_MAX {
            plans.remove(0);
        }
        plans.push((text.to_owned(), query));
    }

    /// The predicates of [`Page::stored`] that were not derived since facts of their inputs were written, or whose
    /// derivation was stopped: results may be missing until [`FactDatabase::derive_each`] has derived them.
    ///
    /// # Errors
    /// Errors of the engine; [`Error::Damaged`].
    pub fn not_derived(&self, page: &Page) -> Result<Vec<PredicateId>> {
        not_derived(&self.compiler, &self.snapshot, &page.stored)
    }

    /// As [`FactReader::not_derived`], of all predicates of the schema.
    ///
    /// # Errors
    /// As [`FactReader::not_derived`].
    pub fn not_derived_of_all(&self) -> Result<Vec<PredicateId>> {
        let derived = self.compiler.schema().predicates().iter().filter(|predicate| {
            let derivation = predicate.derivation.as_ref();
            derivation.is_some_and(|derivation| derivation.when != DeriveWhen::OnDemand)
        });
        not_derived(&self.compiler, &self.snapshot, &derived.map(|predicate| predicate.id).collect::<Vec<_>>())
    }

    /// The command that derives predicates. `file` is the database, as a user of the command line names it.
    #[must_use]
    pub fn derive_command(&self, predicates: &[PredicateId], file: &str) -> String {
        let mut command = format!("`fulgurite facts derive {file}");
        // Without names, it derives those that the schema stores.
        if !predicates.iter().all(|predicate| is_stored(&self.compiler, *predicate)) {
            for predicate in predicates {
                command.push_str(" --predicate ");
                command.push_str(&self.compiler.schema().name_of(*predicate));
            }
        }
        command.push_str(if self.snapshot.layers.len() > 1 { "` with its --base" } else { "`" });
        command
    }

    /// A message for each predicate of [`FactReader::not_derived`], with what to do. `file` is the database, as a user
    /// of the command line names it.
    ///
    /// # Errors
    /// As [`FactReader::not_derived`].
    pub fn not_derived_messages(&self, page: &Page, file: &str) -> Result<Vec<String>> {
        let state = self.snapshot.own().view.get(Side::Meta, STATE)?.and_then(|state| State::read(&state));
        let message = |predicate| {
            let name = self.compiler.schema().name_of(predicate);
            match state {
                Some(State::Incomplete) => {
                    let command = self.derive_command(&[predicate], file);
                    format!("{name} was not derived since facts were written; run {command}")
                }
                _ => format!(
                    "{name} was not derived before the database was completed; write its facts to a new database, and \
                     derive it there"
                ),
            }
        };
        Ok(self.not_derived(page)?.into_iter().map(message).collect())
    }

    /// A fact as JSON, in the shape of its own predicate. Null if there is none.
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

    /// The results of a page as JSON: facts as `{ "id", "key", "value" }`, other values by their types. Facts have the
    /// shape of the predicate that the query names, if their own predicate evolved from it.
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

    /// A result as JSON at the time that [`FactReader::query_each`] finds it, as [`FactReader::print`] returns it.
    ///
    /// # Errors
    /// As [`Printer::fact`].
    pub fn print_found(&self, found: &FoundResult<'_>, expansion: Expansion) -> Result<Json> {
        let lookup = |id| match found.derived.get(id) {
            Some(fact) => Ok(Some(fact.clone())),
            None => Reads::fact_by_id(&self.snapshot, id),
        };
        Printer::new(self.compiler.schema(), &lookup).value(found.ty, &found.result.bytes, expansion)
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
            each(printer.value(&page.ty, &result.bytes, expansion)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::query::prepared::PageFlow;
    use crate::schema::definition::Schema;

    #[test]
    fn a_page_ends_at_the_deadline_of_the_call_that_compiled_its_query() {
        let directory = tempfile::tempdir().expect("a directory");
        let schema = Schema::parse("a", "schema a.1 { predicate P : nat }").expect("it is right");
        let database = FactDatabase::create(directory.path().join("a.ful"), schema).expect("there is no such file");
        let reader = database.reader().expect("it is open");
        let hour = Duration::from_secs(3600);
        let limits = QueryLimits { time_max: Some(hour), ..QueryLimits::default() };
        let text = format!("X where X = [{}][..]", (0..1_000).map(|x| format!("{x}, ")).collect::<String>() + "0");
        let page = reader.compiled(&text, &limits, |query, deadline| {
            // The query is compiled now, and its page does not get another hour.
            assert!(deadline.until.expect("there is a limit") <= Instant::now() + hour);
            let late = Deadline::new(Some(Instant::now()), limits.cancellation.clone());
            query.each_until(&reader.snapshot, &limits, &late, None, &mut |_| Ok(PageFlow::Continue))
        });
        assert!(page.expect("what it has until then").timed_out);
    }
}
