//! [`Update`]: a parsed update, and its execution in one transaction.
//!
//! Invariants: (1) the operations of an update are done together or not at all. (2) What an operation changes is known
//! whole before it changes anything: deletions first, then insertions. (3) A blank node of the text is a new node of
//! the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxiri::Iri;
use oxrdf::{BlankNode, GraphName, GraphNameRef, NamedNode, NamedOrBlankNode, Quad, Term, TermRef, Triple};
use spareval::{DeleteInsertQuad, QueryDatasetSpecification};
use spargebra::GraphUpdateOperation;
use spargebra::algebra::{GraphPattern, GraphTarget, QueryDataset};
use spargebra::term::{self, GroundQuadPattern, QuadPattern};

use super::load_file;
use super::plan::{self, JoinOrder, PatternPlan};
use super::query::{LEVELS_ON_CALLERS_STACK, stack_bytes};
use super::removal;
use super::service::{self, ServiceHandler};
use crate::IdPattern;
use crate::IdQuad;
use crate::Quads;
use crate::Store;
use crate::TermId;
use crate::Transaction;
use crate::TransactionView;
use crate::error::{Error, Result};
use crate::meter;
use crate::sparql::evaluation::dataset::{EvaluationDataset, failure};
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{Limits, Watch};
use crate::sparql::evaluation::scope::DatasetChoice;
use crate::sparql::evaluation::terms::Terms;
use crate::sparql::expressions::functions;
use crate::sparql::expressions::xpath;
use crate::sparql::parse::shape;
use crate::sparql::parse::text::{self, Prologue};

/// A parsed update with its options. It can be executed any number of times, on any thread.
///
/// See [the module](crate::sparql) for an example.
#[derive(Clone, Debug)]
pub struct Update {
    /// Operations, and the base of each run of them.
    parsed: Vec<spargebra::Update>,
    dataset: DatasetChoice,
    limits: Limits,
    join_order: JoinOrder,
    loads_files: bool,
    service: service::Handler,
}

