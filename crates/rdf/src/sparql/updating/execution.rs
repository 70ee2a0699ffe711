//! The execution of an update in a transaction.
//!
//! Invariants: (1) All changes of an operation with a `WHERE` are known before it changes anything: first deletions,
//! then insertions. (2) A blank node of the text becomes a new node of the store.

use std::time::Instant;

use oxiri::Iri;
use oxrdf::{GraphName, GraphNameRef, NamedNode, NamedOrBlankNode, Quad, Term, TermRef, Variable};
use spareval::{DeleteInsertQuad, QueryDatasetSpecification};
use spargebra::GraphUpdateOperation;
use spargebra::algebra::{GraphPattern, GraphTarget, QueryDataset};
use spargebra::term::{self, GroundQuadPattern, QuadPattern};

use super::load_file;
use super::new_nodes::NewNodes;
use super::removal;
use crate::error::{Error, Result};
use crate::meter;
use crate::sparql::bindings;
use crate::sparql::evaluation::dataset::{EvaluationDataset, failure};
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Limits, Stopped};
use crate::sparql::evaluation::scope::DatasetChoice;
use crate::sparql::evaluation::terms::Terms;
use crate::sparql::expressions::functions;
use crate::sparql::expressions::xpath;
use crate::sparql::parse::shape;
use crate::sparql::parse::text;
use crate::sparql::plan::{self, JoinOrder, PatternPlan};
use crate::sparql::query::{LEVELS_ON_CALLERS_STACK, stack_bytes};
use crate::sparql::service;
use crate::sparql::updating::changes::{Recorder, Step, UpdateChanges};
use crate::sparql::updating::report::UpdateReport;
use crate::sparql::updating::targets::{DefaultTargets, DeletedFrom};
use crate::{IdPattern, IdQuad, Quads, TermGraphs, TermId, Transaction, TransactionView};

/// How an update is executed.
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// The graphs that `WHERE` reads.
    pub dataset: DatasetChoice,
    pub limits: Limits,
    pub join_order: JoinOrder,
    /// Whether `LOAD` may read files.
    pub loads_files: bool,
    pub service: service::Handler,
    /// The graphs of insertions and deletions without a graph.
    pub targets: DefaultTargets,
    /// Values of variables of `WHERE`.
    pub bindings: Vec<(Variable, Term)>,
}

/// One execution.
pub struct Run<'r> {
    options: &'r UpdateOptions,
    transaction: &'r mut Transaction,
    deadline: Option<Instant>,
    report: UpdateReport,
    recorder: Recorder,
}

impl<'r> Run<'r> {
    /// `recorder` keeps the changes.
    ///
    /// # Errors
    /// If the limits need a counting allocator and the program has none.
    pub fn new(
        options: &'r UpdateOptions,
        transaction: &'r mut Transaction,
        deadline: Option<Instant>,
        recorder: Recorder,
    ) -> Result<Self> {
        options.limits.check()?;
        Ok(Self { options, transaction, deadline, report: UpdateReport::default(), recorder })
    }

    /// Runs the operations of an update. Returns the changes too, if all were kept.
    ///
    /// # Errors
    /// As [`Update::execute_in`](super::Update::execute_in). Some operations may be done then.
    pub fn all(mut self, parsed: &[spargebra::Update]) -> Result<(UpdateReport, Option<UpdateChanges>)> {
        for part in parsed {
            for operation in &part.operations {
                self.operate(operation, part.base_iri.as_ref())?;
            }
        }
        // The last operation may have ended after its last check. What is too late is not committed.
        step(&self.watch(), 0)?;
        Ok((self.report, self.recorder.into_changes()))
    }

    fn watch(&self) -> EvaluationMonitor {
        EvaluationMonitor::start_with_deadline(&self.options.limits, self.deadline)
    }

