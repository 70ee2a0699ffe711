//! [`Update`]: a parsed update, and its execution in one transaction.
//!
//! Invariant: the operations of an update are done together or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, NamedOrBlankNode, Term, Variable};
use spargebra::GraphUpdateOperation;

use super::plan::JoinOrder;
use super::service::{self, ServiceHandler};
use crate::error::Result;
use crate::sparql::evaluation::limits::Limits;
use crate::sparql::parse::text::{self, Prologue};
use crate::sparql::updating::changes::{Recorder, UpdateChanges};
use crate::sparql::updating::execution::{Run, UpdateOptions};
use crate::sparql::updating::report::UpdateReport;
use crate::sparql::updating::targets::DefaultTargets;
use crate::{Store, Transaction};

/// A parsed update with its options. It can be executed any number of times, on any thread.
///
/// See [the module](crate::sparql) for an example.
#[derive(Clone, Debug)]
pub struct Update {
    /// Each element has operations with the same base.
    parsed: Vec<spargebra::Update>,
    options: UpdateOptions,
}

impl Update {
    /// Parses an update: one or more operations, separated by `;`. `base` resolves relative IRIs until the text has a
    /// `BASE`.
    ///
    /// # Errors
    /// As [`Query::parse`](super::Query::parse).
    pub fn parse(text: &str, base: Option<&str>) -> Result<Self> {
        Self::parse_with_prefixes(text, base, &[])
    }

    /// As [`Update::parse`], with predefined prefixes.
    ///
    /// # Errors
    /// As [`Query::parse_with_prefixes`](super::Query::parse_with_prefixes).
    pub fn parse_with_prefixes(text: &str, base: Option<&str>, prefixes: &[(String, String)]) -> Result<Self> {
        let parsed = text::parse_update(text, &Prologue { base, prefixes, quotes_triples: false })?;
        Ok(Self { parsed, options: UpdateOptions::default() })
    }

    /// As [`Update::parse_with_prefixes`], of SPARQL-star: see [`Query::parse_rdf_star`](super::Query::parse_rdf_star).
    ///
    /// # Errors
    /// As [`Update::parse_with_prefixes`]; [`Error::Invalid`](crate::Error::Invalid) if statements are inserted that
    /// have a triple as a subject.
    pub fn parse_rdf_star(text: &str, base: Option<&str>, prefixes: &[(String, String)]) -> Result<Self> {
        let parsed = text::parse_update(text, &Prologue { base, prefixes, quotes_triples: true })?;
        Ok(Self { parsed, options: UpdateOptions::default() })
    }