/// The result of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// The number of quads that were added and did not exist before.
    pub inserted: u64,
    /// The number of quads that were removed.
    pub removed: u64,
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
        Ok(Self {
            parsed: text::parse_update(text, &Prologue { base, prefixes })?,
            dataset: DatasetChoice::default(),
            limits: Limits::default(),
            join_order: JoinOrder::default(),
            loads_files: false,
            service: service::Handler::default(),
        })
    }

    /// Sets the limits of the execution. The timeout applies to all operations and attempts together, the other limits
    /// to each operation.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the timeout of the execution (see [`Limits::timeout`]).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.limits = self.limits.timeout(timeout);
        self
    }

    /// Adds a graph to the default graph of `WHERE` (`using-graph-uri` of the SPARQL protocol). The named graphs are
    /// then those of [`Update::with_using_named_graph`].
    #[must_use]
    pub fn with_using_graph(mut self, graph: impl Into<GraphName>) -> Self {
        self.dataset.default.get_or_insert_default().push(graph.into());
        self
    }

    /// Adds a named graph for `WHERE` (`using-named-graph-uri` of the SPARQL protocol).
    #[must_use]
    pub fn with_using_named_graph(mut self, graph: impl Into<NamedOrBlankNode>) -> Self {
        self.dataset.named.get_or_insert_default().push(graph.into());
        self
    }

    /// Sets whether the default graph of `WHERE` is the union of all graphs, if neither the text nor the caller selects
    /// graphs. Default: `false`. Insertions without a graph always go into the store's default graph.
    #[must_use]
    pub fn union_default_graph(mut self, union: bool) -> Self {
        self.dataset.union_default_graph = union;
        self
    }

    /// Sets the order in which triple patterns of `WHERE` are joined. Default: [`JoinOrder::Counts`].
    #[must_use]
    pub fn with_join_order(mut self, order: JoinOrder) -> Self {
        self.join_order = order;
        self
    }

    /// Sets whether `LOAD` may read `file:` IRIs: any file that the process can read. Default: `false`.
    #[must_use]
    pub fn loads_files(mut self, loads: bool) -> Self {
        self.loads_files = loads;
        self
    }

    /// Sets the handler that sends `SERVICE` clauses of `WHERE` to other endpoints, as
    /// [`Query::with_service`](super::Query::with_service). If [`Update::execute`] retries after a conflict, the
    /// requests are sent again.
    #[must_use]
    pub fn with_service(mut self, handler: Arc<dyn ServiceHandler>) -> Self {
        self.service = service::Handler(Some(handler));
        self
    }

    /// Executes the update in a new transaction and commits it. Retries if the commit conflicts with another
    /// transaction.
    ///
    /// # Errors
    /// As [`Update::execute_in`] and [`Store::update`]. After an error nothing is changed.
    pub fn execute(&self, store: &Store) -> Result<UpdateReport> {
        let deadline = self.deadline();
        store.update(|transaction| self.run(transaction, deadline))
    }

    /// Executes the update in a transaction, which remains open.
    ///
    /// # Errors
    /// As [`Query::evaluate`](super::Query::evaluate); [`Error::Graph`] if a graph does not exist, or already exists,
    /// and the operation is not `SILENT`; [`Error::LoadRefused`], [`Error::Syntax`] and [`Error::Input`] of `LOAD`;
    /// [`Error::Invalid`] if the caller selects graphs for an update with `USING` or `WITH`. After an error the
    /// transaction is as it was before the call.
    pub fn execute_in(&self, transaction: &mut Transaction) -> Result<UpdateReport> {
        let before = transaction.savepoint();
        let done = self.run(transaction, self.deadline());
        if done.is_err() {
            // If that fails the transaction is broken, and says so when it is used. The first error says why.
            let _ = transaction.rollback_to(before);
        }
        done
    }

    fn deadline(&self) -> Option<Instant> {
        self.limits.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    fn run(&self, transaction: &mut Transaction, deadline: Option<Instant>) -> Result<UpdateReport> {
        self.limits.check()?;
        let mut report = UpdateReport::default();
        for part in &self.parsed {
            for operation in &part.operations {
                self.operate(operation, part.base_iri.as_ref(), transaction, deadline, &mut report)?;
            }
        }
        // Whatever the last operation did after its last look: what is too late is not committed.
        step(&Watch::start_with_deadline(&self.limits, deadline), 0)?;
        Ok(report)
    }

    fn operate(
        &self,
        operation: &GraphUpdateOperation,
        base: Option<&Iri<String>>,
        transaction: &mut Transaction,
        deadline: Option<Instant>,
        report: &mut UpdateReport,
    ) -> Result<()> {
        let watch = Watch::start_with_deadline(&self.limits, deadline);
        match operation {
            GraphUpdateOperation::InsertData { data } => {
                let mut nodes = NewNodes::default();
                let mut inserted = 0;
                for quad in data {
                    let quad = nodes.quad(&inserted_quad(quad), transaction)?;
                    inserted += u64::from(transaction.insert(&quad)?);
                    step(&watch, inserted)?;
                }
                report.inserted += inserted;
                Ok(())
            }
            GraphUpdateOperation::DeleteData { data } => {
                let mut removed = 0;
                for quad in data {
                    removed += u64::from(transaction.remove(&removed_quad(quad))?);
                    step(&watch, removed)?;
                }
                report.removed += removed;
                Ok(())
            }
            GraphUpdateOperation::DeleteInsert { delete, insert, using, pattern } => {
                let change = Change { delete, insert, using: using.as_ref(), pattern, base };
                self.change(&change, transaction, &watch, deadline, report)
            }
            GraphUpdateOperation::Load { silent, source, destination } => {
                let before = transaction.savepoint();
                match self.load(source, &graph_name(destination), transaction, &watch) {
                    Ok(inserted) => report.inserted += inserted,
                    // What ends the whole update is not passed over.
                    Err(error) if *silent && !ends_the_update(&error) => transaction.rollback_to(before)?,
                    Err(error) => return Err(error),
                }
                Ok(())
            }
            GraphUpdateOperation::Clear { silent, graph } => {
                let mut removed = 0;
                for_graphs(graph, *silent, transaction, |transaction, graph| {
                    self.clear(graph, transaction, &watch, &mut removed)
                })?;
                report.removed += removed;
                Ok(())
            }
            GraphUpdateOperation::Drop { silent, graph } => {
                let mut removed = 0;
                for_graphs(graph, *silent, transaction, |transaction, graph| {
                    self.clear(graph, transaction, &watch, &mut removed)?;
                    transaction.drop_graph(graph)?;
                    Ok(())
                })?;
                report.removed += removed;
                Ok(())
            }
            GraphUpdateOperation::Create { silent, graph } => {
                if !transaction.create_graph(graph.as_ref().into())? && !silent {
                    return Err(Error::Graph { graph: graph.to_string(), state: "is there already" });
                }
                Ok(())
            }
        }
    }

    /// `DELETE`/`INSERT` with a `WHERE`.
    fn change(
        &self,
        change: &Change<'_>,
        transaction: &mut Transaction,
        watch: &Watch,
        deadline: Option<Instant>,
        report: &mut UpdateReport,
    ) -> Result<()> {
        if self.dataset.says_which() && change.using.is_some() {
            return Err(Error::Invalid {
                message: "graphs are given to an update that has USING or WITH; leave out the one or the other"
                    .to_owned(),
            });
        }
        let view = transaction.view();
        let plain_scope = !self.dataset.says_which() && !self.dataset.union_default_graph && change.using.is_none();
        if plain_scope
            && change.insert.is_empty()
            && let Some(removal) = removal::of(change.delete, change.pattern)
        {
            step(watch, 0)?;
            if let Some(pattern) = removal.pattern(&view)? {
                self.remove(&pattern, transaction, watch, &mut report.removed)?;
            }
            return Ok(());
        }
        let depth = shape::pattern_depth(change.pattern);
        let changes = if depth <= LEVELS_ON_CALLERS_STACK {
            self.changes(change, &view, deadline)?
        } else {
            text::on_stack(stack_bytes(depth), || self.changes(change, &view, deadline))?
        };
        for quad in &changes.removed {
            step(watch, 0)?;
            report.removed += u64::from(transaction.remove_ids(quad)?);
        }
        let mut nodes = NewNodes::default();
        for quad in &changes.inserted {
            step(watch, 0)?;
            let quad = nodes.unknown_quad(quad, transaction)?;
            report.inserted += u64::from(transaction.insert(&quad)?);
        }
        Ok(())
    }

    /// Takes away all quads of a pattern, without evaluating it row by row, and adds them to those that the operation
    /// `removed`.
    fn remove(
        &self,
        pattern: &IdPattern,
        transaction: &mut Transaction,
        watch: &Watch,
        removed: &mut u64,
    ) -> Result<()> {
        step(watch, *removed)?;
        if !self.limits.bound_changes() {
            *removed += transaction.remove_matching(pattern)?;
            return Ok(());
        }
        // It reads on behind what it has given, whatever became of that.
        for quad in transaction.view().quads(pattern) {
            *removed += u64::from(transaction.remove_ids(&quad?)?);
            step(watch, *removed)?;
        }
        Ok(())
    }

    fn clear(
        &self,
        graph: GraphNameRef<'_>,
        transaction: &mut Transaction,
        watch: &Watch,
        removed: &mut u64,
    ) -> Result<()> {
        let view = transaction.view();
        let id = match graph {
            GraphNameRef::DefaultGraph => Some(TermId::DEFAULT_GRAPH),
            GraphNameRef::NamedNode(name) => view.id(name.into())?,
            GraphNameRef::BlankNode(name) => view.id(name.into())?,
        };
        match id {
            Some(id) => self.remove(&IdPattern::of_graph(id), transaction, watch, removed),
            None => Ok(()),
        }
    }

    /// All that the operation changes, before it changes anything.
    fn changes(&self, change: &Change<'_>, view: &TransactionView, deadline: Option<Instant>) -> Result<Changes> {
        let watch = Watch::start_with_deadline(&self.limits, deadline);
        let terms = Terms::new(view.clone(), watch.clone());
        let stopped = |stopped: crate::sparql::evaluation::limits::Stopped| stopped.into_failure(&watch);
        watch.step().map_err(stopped)?;
        let scope = std::rc::Rc::new(self.dataset.scope(change.using, &terms).map_err(stopped)?);
        let plan = interrupt::without_panic("the planner", || {
            plan::plan_pattern(change.pattern, change.base, self.join_order, &terms, &scope).map_err(stopped)
        })?;
        let dataset = EvaluationDataset::new(terms, scope);
        let evaluated = interrupt::run(&watch, || self.changes_of_rows(change, plan, dataset, view, &watch));
        evaluated.unwrap_or_else(|interrupted| Err(stopped(interrupted)))
    }

    fn changes_of_rows(
        &self,
        change: &Change<'_>,
        plan: PatternPlan,
        dataset: EvaluationDataset<TransactionView>,
        view: &TransactionView,
        watch: &Watch,
    ) -> Result<Changes> {
        let (pattern, functions) = xpath::with_functions(plan.pattern);
        let evaluator = functions.register(functions::evaluator(plan.calls_functions).clone());
        let evaluator = service::asking(evaluator, &self.service, plan.services);
        let base = change.base.cloned();
        let mut prepared =
            evaluator.prepare_delete_insert(change.delete.to_vec(), change.insert.to_vec(), base, None, &pattern);
        // The dataset itself decides which graphs are meant.
        *prepared.dataset_mut() = QueryDatasetSpecification::new();
        let rows = prepared.execute(dataset).map_err(|error| failure(watch, error))?;
        let mut changes = Changes::default();
        for row in rows {
            let row = row.map_err(|error| failure(watch, error))?;
            if watch.has_failed() {
                break;
            }
            match row {
                DeleteInsertQuad::Delete(quad) => changes.removed.extend(meter::uncounted(|| id_quad(&quad, view))?),
                DeleteInsertQuad::Insert(quad) => changes.inserted.push(quad),
            }
            let rows = changes.removed.len() + changes.inserted.len();
            watch.step().and_then(|()| watch.check_rows(rows as u64)).map_err(|stopped| stopped.into_failure(watch))?;
        }
        watch.take_failure().map_or(Ok(changes), Err)
    }

    fn load(
        &self,
        source: &NamedNode,
        destination: &GraphName,
        transaction: &mut Transaction,
        watch: &Watch,
    ) -> Result<u64> {
        if !self.loads_files {
            return Err(Error::LoadRefused { iri: source.as_str().to_owned() });
        }
        let mut nodes = NewNodes::default();
        let mut inserted = 0;
        let mut quads = load_file::quads(source, destination)?;
        for quad in &mut quads {
            step(watch, inserted)?;
            let quad = nodes.quad(&quad?, transaction)?;
            inserted += u64::from(transaction.insert(&quad)?);
        }
        transaction.note_namespaces(quads.prefixes())?;
        step(watch, inserted)?;
        Ok(inserted)
    }
}