    fn operate(&mut self, operation: &GraphUpdateOperation, base: Option<&Iri<String>>) -> Result<()> {
        let watch = self.watch();
        match operation {
            GraphUpdateOperation::InsertData { data } => {
                let mut nodes = NewNodes::default();
                let mut inserted = 0;
                for quad in data {
                    let quad = nodes.quad(&inserted_quad(quad), self.transaction)?;
                    inserted += u64::from(self.insert(quad)?);
                    step(&watch, inserted)?;
                }
                self.report.inserted += inserted;
                Ok(())
            }
            GraphUpdateOperation::DeleteData { data } => {
                let mut removed = 0;
                for quad in data {
                    let (quad, view) = (removed_quad(quad), self.transaction.view());
                    self.record_removal(&quad);
                    for quad in self.removed_quads(&quad, &view)? {
                        removed += u64::from(self.transaction.remove_ids(&quad)?);
                    }
                    step(&watch, removed)?;
                }
                self.report.removed += removed;
                Ok(())
            }
            GraphUpdateOperation::DeleteInsert { delete, insert, using, pattern } => {
                let change = Change { delete, insert, using: using.as_ref(), pattern, base };
                self.change(&change, &watch)
            }
            GraphUpdateOperation::Load { silent, source, destination } => {
                let before = self.transaction.savepoint();
                match self.load(source, &graph_name(destination), &watch) {
                    Ok(inserted) => {
                        self.recorder.give_up();
                        self.report.inserted += inserted;
                    }
                    // Some errors end the update in spite of SILENT.
                    Err(error) if *silent && !ends_the_update(&error) => self.transaction.rollback_to(before)?,
                    Err(error) => return Err(error),
                }
                Ok(())
            }
            GraphUpdateOperation::Clear { silent, graph } => {
                self.for_graphs(graph, *silent, |run, graph, removed| run.clear(graph, &watch, removed))
            }
            GraphUpdateOperation::Drop { silent, graph } => self.for_graphs(graph, *silent, |run, graph, removed| {
                run.clear(graph, &watch, removed)?;
                run.transaction.drop_graph(graph)?;
                run.recorder.keep(Step::Drop(graph.into_owned()));
                Ok(())
            }),
            GraphUpdateOperation::Create { silent, graph } => {
                if !self.transaction.create_graph(graph.as_ref().into())? && !silent {
                    return Err(Error::Graph { graph: graph.to_string(), state: "is there already" });
                }
                self.recorder.keep(Step::Create(graph.clone()));
                Ok(())
            }
        }
    }

    /// `DELETE`/`INSERT` with a `WHERE`.
    fn change(&mut self, change: &Change<'_>, watch: &EvaluationMonitor) -> Result<()> {
        let dataset = &self.options.dataset;
        if dataset.says_which() && change.using.is_some() {
            return Err(Error::Invalid {
                message: "graphs are given to an update that has USING or WITH; leave out the one or the other"
                    .to_owned(),
            });
        }
        let view = self.transaction.view();
        let plain_scope = !dataset.says_which() && !dataset.union_default_graph && change.using.is_none();
        let is_plain =
            plain_scope && self.options.bindings.is_empty() && self.options.targets == DefaultTargets::default();
        if is_plain
            && change.insert.is_empty()
            && let Some(removal) = removal::of(change.delete, change.pattern)
        {
            step(watch, 0)?;
            if let Some(pattern) = removal.pattern(&view)? {
                let mut removed = 0;
                self.remove(&pattern, watch, &mut removed)?;
                self.report.removed += removed;
            }
            return Ok(());
        }
        // Values of the caller are a level more, for each MINUS too.
        let depth = shape::pattern_depth(change.pattern) << u32::from(!self.options.bindings.is_empty());
        let changes = if depth <= LEVELS_ON_CALLERS_STACK {
            self.changes(change, &view)?
        } else {
            text::on_stack(stack_bytes(depth), || self.changes(change, &view))?
        };
        for quad in &changes.removed {
            step(watch, 0)?;
            self.recorder.remove(&pattern_of(quad), &view)?;
            self.report.removed += u64::from(self.transaction.remove_ids(quad)?);
        }
        let mut nodes = NewNodes::default();
        for quad in &changes.inserted {
            step(watch, 0)?;
            let quad = nodes.unknown_quad(quad, self.transaction)?;
            self.report.inserted += u64::from(self.insert(quad)?);
        }
        Ok(())
    }