    /// Sets the limits of the execution. The timeout applies to all operations and attempts together, the other limits
    /// to each operation.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Sets the timeout of the execution (see [`Limits::timeout`]).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.limits = self.options.limits.timeout(timeout);
        self
    }

    /// Adds a graph to the default graph of `WHERE` (`using-graph-uri` of the SPARQL protocol). The named graphs are
    /// then those of [`Update::with_using_named_graph`].
    #[must_use]
    pub fn with_using_graph(mut self, graph: impl Into<GraphName>) -> Self {
        self.options.dataset.default.get_or_insert_default().push(graph.into());
        self
    }

    /// Adds a named graph for `WHERE` (`using-named-graph-uri` of the SPARQL protocol).
    #[must_use]
    pub fn with_using_named_graph(mut self, graph: impl Into<NamedOrBlankNode>) -> Self {
        self.options.dataset.named.get_or_insert_default().push(graph.into());
        self
    }

    /// Sets whether the default graph of `WHERE` is the union of all graphs, if neither the text nor the caller selects
    /// graphs. Default: `false`. Insertions and deletions without a graph are not affected
    /// ([`Update::with_default_targets`]).
    #[must_use]
    pub fn union_default_graph(mut self, union: bool) -> Self {
        self.options.dataset.union_default_graph = union;
        self
    }

    /// Sets the graphs that insertions and deletions without a graph change. Default: the store's default graph.
    #[must_use]
    pub fn with_default_targets(mut self, targets: DefaultTargets) -> Self {
        self.options.targets = targets;
        self
    }

    /// Binds a variable of `WHERE` to a value before the evaluation begins, as
    /// [`Query::with_binding`](super::Query::with_binding). Operations without `WHERE` have no variables.
    #[must_use]
    pub fn with_binding(mut self, variable: Variable, value: impl Into<Term>) -> Self {
        self.options.bindings.push((variable, value.into()));
        self
    }

    /// Sets the order in which triple patterns of `WHERE` are joined. Default: [`JoinOrder::Counts`].
    #[must_use]
    pub fn with_join_order(mut self, order: JoinOrder) -> Self {
        self.options.join_order = order;
        self
    }

    /// Sets whether `LOAD` may read `file:` IRIs: any file that the process can read. Default: `false`.
    #[must_use]
    pub fn loads_files(mut self, loads: bool) -> Self {
        self.options.loads_files = loads;
        self
    }

    /// Sets the handler that sends `SERVICE` clauses of `WHERE` to other endpoints, as
    /// [`Query::with_service`](super::Query::with_service). If [`Update::execute`] retries after a conflict, the
    /// requests are sent again.
    #[must_use]
    pub fn with_service(mut self, handler: Arc<dyn ServiceHandler>) -> Self {
        self.options.service = service::Handler(Some(handler));
        self
    }

    /// Executes the update in a new transaction and commits it. Retries if the commit conflicts with another
    /// transaction.
    ///
    /// # Errors
    /// As [`Update::execute_in`] and [`Store::update`]. After an error nothing is changed.
    pub fn execute(&self, store: &Store) -> Result<UpdateReport> {
        let deadline = self.deadline();
        store.update(|transaction| {
            let run = Run::new(&self.options, transaction, deadline, Recorder::default())?;
            run.all(&self.parsed).map(|(report, _)| report)
        })
    }

    /// Executes the update in a transaction, which remains open.
    ///
    /// # Errors
    /// As [`Query::evaluate`](super::Query::evaluate); `Error::Graph` if a graph does not exist, or already exists, and
    /// the operation is not `SILENT`; `Error::LoadRefused`, `Error::Syntax` and `Error::Input` of `LOAD`;
    /// `Error::Invalid` if the caller selects graphs for an update with `USING` or `WITH`. After an error the
    /// transaction is as it was before the call.
    pub fn execute_in(&self, transaction: &mut Transaction) -> Result<UpdateReport> {
        self.execute_with(transaction, Recorder::default()).map(|(report, _)| report)
    }

    /// As [`Update::execute_in`]. Also returns the changes that the update made, to make them in another transaction:
    /// `None` if they have more than about `bytes_max` bytes, or a `LOAD` is among them.
    ///
    /// # Errors
    /// As [`Update::execute_in`].
    pub fn execute_recorded(
        &self,
        transaction: &mut Transaction,
        bytes_max: usize,
    ) -> Result<(UpdateReport, Option<UpdateChanges>)> {
        self.execute_with(transaction, Recorder::new(bytes_max))
    }

    /// Whether the changes do not depend on what the store contains: all operations are `INSERT DATA` or `DELETE DATA`.
    pub fn is_data_only(&self) -> bool {
        let mut operations = self.parsed.iter().flat_map(|part| &part.operations);
        operations.all(|operation| {
            matches!(operation, GraphUpdateOperation::InsertData { .. } | GraphUpdateOperation::DeleteData { .. })
        })
    }

    fn execute_with(
        &self,
        transaction: &mut Transaction,
        recorder: Recorder,
    ) -> Result<(UpdateReport, Option<UpdateChanges>)> {
        let before = transaction.savepoint();
        let run = Run::new(&self.options, transaction, self.deadline(), recorder);
        let done = run.and_then(|run| run.all(&self.parsed));
        if done.is_err() {
            // If this fails, the transaction is broken and reports it at its next use. The first error is the cause.
            let _ = transaction.rollback_to(before);
        }
        done
    }

    fn deadline(&self) -> Option<Instant> {
        self.options.limits.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }
}