/// One step of an operation that has changed so many quads.
fn step(watch: &Watch, changed: u64) -> Result<()> {
    watch.step().and_then(|()| watch.check_rows(changed)).map_err(|stopped| stopped.into_failure(watch))
}

/// A `DELETE`/`INSERT` with its `WHERE`.
struct Change<'u> {
    delete: &'u [GroundQuadPattern],
    insert: &'u [QuadPattern],
    using: Option<&'u QueryDataset>,
    pattern: &'u GraphPattern,
    base: Option<&'u Iri<String>>,
}

/// What an operation changes.
#[derive(Default)]
struct Changes {
    removed: Vec<IdQuad>,
    inserted: Vec<Quad>,
}

fn graph_name(name: &term::GraphName) -> GraphName {
    match name {
        term::GraphName::NamedNode(name) => name.clone().into(),
        term::GraphName::DefaultGraph => GraphName::DefaultGraph,
    }
}

fn inserted_quad(quad: &term::Quad) -> Quad {
    let term::Quad { subject, predicate, object, graph_name: graph } = quad.clone();
    Quad { subject, predicate, object, graph_name: graph_name(&graph) }
}

fn removed_quad(quad: &term::GroundQuad) -> Quad {
    let term::GroundQuad { subject, predicate, object, graph_name: graph } = quad.clone();
    Quad { subject: subject.into(), predicate, object: object.into(), graph_name: graph_name(&graph) }
}