    fn insert(&mut self, mut quad: Quad) -> Result<bool> {
        if quad.graph_name == GraphName::DefaultGraph {
            quad.graph_name.clone_from(&self.options.targets.insert);
        }
        self.recorder.insert(&quad);
        self.transaction.insert(&quad)
    }

    /// Keeps the removal of a quad of the text, from the same graphs as [`Run::removed_quads`].
    fn record_removal(&mut self, quad: &Quad) {
        if !self.recorder.is_on() {
            return;
        }
        match (&quad.graph_name, &self.options.targets.delete) {
            (GraphName::DefaultGraph, DeletedFrom::AllGraphs) => {
                self.recorder.keep(Step::remove(quad, TermGraphs::All));
            }
            (GraphName::DefaultGraph, DeletedFrom::Graphs(graphs)) => {
                for graph in graphs {
                    self.recorder.keep(Step::remove(quad, graph.clone().into()));
                }
            }
            (graph, _) => self.recorder.keep(Step::remove(quad, graph.clone().into())),
        }
    }

    /// The quads that are removed for a quad of the text.
    fn removed_quads(&self, quad: &Quad, view: &TransactionView) -> Result<Vec<IdQuad>> {
        if quad.graph_name != GraphName::DefaultGraph {
            return Ok(id_quad(quad, &quad.graph_name, view)?.into_iter().collect());
        }
        match &self.options.targets.delete {
            DeletedFrom::DefaultGraph => Ok(id_quad(quad, &GraphName::DefaultGraph, view)?.into_iter().collect()),
            DeletedFrom::AllGraphs => match id_quad(quad, &GraphName::DefaultGraph, view)? {
                Some(IdQuad { subject, predicate, object, .. }) => {
                    let (subject, predicate, object) = (Some(subject), Some(predicate), Some(object));
                    view.quads(&IdPattern { subject, predicate, object, graph: crate::GraphPattern::Any }).collect()
                }
                None => Ok(Vec::new()),
            },
            DeletedFrom::Graphs(graphs) => {
                let quads = graphs.iter().map(|graph| id_quad(quad, graph, view));
                quads.filter_map(Result::transpose).collect()
            }
        }
    }

    /// Removes all quads of a pattern without evaluating it row by row, and adds their number to `removed`.
    fn remove(&mut self, pattern: &IdPattern, watch: &EvaluationMonitor, removed: &mut u64) -> Result<()> {
        step(watch, *removed)?;
        self.recorder.remove(pattern, &self.transaction.view())?;
        if !self.options.limits.bound_removal(pattern) {
            *removed += self.transaction.remove_matching(pattern)?;
            return Ok(());
        }
        // The iterator continues after the last quad that it returned, even if that was removed.
        for quad in self.transaction.view().quads(pattern) {
            *removed += u64::from(self.transaction.remove_ids(&quad?)?);
            step(watch, *removed)?;
        }
        Ok(())
    }

