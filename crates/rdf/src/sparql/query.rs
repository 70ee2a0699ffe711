//! [`Query`]: a parsed query, with what it is evaluated under.
//!
//! A query is evaluated where its results are asked for, on the caller's stack, as long as its algebra has at most
//! [`LEVELS_ON_CALLERS_STACK`] levels; a deeper one runs on a thread with a stack that fits, and hands its rows over.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use oxrdf::{GraphName, NamedOrBlankNode, Term, Variable};
use spareval::{CancellationToken, PreparedQuery, QueryDatasetSpecification};

use super::bindings;
use super::plan::{self, JoinOrder, Plan};
use super::results::{IdSolutions, OtherThread, QueryResults, Solutions, Triples};
use super::service::{self, ServiceHandler};
use crate::Quads;
use crate::error::{Error, Result};
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::best_rows::Best;
use crate::sparql::evaluation::dataset::{EvaluationDataset, failure};
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Limits, Stopped};
use crate::sparql::evaluation::scope::{DatasetChoice, Scope};
use crate::sparql::evaluation::terms::Terms;
use crate::sparql::expressions::functions;
use crate::sparql::expressions::xpath;
use crate::sparql::operators::rows::{Evaluation, RowSource};
use crate::sparql::operators::{Request, recognise};
use crate::sparql::parse::shape;
use crate::sparql::parse::text::{self, Prologue};

/// Levels of operators that are evaluated on the caller's stack: some 30 kB each without optimisation, a fifth of that
/// with.
pub(super) const LEVELS_ON_CALLERS_STACK: usize = if cfg!(debug_assertions) { 20 } else { 60 };

/// Stack for one level, without optimisation: twice what was measured.
const LEVEL_BYTES: usize = 128 << 10;

/// Rows that wait between the thread of a deep query and the caller.
const ROWS_BETWEEN_THREADS: usize = 256;

/// A parsed query with its options. It can be evaluated any number of times, on any thread.
///
/// See [the module](crate::sparql) for an example.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) parsed: spargebra::Query,
    pub(super) dataset: DatasetChoice,
    pub(super) limits: Limits,
    pub(super) join_order: JoinOrder,
    bindings: Vec<(Variable, Term)>,
    pub(super) service: service::Handler,
    /// Whether the query may be evaluated on ids. Tests compare both evaluations.
    pub(super) may_use_ids: bool,
}

/// The form of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryForm {
    /// `SELECT`: solutions.
    Select,
    /// `ASK`: a truth value.
    Ask,
    /// `CONSTRUCT`: triples.
    Construct,
    /// `DESCRIBE`: triples.
    Describe,
}

impl Query {
    /// Parses a query. `base` resolves relative IRIs until the text has a `BASE`.
    ///
    /// # Errors
    /// [`Error::SparqlSyntax`] with line and column; [`Error::QueryTooDeep`] and [`Error::QueryTooLong`];
    /// [`Error::Invalid`] if `base` is not an absolute IRI.
    pub fn parse(text: &str, base: Option<&str>) -> Result<Self> {
        Self::parse_with_prefixes(text, base, &[])
    }

    /// As [`Query::parse`], with predefined prefixes, such as those of [`Quads::namespaces`].
    ///
    /// # Errors
    /// As [`Query::parse`]; [`Error::Invalid`] if a namespace is not an absolute IRI.
    pub fn parse_with_prefixes(text: &str, base: Option<&str>, prefixes: &[(String, String)]) -> Result<Self> {
        Ok(Self::of(text::parse_query(text, &Prologue { base, prefixes, quotes_triples: false })?))
    }

    /// As [`Query::parse_with_prefixes`], of SPARQL-star: `<<s p o>>` is a triple term, which statements can have as
    /// their subject or object. In SPARQL 1.2 it is a node that reifies the triple.
    ///
    /// # Errors
    /// As [`Query::parse_with_prefixes`]; [`Error::Invalid`] if a `CONSTRUCT` has a triple as a subject.
    pub fn parse_rdf_star(text: &str, base: Option<&str>, prefixes: &[(String, String)]) -> Result<Self> {
        Ok(Self::of(text::parse_query(text, &Prologue { base, prefixes, quotes_triples: true })?))
    }