fn ends_the_update(error: &Error) -> bool {
    let is_of_limits = matches!(error, Error::TimedOut { .. } | Error::Cancelled | Error::LimitReached { .. });
    is_of_limits
        || matches!(
            error,
            Error::Engine(_) | Error::Damaged { .. } | Error::NoSuchTerm { .. } | Error::TransactionBroken
        )
}

/// The quad as numbers; `None` if the store has not all of its terms, and so not the quad.
fn id_quad(quad: &Quad, view: &TransactionView) -> Result<Option<IdQuad>> {
    let graph = match &quad.graph_name {
        GraphName::DefaultGraph => Some(TermId::DEFAULT_GRAPH),
        GraphName::NamedNode(name) => view.id(name.as_ref().into())?,
        GraphName::BlankNode(name) => view.id(name.as_ref().into())?,
    };
    let subject = match &quad.subject {
        NamedOrBlankNode::NamedNode(node) => view.id(node.as_ref().into())?,
        NamedOrBlankNode::BlankNode(node) => view.id(node.as_ref().into())?,
    };
    let (predicate, object) = (view.id(quad.predicate.as_ref().into())?, view.id(TermRef::from(&quad.object))?);
    Ok(match (subject, predicate, object, graph) {
        (Some(subject), Some(predicate), Some(object), Some(graph)) => {
            Some(IdQuad { subject, predicate, object, graph })
        }
        _ => None,
    })
}