    /// Calls `act` for each graph of a target. It adds the number of removed quads to its last argument. A single graph
    /// that does not exist is an error, unless `silent`.
    fn for_graphs(
        &mut self,
        target: &GraphTarget,
        silent: bool,
        mut act: impl FnMut(&mut Self, GraphNameRef<'_>, &mut u64) -> Result<()>,
    ) -> Result<()> {
        let view = self.transaction.view();
        let mut removed = 0;
        if let GraphTarget::NamedNode(name) = target {
            let exists = match view.id(name.as_ref().into())? {
                Some(id) => view.contains_graph(id)?,
                None => false,
            };
            if exists {
                act(self, name.as_ref().into(), &mut removed)?;
            } else if !silent {
                return Err(Error::Graph { graph: name.to_string(), state: "is not there" });
            }
        }
        if matches!(target, GraphTarget::DefaultGraph | GraphTarget::AllGraphs) {
            act(self, GraphNameRef::DefaultGraph, &mut removed)?;
        }
        if matches!(target, GraphTarget::NamedGraphs | GraphTarget::AllGraphs) {
            // All names first, because `act` may remove graphs.
            let names: Vec<TermId> = view.graph_names().collect::<Result<_>>()?;
            for name in names {
                match view.term(name)? {
                    Term::NamedNode(name) => act(self, name.as_ref().into(), &mut removed)?,
                    Term::BlankNode(name) => act(self, name.as_ref().into(), &mut removed)?,
                    _ => {}
                }
            }
        }
        self.report.removed += removed;
        Ok(())
    }

    fn clear(&mut self, graph: GraphNameRef<'_>, watch: &EvaluationMonitor, removed: &mut u64) -> Result<()> {
        let view = self.transaction.view();
        let id = match graph {
            GraphNameRef::DefaultGraph => Some(TermId::DEFAULT_GRAPH),
            GraphNameRef::NamedNode(name) => view.id(name.into())?,
            GraphNameRef::BlankNode(name) => view.id(name.into())?,
        };
        match id {
            Some(id) => self.remove(&IdPattern::of_graph(id), watch, removed),
            None => Ok(()),
        }
    }

    /// Returns all changes of the operation, and makes none.
    fn changes(&self, change: &Change<'_>, view: &TransactionView) -> Result<Changes> {
        let watch = self.watch();
        let terms = Terms::new(view.clone(), watch.clone());
        let stopped = |stopped: Stopped| stopped.into_failure(&watch);
        watch.step().map_err(stopped)?;
        let scope = std::rc::Rc::new(self.options.dataset.scope(change.using, &terms).map_err(stopped)?);
        let plan = interrupt::without_panic("the planner", || {
            let pattern = bindings::pattern_with_bindings(change.pattern.clone(), &self.options.bindings);
            plan::plan_pattern(&pattern, change.base, self.options.join_order, &terms, &scope).map_err(stopped)
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
        watch: &EvaluationMonitor,
    ) -> Result<Changes> {
        let (pattern, functions) = xpath::with_functions(plan.pattern);
        let evaluator = functions.register(functions::evaluator(plan.calls_functions).clone());
        let evaluator = service::asking(evaluator, &self.options.service, plan.services);
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
                DeleteInsertQuad::Delete(quad) => {
                    changes.removed.extend(meter::uncounted(|| self.removed_quads(&quad, view))?);
                }
                DeleteInsertQuad::Insert(quad) => changes.inserted.push(quad),
            }
            let rows = changes.removed.len() + changes.inserted.len();
            watch.step().and_then(|()| watch.check_rows(rows as u64)).map_err(|stopped| stopped.into_failure(watch))?;
        }
        watch.take_failure().map_or(Ok(changes), Err)
    }

    fn load(&mut self, source: &NamedNode, destination: &GraphName, watch: &EvaluationMonitor) -> Result<u64> {
        if !self.options.loads_files {
            return Err(Error::LoadRefused { iri: source.as_str().to_owned() });
        }
        let mut nodes = NewNodes::default();
        let mut inserted = 0;
        let mut quads = load_file::quads(source, destination)?;
        for quad in &mut quads {
            step(watch, inserted)?;
            let quad = nodes.quad(&quad?, self.transaction)?;
            inserted += u64::from(self.transaction.insert(&quad)?);
        }
        self.transaction.note_namespaces(quads.prefixes())?;
        step(watch, inserted)?;
        Ok(inserted)
    }
}
/// Checks the limits, after an operation has changed this many quads.
fn step(watch: &EvaluationMonitor, changed: u64) -> Result<()> {
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

/// The changes of an operation.
#[derive(Default)]
struct Changes {
    removed: Vec<IdQuad>,
    inserted: Vec<Quad>,
}

/// The pattern that only this quad matches.
fn pattern_of(quad: &IdQuad) -> IdPattern {
    let IdQuad { subject, predicate, object, graph } = *quad;
    let (subject, predicate, object) = (Some(subject), Some(predicate), Some(object));
    IdPattern { subject, predicate, object, graph: crate::GraphPattern::Named(graph) }
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

/// Returns the ids of the quad's terms in this graph; `None` if the store lacks one, and so the quad.
fn id_quad(quad: &Quad, graph: &GraphName, view: &TransactionView) -> Result<Option<IdQuad>> {
    let graph = match graph {
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