    fn of(parsed: spargebra::Query) -> Self {
        Self {
            parsed,
            dataset: DatasetChoice::default(),
            limits: Limits::default(),
            join_order: JoinOrder::default(),
            bindings: Vec::new(),
            service: service::Handler::default(),
            may_use_ids: true,
        }
    }

    /// Sets the limits of the evaluation.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the timeout of the evaluation (see [`Limits::timeout`]).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.limits = self.limits.timeout(timeout);
        self
    }

    /// Adds a graph to the default graph, and replaces `FROM` and `FROM NAMED` of the text (`default-graph-uri` of the
    /// SPARQL protocol). The named graphs are then those of [`Query::with_named_graph`].
    #[must_use]
    pub fn with_default_graph(mut self, graph: impl Into<GraphName>) -> Self {
        self.dataset.default.get_or_insert_default().push(graph.into());
        self
    }

    /// Adds a named graph, and replaces `FROM` and `FROM NAMED` of the text (`named-graph-uri` of the SPARQL protocol).
    /// The default graph then consists of the graphs of [`Query::with_default_graph`].
    #[must_use]
    pub fn with_named_graph(mut self, graph: impl Into<NamedOrBlankNode>) -> Self {
        self.dataset.named.get_or_insert_default().push(graph.into());
        self
    }

    /// Sets whether the default graph is the union of all graphs of the store, its default graph included, if neither
    /// the text nor the caller selects graphs. Default: `false`; the default graph is the store's default graph.
    #[must_use]
    pub fn union_default_graph(mut self, union: bool) -> Self {
        self.dataset.union_default_graph = union;
        self
    }

    /// Binds a variable to a value before the evaluation begins.
    ///
    /// Every solution has it if the query returns the variable, and every part of the query that sees the variable
    /// finds it bound: patterns, filters, `BIND`, `EXISTS`, options, and sub-selects that return it. Solutions of
    /// the right side of a `MINUS` have it if that side names the variable. `VALUES` and expressions that bind the
    /// variable to another term leave no solution. `docs/reference/sparql.md` has the details. Of values for one
    /// variable, the last counts.
    ///
    /// ```
    /// use fulgurite_rdf::oxrdf::{Literal, Variable};
    /// use fulgurite_rdf::sparql::{Query, QueryResults};
    /// use fulgurite_rdf::{Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::create(directory.path().join("quads.ful"), StoreOptions::new())?;
    /// let query = Query::parse("SELECT ?n ?next { BIND(?n + 1 AS ?next) }", None)?;
    /// let query = query.with_binding(Variable::new("n")?, Literal::from(1));
    /// let QueryResults::Solutions(mut solutions) = query.evaluate(&store.snapshot()?)? else { panic!("a SELECT") };
    /// let row = solutions.next().expect("one solution")?;
    /// assert_eq!(row.get("next"), Some(&Literal::from(2).into()));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_binding(mut self, variable: Variable, value: impl Into<Term>) -> Self {
        self.bindings.push((variable, value.into()));
        self
    }

    /// Sets the order in which triple patterns are joined. Default: [`JoinOrder::Counts`].
    #[must_use]
    pub fn with_join_order(mut self, order: JoinOrder) -> Self {
        self.join_order = order;
        self
    }

    /// Sets the handler that sends `SERVICE` clauses to other endpoints. Default: none; evaluating a `SERVICE` clause
    /// returns [`Error::ServiceUnsupported`].
    ///
    /// A clause is sent once to an endpoint, for all rows of its group. The timeout, memory limit and cancellation
    /// token of the [limits](Limits) also apply to the request.
    ///
    /// ```
    /// use fulgurite_rdf::sparesults::QueryResultsFormat;
    /// use fulgurite_rdf::sparql::{Query, QueryResults, ServiceError, ServiceHandler, ServiceRequest, ServiceResponse};
    /// use fulgurite_rdf::{Store, StoreOptions};
    /// use std::sync::Arc;
    ///
    /// struct Ages;
    ///
    /// impl ServiceHandler for Ages {
    ///     fn ask(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError> {
    ///         match request.endpoint() {
    ///             "http://ages.example/" => {
    ///                 Ok(ServiceResponse::new(QueryResultsFormat::Tsv, b"?who\t?age\n<http://a/ann>\t30\n".to_vec()))
    ///             }
    ///             _ => Err(ServiceError::new("it is not allowed; ask ages.example")),
    ///         }
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let store = Store::create(directory.path().join("quads.ful"), StoreOptions::new())?;
    /// let text = "SELECT ?age { SERVICE <http://ages.example/> { ?who <http://a/age> ?age } }";
    /// let query = Query::parse(text, None)?.with_service(Arc::new(Ages));
    /// let QueryResults::Solutions(mut solutions) = query.evaluate(&store.snapshot()?)? else { panic!("a SELECT") };
    /// assert!(solutions.next().is_some_and(|row| row.is_ok_and(|row| row.get("age").is_some())));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_service(mut self, handler: Arc<dyn ServiceHandler>) -> Self {
        self.service = service::Handler(Some(handler));
        self
    }

    /// The form of the query.
    pub fn form(&self) -> QueryForm {
        match &self.parsed {
            spargebra::Query::Select { .. } => QueryForm::Select,
            spargebra::Query::Ask { .. } => QueryForm::Ask,
            spargebra::Query::Construct { .. } => QueryForm::Construct,
            spargebra::Query::Describe { .. } => QueryForm::Describe,
        }
    }

    /// Evaluates the query over `quads`. Solutions and triples are evaluated lazily, when the caller asks for them. An
    /// `ASK` is evaluated before this returns.
    ///
    /// # Errors
    /// [`Error::TimedOut`], [`Error::Cancelled`], [`Error::LimitReached`], [`Error::MemoryUncounted`] according to the
    /// limits; [`Error::ServiceUnsupported`], [`Error::Service`]; [`Error::FunctionUnknown`]; [`Error::Internal`] for a
    /// bug in this crate; errors of reading the store. The iterators of solutions and triples return these errors too.
    pub fn evaluate<Q: Quads>(&self, quads: &Q) -> Result<QueryResults> {
        let depth = self.levels();
        if depth <= LEVELS_ON_CALLERS_STACK {
            self.evaluate_on_this_thread(quads)
        } else {
            self.evaluate_on_new_thread(quads, depth)
        }
    }

    /// Evaluates the query on ids, and returns its solutions as ids. An `ASK` has one solution without variables, or
    /// none. Returns `None` if the query cannot be evaluated on ids: then use [`Query::evaluate`].
    ///
    /// `docs/reference/sparql.md` describes the queries that can be. Solutions are evaluated lazily, when the caller
    /// reads them, on any thread.
    ///
    /// ```
    /// use fulgurite_rdf::sparql::{Query, SolutionValue, Update};
    /// use fulgurite_rdf::{Quads, Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let store = Store::create(directory.path().join("quads.ful"), StoreOptions::new())?;
    /// Update::parse("INSERT DATA { <http://a/ann> <http://a/knows> <http://a/bob> }", None)?.execute(&store)?;
    /// let snapshot = store.snapshot()?;
    /// let query = Query::parse("SELECT ?whom { ?who <http://a/knows> ?whom }", None)?;
    /// let mut solutions = query.evaluate_on_ids(&snapshot)?.expect("it is a join of patterns");
    /// let mut ids = Vec::new();
    /// while solutions.read(100, 10_000, |row| ids.extend(row.values().flatten()))? {}
    /// let [SolutionValue::Stored(bob)] = *ids else { panic!("one solution") };
    /// assert_eq!(snapshot.term(bob)?.to_string(), "<http://a/bob>");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Query::evaluate`]; reading solutions returns these errors too.
    pub fn evaluate_on_ids<Q: Quads>(&self, quads: &Q) -> Result<Option<IdSolutions>> {
        if self.levels() > LEVELS_ON_CALLERS_STACK {
            return Ok(None);
        }
        let watch = EvaluationMonitor::start(&self.limits);
        let evaluation = interrupt::without_panic("the planner", || self.operators(quads, &watch, false))?;
        Ok(evaluation.map(|evaluation| IdSolutions::new(Box::new(evaluation), &watch)))
    }

    /// The levels of operators within operators, such as groups in groups. Each takes about 6 kB of stack while the
    /// query is evaluated; the calling thread evaluates up to 60 levels.
    pub fn levels(&self) -> usize {
        let depth = shape::query_depth(&self.parsed);
        // Values of the caller are a level more, for each MINUS too.
        if self.bindings.is_empty() { depth } else { 2 * depth }
    }

    fn evaluate_on_this_thread<Q: Quads>(&self, quads: &Q) -> Result<QueryResults> {
        let watch = EvaluationMonitor::start(&self.limits);
        let on_ids = interrupt::without_panic("the planner", || self.operators(quads, &watch, false))?;
        if let Some(evaluation) = on_ids {
            return self.results_on_ids(evaluation, watch);
        }
        let Prepared { plan, dataset, functions } =
            interrupt::without_panic("the planner", || self.prepare(quads, &watch, plan::plan_query))?;
        let evaluator = functions.register(functions::evaluator(plan.calls_functions).clone());
        let evaluator = service::asking(evaluator, &self.service, plan.services);
        let results = interrupt::run(&watch, || {
            let mut prepared = self.bind(evaluator.prepare(&plan.query));
            // The dataset itself decides which graphs are meant.
            *prepared.dataset_mut() = QueryDatasetSpecification::new();
            prepared.execute(dataset)
        });
        let results =
            results.map_err(|stopped| stopped.into_failure(&watch))?.map_err(|error| failure(&watch, error))?;
        if let Some(failure) = watch.take_failure() {
            return Err(failure);
        }
        Ok(match results {
            spareval::QueryResults::Solutions(solutions) => QueryResults::Solutions(Solutions::here(solutions, watch)),
            spareval::QueryResults::Graph(triples) => QueryResults::Triples(Triples::here(triples, watch)),
            spareval::QueryResults::Boolean(answer) => QueryResults::Boolean(answer),
        })
    }

    /// The operators of the query. `None` if the library evaluates it.
    pub(super) fn operators<Q: Quads>(
        &self,
        quads: &Q,
        watch: &EvaluationMonitor,
        explains: bool,
    ) -> Result<Option<Evaluation<Q>>> {
        self.limits.check()?;
        let has_own_graphs = self.dataset.says_which() || self.parsed.dataset().is_some();
        if !self.may_use_ids || !self.bindings.is_empty() || has_own_graphs {
            return Ok(None);
        }
        let recognised = || {
            // In a union of graphs, a triple may be in several.
            if self.dataset.union_default_graph && watch.keep(quads.graph_names().next().transpose())?.is_some() {
                return Ok(None);
            }
            recognise(&Request { query: &self.parsed, quads, watch, order: self.join_order, explains })
        };
        recognised().map_err(|stopped: Stopped| stopped.into_failure(watch))
    }

    fn results_on_ids<Q: Quads>(
        &self,
        mut evaluation: Evaluation<Q>,
        watch: EvaluationMonitor,
    ) -> Result<QueryResults> {
        if self.form() == QueryForm::Select {
            return Ok(QueryResults::Solutions(Solutions::on_ids(Box::new(evaluation), watch)));
        }
        let (mut rows, mut values) = (0, Vec::new());
        let mut first = || evaluation.fill(&watch, &mut usize::MAX.clone(), 1, &mut rows, &mut values);
        let first: Result<JoinStep, Stopped> =
            watch.step().and_then(|()| interrupt::run(&watch, &mut first)).and_then(std::convert::identity);
        first.map_err(|stopped| stopped.into_failure(&watch))?;
        Ok(QueryResults::Boolean(rows > 0))
    }

    pub(super) fn bind<'q>(&self, mut prepared: PreparedQuery<'q>) -> PreparedQuery<'q> {
        for (variable, value) in self.bindings.iter().filter(|(variable, _)| bindings::returns(&self.parsed, variable))
        {
            prepared = prepared.substitute_variable(variable.clone(), value.clone());
        }
        prepared
    }

    /// The query as `planned`, and the dataset of its scope.
    pub(super) fn prepare<Q: Quads>(
        &self,
        quads: &Q,
        watch: &EvaluationMonitor,
        planned: impl FnOnce(&spargebra::Query, JoinOrder, &Terms<Q>, &Scope) -> Result<Plan, Stopped>,
    ) -> Result<Prepared<Q>> {
        self.limits.check()?;
        let with_bindings;
        let query = match &*self.bindings {
            [] => &self.parsed,
            bindings => {
                with_bindings = bindings::with_bindings(&self.parsed, bindings);
                &with_bindings
            }
        };
        let terms = Terms::new(quads.clone(), watch.clone());
        let prepare = || {
            let scope = Rc::new(self.dataset.scope(self.parsed.dataset(), &terms)?);
            let mut plan = planned(query, self.join_order, &terms, &scope)?;
            let terms = terms.clone().with_best(self.best(&plan, &terms)?);
            let (query, functions) = xpath::with_functions_of_query(plan.query);
            plan.query = query;
            Ok(Prepared { plan, dataset: EvaluationDataset::new(terms, scope), functions })
        };
        prepare().map_err(|stopped: Stopped| stopped.into_failure(watch))
    }

    /// The best rows of the result, if it is cut off. Where variables of the results have values already, rows may be
    /// left out after they are sorted.
    fn best<Q: Quads>(&self, plan: &Plan, terms: &Terms<Q>) -> Result<Option<Rc<Best>>, Stopped> {
        let Some(cut) = plan.cut.as_ref().filter(|_| self.bindings.is_empty()) else { return Ok(None) };
        let predicate = match &cut.predicate {
            Some(predicate) => terms.stored(&predicate.clone().into())?,
            None => None,
        };
        Ok(Some(Rc::new(Best::new(cut.rows, cut.is_descending, predicate))))
    }

    fn evaluate_on_new_thread<Q: Quads>(&self, quads: &Q, depth: usize) -> Result<QueryResults> {
        let (mut query, quads) = (self.clone(), quads.clone());
        let abandoned = CancellationToken::new();
        query.limits.abandoned = Some(abandoned.clone());
        let (header_sender, header) = sync_channel(1);
        let (solution_sender, solutions) = sync_channel(ROWS_BETWEEN_THREADS);
        let (triple_sender, triples) = sync_channel(ROWS_BETWEEN_THREADS);
        let evaluate = move || {
            // Sending fails when the caller has dropped the results: then nobody wants more.
            let send = |head| header_sender.send(head).map_err(drop);
            let _: Result<(), ()> = match query.evaluate_on_this_thread(&quads) {
                Err(error) => send(Head::Failed(error)),
                Ok(QueryResults::Boolean(answer)) => send(Head::Boolean(answer)),
                Ok(QueryResults::Solutions(rows)) => {
                    send(Head::Solutions(rows.variables().into())).and_then(|()| pass_on(rows, &solution_sender))
                }
                Ok(QueryResults::Triples(rows)) => send(Head::Triples).and_then(|()| pass_on(rows, &triple_sender)),
            };
        };
        let thread = thread::Builder::new()
            .name("sparql".to_owned())
            .stack_size(stack_bytes(depth))
            .spawn(evaluate)
            .map_err(|source| Error::Thread { source })?;
        let thread = OtherThread::new(thread, abandoned);
        match header.recv() {
            Ok(Head::Failed(error)) => Err(error),
            Ok(Head::Boolean(answer)) => Ok(QueryResults::Boolean(answer)),
            Ok(Head::Solutions(variables)) => {
                Ok(QueryResults::Solutions(Solutions::there(variables, solutions, thread)))
            }
            Ok(Head::Triples) => Ok(QueryResults::Triples(Triples::there(triples, thread))),
            Err(_) => Err(thread.failure()),
        }
    }
}

/// A stack that suits an algebra of so many levels.
pub(super) fn stack_bytes(depth: usize) -> usize {
    (depth + LEVELS_ON_CALLERS_STACK) * LEVEL_BYTES
}

/// A query that is ready to be evaluated.
pub(super) struct Prepared<Q> {
    pub(super) plan: Plan,
    pub(super) dataset: EvaluationDataset<Q>,
    /// What the plan calls.
    pub(super) functions: xpath::Functions,
}

/// What the thread of a deep query says before its rows.
enum Head {
    Failed(Error),
    Boolean(bool),
    Solutions(Arc<[Variable]>),
    Triples,
}

fn pass_on<T>(rows: impl Iterator<Item = Result<T>>, to: &SyncSender<Result<T>>) -> Result<(), ()> {
    for row in rows {
        to.send(row).map_err(drop)?;
    }
    Ok(())
}