/// Does something to each graph of a target. A single graph that is not there is an error, unless `silent`.
fn for_graphs(
    target: &GraphTarget,
    silent: bool,
    transaction: &mut Transaction,
    mut act: impl FnMut(&mut Transaction, GraphNameRef<'_>) -> Result<()>,
) -> Result<()> {
    let view = transaction.view();
    if let GraphTarget::NamedNode(name) = target {
        let there = match view.id(name.as_ref().into())? {
            Some(id) => view.contains_graph(id)?,
            None => false,
        };
        if there {
            return act(transaction, name.as_ref().into());
        }
        return if silent { Ok(()) } else { Err(Error::Graph { graph: name.to_string(), state: "is not there" }) };
    }
    if matches!(target, GraphTarget::DefaultGraph | GraphTarget::AllGraphs) {
        act(transaction, GraphNameRef::DefaultGraph)?;
    }
    if matches!(target, GraphTarget::NamedGraphs | GraphTarget::AllGraphs) {
        // All names first: what follows takes them away.
        let names: Vec<TermId> = view.graph_names().collect::<Result<_>>()?;
        for name in names {
            match view.term(name)? {
                Term::NamedNode(name) => act(transaction, name.as_ref().into())?,
                Term::BlankNode(name) => act(transaction, name.as_ref().into())?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The nodes of the store that stand for blank nodes of a text.
#[derive(Default)]
struct NewNodes(HashMap<BlankNode, BlankNode>);

impl NewNodes {
    /// The quad with all its blank nodes made new.
    fn quad(&mut self, quad: &Quad, transaction: &mut Transaction) -> Result<Quad> {
        self.replaced(quad, transaction, false)
    }

    /// The quad with those of its blank nodes made new that the store does not know: the evaluator has made them for a
    /// template.
    fn unknown_quad(&mut self, quad: &Quad, transaction: &mut Transaction) -> Result<Quad> {
        self.replaced(quad, transaction, true)
    }

    fn replaced(&mut self, quad: &Quad, transaction: &mut Transaction, only_unknown: bool) -> Result<Quad> {
        let mut node = |node: &BlankNode| self.node(node, transaction, only_unknown);
        let subject = subject_with(&quad.subject, &mut node)?;
        let object = term_with(&quad.object, &mut node)?;
        let graph_name = match &quad.graph_name {
            GraphName::BlankNode(name) => node(name)?.into(),
            other => other.clone(),
        };
        Ok(Quad { subject, predicate: quad.predicate.clone(), object, graph_name })
    }

    fn node(&mut self, node: &BlankNode, transaction: &mut Transaction, only_unknown: bool) -> Result<BlankNode> {
        if let Some(new) = self.0.get(node) {
            return Ok(new.clone());
        }
        let view = transaction.view();
        if only_unknown && view.id(node.as_ref().into())?.is_some() {
            return Ok(node.clone());
        }
        let id = transaction.new_blank_node();
        let Term::BlankNode(new) = view.term(id)? else {
            unreachable!("a new blank node is a blank node");
        };
        self.0.insert(node.clone(), new.clone());
        Ok(new)
    }
}

type NodeFor<'n> = dyn FnMut(&BlankNode) -> Result<BlankNode> + 'n;

fn subject_with(subject: &NamedOrBlankNode, node: &mut NodeFor<'_>) -> Result<NamedOrBlankNode> {
    Ok(match subject {
        NamedOrBlankNode::NamedNode(name) => name.clone().into(),
        NamedOrBlankNode::BlankNode(blank) => node(blank)?.into(),
    })
}

fn term_with(term: &Term, node: &mut NodeFor<'_>) -> Result<Term> {
    Ok(match term {
        Term::BlankNode(blank) => node(blank)?.into(),
        Term::Triple(triple) => {
            let subject = subject_with(&triple.subject, node)?;
            Triple::new(subject, triple.predicate.clone(), term_with(&triple.object, node)?).into()
        }
        Term::NamedNode(_) | Term::Literal(_) => term.clone(),
    })
}
