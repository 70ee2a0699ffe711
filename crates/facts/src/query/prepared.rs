//! Queries: compiled, run, and continued.

mod seen;
mod strata;

pub(crate) use strata::Stratum;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64;

use crate::angle::diagnostic::Diagnostic;
use crate::angle::parser::parse_query;
use crate::angle::source::{Source, Span};
use crate::angle::tree::DeriveWhen;
use crate::cancellation::{CancellationToken, Deadline};
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::query::checker::{check_derivation, check_query};
use crate::query::continuation::Continuation;
use crate::query::execution::{Bounds, DerivedFacts, Execution, Flow};
use crate::query::lowering::patterns::REPEATED_MAX;
use crate::query::lowering::{Derivations, Lowered, lower};
use crate::query::matcher::Expression;
use crate::query::plan::{Counts, NoOrder, Operation, PartialSlot, order};
use crate::query::prepared::seen::Seen;
use crate::query::prepared::strata::Strata;
use crate::query::reads::Reads;
use crate::query::steps::{LOOPS_MAX, depth_of};
use crate::query::typed::CheckedQuery;
use crate::schema::definition::Schema;
use crate::schema::evolution::Successors;
use crate::value::nat::nat_at;
use crate::value::types::Type;

/// Compiles queries over a schema, whose derivations it has checked.
#[derive(Debug)]
pub struct Compiler {
    schema: Arc<Schema>,
    derivations: Derivations,
    strata: Strata,
}

impl Compiler {
    /// Checks the derivations of a schema.
    ///
    /// # Errors
    ///
    /// The first derivation that is wrong, with its place; stored derivations that use themselves within `!`, `all` or
    /// the condition of `if`.
    pub fn new(schema: Arc<Schema>) -> Result<Compiler> {
        Compiler::checked(schema, &Deadline::default())?.with_order()
    }

    /// As [`Compiler::new`], for the schema of a database that there is: derivations that have no order are an error
    /// when they are derived.
    pub(crate) fn of_database(schema: Arc<Schema>) -> Result<Compiler> {
        Compiler::checked(schema, &Deadline::default())
    }

    fn with_order(self) -> Result<Compiler> {
        let stored: Vec<PredicateId> = self.stored_derivations().collect();
        self.strata(&stored)?;
        Ok(self)
    }

    /// Reads a schema, and checks its derivations, within the time of limits and until they are cancelled.
    ///
    /// # Errors
    ///
    /// As [`Schema::from_sources`] and [`Compiler::new`]; [`Error::QueryTime`] and [`Error::Cancelled`].
    pub fn from_sources_within(sources: &[Source], limits: &QueryLimits) -> Result<Compiler> {
        let deadline = limits.deadline();
        let schema = in_time(Schema::load(sources, &deadline), &deadline)?;
        Compiler::checked(Arc::new(schema), &deadline)?.with_order()
    }

    fn checked(schema: Arc<Schema>, deadline: &Deadline) -> Result<Compiler> {
        let mut derivations = HashMap::new();
        for predicate in schema.predicates() {
            if let Some(query) = in_time(check_derivation(&schema, predicate, deadline), deadline)? {
                derivations.insert(predicate.id, query);
            }
        }
        let strata = Strata::of(&schema, &derivations);
        Ok(Compiler { schema, derivations, strata })
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The predicates that are derived into the database, in the order of their ids.
    pub fn stored_derivations(&self) -> impl Iterator<Item = PredicateId> + '_ {
        let stored =
            |derivation: &crate::schema::definition::PredicateDerivation| derivation.when == DeriveWhen::Stored;
        let predicates = self.schema.predicates().iter();
        predicates
            .filter(move |predicate| predicate.derivation.as_ref().is_some_and(stored))
            .map(|predicate| predicate.id)
    }

    /// The order in which predicates, and what they use, are derived into a database.
    ///
    /// # Errors
    ///
    /// If one of them uses itself where it has to be complete.
    pub(crate) fn strata(&self, wanted: &[PredicateId]) -> Result<Vec<Stratum>> {
        Ok(self.strata.order(&self.schema, wanted)?)
    }

    /// The predicates that a stored one is derived from, also by way of others, without those that are derived from it
    /// too.
    pub(crate) fn inputs(&self, predicate: PredicateId) -> Vec<PredicateId> {
        self.strata.inputs(&self.schema, predicate)
    }

    /// Whether a successor answers for a predicate: see [`crate::schema::evolution`].
    ///
    /// # Errors
    ///
    /// If reading the counts fails.
    pub(crate) fn has_successor(&self, predicate: PredicateId, reads: &dyn Reads) -> Result<bool> {
        let counts = CountsOnce::new(reads);
        let successors = self.schema.successors(&|predicate| counts.of(predicate) > 0);
        counts.finish()?;
        Ok(successors.contains_key(&predicate))
    }

    /// Compiles a query for a database: its plan depends on how many facts predicates have.
    ///
    /// # Errors
    ///
    /// An error in the query, with its place; errors of reading the counts.
    pub fn query(&self, text: &str, reads: &dyn Reads) -> Result<Query> {
        self.query_within(text, reads, &QueryLimits::default())
    }

    /// As [`Compiler::query`], within the time of limits and until they are cancelled.
    ///
    /// # Errors
    ///
    /// As [`Compiler::query`]; [`Error::QueryTime`] and [`Error::Cancelled`].
    pub fn query_within(&self, text: &str, reads: &dyn Reads, limits: &QueryLimits) -> Result<Query> {
        self.query_until(text, reads, &limits.deadline())
    }

    /// As [`Compiler::query`], until a deadline.
    pub(crate) fn query_until(&self, text: &str, reads: &dyn Reads, deadline: &Deadline) -> Result<Query> {
        let source = Source::new("query", text)?;
        let tree = parse_query(&source)?;
        let checked = in_time(check_query(&self.schema, &source, &tree, deadline), deadline)?;
        let (ty, hash) = (checked.query.head.ty.clone(), xxh3_64(text.as_bytes()));
        self.plan(Unplanned { source: &source, checked: &checked, ty, hash }, reads, deadline)
    }

    /// Compiles the query that derives a stored predicate: its results are the keys and values of facts.
    ///
    /// # Errors
    ///
    /// If the predicate has no derivation, or reading the counts fails.
    pub fn derivation(&self, predicate: PredicateId, reads: &dyn Reads) -> Result<Query> {
        let definition = self.schema.predicate(predicate).ok_or(Error::NoPredicate(predicate))?;
        let (Some(derivation), Some(checked)) = (&definition.derivation, self.derivations.get(&predicate)) else {
            return Err(Error::NoDerivation { name: definition.full_name() });
        };
        let (ty, hash) = (definition.key.clone(), xxh3_64(definition.full_name().as_bytes()));
        self.plan(Unplanned { source: &derivation.source, checked, ty, hash }, reads, &Deadline::default())
    }

    fn plan(&self, query: Unplanned<'_>, reads: &dyn Reads, deadline: &Deadline) -> Result<Query> {
        let Unplanned { source, checked, ty, hash } = query;
        let stops = || deadline.is_reached();
        let planned = |lowered: &Lowered, count: &Counts<'_>| {
            in_time(operations_of(lowered, checked, source, count, &stops), deadline)
        };
        let counts = CountsOnce::new(reads);
        let count = |predicate: PredicateId| counts.of(predicate);
        let successors = self.schema.successors(&|predicate| count(predicate) > 0);
        let is_empty = |predicate| count(predicate) == 0;
        let lower_with = |repeated_max: usize| {
            lower(&self.schema, &self.derivations, source, checked, &successors, &is_empty, repeated_max)
        };
        let lowered = lower_with(REPEATED_MAX)?;
        if lowered.is_partial {
            // What is wrong in a query is wrong whatever facts there are. Derivations were checked by themselves.
            let whole = lower(&self.schema, &Derivations::new(), source, checked, &Successors::new(), &|_| false, 0)?;
            planned(&whole, &count)?;
        }
        let (lowered, operations) = match (planned(&lowered, &count), lowered.is_repeated) {
            // With patterns that are repeated, steps may be too many. Without them, the query is slower.
            (Err(_), true) if !stops() => {
                let plain = lower_with(0)?;
                let operations = planned(&plain, &count)?;
                (plain, operations)
            }
            (operations, _) => (lowered, operations?),
        };
        counts.finish()?;
        Ok(Query {
            operations,
            head: Expression::of(&lowered.head),
            value: lowered.value.as_ref().map(Expression::of),
            slots: lowered.slots,
            ty,
            hash,
            stored: self.strata.stored_of(&self.schema, checked),
            identity: OnceLock::new(),
        })
    }
}

/// A query that is checked, and not planned yet.
struct Unplanned<'q> {
    source: &'q Source,
    checked: &'q CheckedQuery,
    /// The type of its results.
    ty: Type,
    /// The hash of its text, or of the name of the predicate that it derives.
    hash: u64,
}

/// How many facts predicates have. Each count is read once, and the first failure is kept.
struct CountsOnce<'a> {
    reads: &'a dyn Reads,
    counts: RefCell<HashMap<PredicateId, u64>>,
    failure: RefCell<Option<Error>>,
}

impl<'a> CountsOnce<'a> {
    fn new(reads: &'a dyn Reads) -> CountsOnce<'a> {
        CountsOnce { reads, counts: RefCell::default(), failure: RefCell::default() }
    }

    /// The count of a predicate; 0 if reading it failed.
    fn of(&self, predicate: PredicateId) -> u64 {
        *self.counts.borrow_mut().entry(predicate).or_insert_with(|| match self.reads.count(predicate) {
            Ok(count) => count,
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                0
            }
        })
    }

    /// The first failure.
    fn finish(self) -> Result<()> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}

/// What work until a deadline returned. What ends early is not right, and the reason is the time.
fn in_time<T>(outcome: std::result::Result<T, Diagnostic>, deadline: &Deadline) -> Result<T> {
    match outcome {
        Err(_) if deadline.cancellation.is_cancelled() => Err(Error::Cancelled),
        Err(_) if deadline.is_late() => Err(Error::QueryTime),
        outcome => outcome.map_err(Error::from),
    }
}

/// What is called for each match: the head, the value and the sources.
pub(crate) type EachMatch<'e> = dyn FnMut(&[u8], &[u8], &[FactId]) -> Result<()> + 'e;

/// What the query of a stored derivation may keep. Nobody sets it: it bounds what a mistake in a schema can use.
const DERIVATION_MEMORY_BYTES_MAX: u64 = 6 << 30;
/// What a result needs in a list besides its bytes: its place, in a list that has grown to twice its length, and two
/// allocations.
const RESULT_BYTES: usize = 2 * size_of::<QueryResult>() + 32;
/// Ids of derived facts end here; those of stored facts do long before.
const DERIVED_ID_MAX: u64 = u64::MAX / 2;

/// Orders and compiles the steps of a query.
fn operations_of(
    lowered: &Lowered,
    checked: &CheckedQuery,
    source: &Source,
    counts: &Counts<'_>,
    stops: &dyn Fn() -> bool,
) -> std::result::Result<Vec<Operation>, Diagnostic> {
    let span = checked.query.head.span;
    // Before planning, whose time grows faster than the number of steps.
    check_depth(depth_of(&lowered.steps), source, span)?;
    let mut slots = Vec::new();
    lowered.head.slots(&mut slots);
    lowered.value.iter().for_each(|value| value.slots(&mut slots));
    let outside: HashSet<usize> = slots.into_iter().collect();
    let mut bound = HashSet::new();
    let (operations, _) = order(&lowered.steps, &mut bound, &outside, counts, stops)
        .map_err(|no_order| without_order(no_order, checked, source))?;
    let is_bound = |slot: usize| bound.contains(&slot);
    let is_ground =
        lowered.head.is_ground(&is_bound) && lowered.value.as_ref().is_none_or(|value| value.is_ground(&is_bound));
    if !is_ground {
        let hint = "the head of a query cannot have `_`, `..`, or variables without a value";
        return Err(source.error(span, "the query returns something that is not complete", hint));
    }
    check_depth(depth(&operations), source, span)?;
    Ok(operations)
}

/// The error of a query that has no order.
fn without_order(no_order: NoOrder, checked: &CheckedQuery, source: &Source) -> Diagnostic {
    let Some(PartialSlot { slot, span }) = no_order.partial else {
        let hint = "match every variable with something that has a value: a fact, an element, a literal";
        return source.error(checked.query.head.span, "a part of the query has no value to begin with", hint);
    };
    // The first slots are those of the query's own variables. Some have no name.
    let name = checked.variables.get(slot).map_or("", |(name, _)| name);
    let (message, hint) = match name {
        "" => ("a value is missing in some branches".to_owned(), "write the value in every branch".to_owned()),
        name => (
            format!("the variable {name} has no value in some branches"),
            format!("match {name} in every branch, or in a statement that needs nothing from the branches"),
        ),
    };
    source.error(span, message, hint)
}

fn check_depth(depth: usize, source: &Source, span: Span) -> std::result::Result<(), Diagnostic> {
    if depth > LOOPS_MAX {
        let message = format!("the query has more than {LOOPS_MAX} statements in each other");
        return Err(source.error(span, message, "store a part of it: a predicate with `stored` before its query"));
    }
    Ok(())
}

/// How many operations are in each other at most.
fn depth(operations: &[Operation]) -> usize {
    let of_one = |operation: &Operation| match operation {
        Operation::Or(branches) => 1 + branches.iter().map(|branch| depth(branch)).max().unwrap_or(0),
        Operation::If(parts) => 1 + (depth(&parts[0]) + depth(&parts[1])).max(depth(&parts[2])),
        Operation::First(inner)
        | Operation::Not(inner)
        | Operation::All { inner, .. }
        | Operation::Derive { inner, .. } => 1 + depth(inner),
        _ => 1,
    };
    operations.iter().map(of_one).sum()
}

/// A query that is compiled.
#[derive(Debug)]
pub struct Query {
    operations: Vec<Operation>,
    head: Expression,
    value: Option<Expression>,
    slots: usize,
    ty: Type,
    hash: u64,
    /// See [`Page::stored`].
    stored: Vec<PredicateId>,
    /// See [`Query::identity`].
    identity: OnceLock<u64>,
}

/// The limits of a run of a query. By default only memory is limited, to a gigabyte.
#[derive(Debug, Clone)]
pub struct QueryLimits {
    /// How many results a page has at most.
    pub results_max: Option<usize>,
    /// The size of a page's results in bytes. The page ends with the result that reaches it.
    pub bytes_max: Option<usize>,
    /// How long a call may take: to check a query and to find the results of a page.
    pub time_max: Option<Duration>,
    /// How many bytes derived facts, sets, values of variables and results may take. With a visitor: what it needs to
    /// return each result once, and what [`FoundResult::keep`] counts.
    pub memory_bytes_max: usize,
    /// Ends it from another thread.
    pub cancellation: CancellationToken,
}

impl QueryLimits {
    /// When a call that begins now has to end.
    pub(crate) fn deadline(&self) -> Deadline {
        let until = self.time_max.and_then(|time| Instant::now().checked_add(time));
        Deadline::new(until, self.cancellation.clone())
    }
}

impl Default for QueryLimits {
    fn default() -> QueryLimits {
        QueryLimits {
            results_max: None,
            bytes_max: None,
            time_max: None,
            memory_bytes_max: 1 << 30,
            cancellation: CancellationToken::new(),
        }
    }
}

/// Results of a query, up to a limit or to where a visitor ended the page.
#[derive(Debug)]
pub struct Page {
    /// Each result once on this page. Empty, if a visitor was called with them.
    pub results: Vec<QueryResult>,
    /// The type of results.
    pub ty: Type,
    /// The argument of [`Query::continue_from`] for the next page, which begins after the last result of this one, or
    /// with the result before which a visitor ended it. The next page can be empty. `None`: there are no more results.
    pub continuation: Option<Vec<u8>>,
    /// Whether the page ended because the time of its limits was up. A visitor that ends it says so itself.
    pub timed_out: bool,
    /// How many facts were searched for this page, by predicate.
    pub searched: Vec<(PredicateId, u64)>,
    /// The predicates that the query reads and that are derived into the database, those with `default` on request
    /// only, in the order of their ids.
    pub stored: Vec<PredicateId>,
    /// Facts that were derived for this page, which its results may refer to.
    pub derived: DerivedFacts,
}

/// A result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryResult {
    /// The fact, if the query is for facts.
    pub fact: Option<FactId>,
    /// The value of the head, encoded: of a query for facts, the id of the fact.
    pub bytes: Vec<u8>,
    /// The value of the fact that a query of [`Compiler::derivation`] derives. Empty for other queries.
    pub value: Vec<u8>,
}

/// A result at the time that the query finds it.
#[derive(Debug)]
pub struct FoundResult<'f> {
    /// The type of results.
    pub ty: &'f Type,
    /// The result, which no earlier one of the page is equal to.
    pub result: QueryResult,
    /// Facts that were derived so far, which the result may refer to.
    pub derived: &'f DerivedFacts,
    kept: &'f Cell<usize>,
}

impl FoundResult<'_> {
    /// Counts bytes that the visitor keeps until the page ends. They are a part of the memory that the limits allow.
    pub fn keep(&self, bytes: usize) {
        self.kept.set(self.kept.get().saturating_add(bytes));
    }
}

/// Whether a page continues after a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFlow {
    /// It gets more results.
    Continue,
    /// It ends after this result.
    EndAfter,
    /// It ends before this result, with which the next page begins. At the first result of a page, this would be for
    /// ever.
    EndBefore,
}

/// The function that receives each result of a page.
pub type EachResult<'e> = dyn FnMut(FoundResult<'_>) -> Result<PageFlow> + 'e;

impl Query {
    /// The type of results.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Runs the query.
    ///
    /// # Errors
    ///
    /// If reading fails, or a limit is reached where the query cannot be continued.
    pub fn run(&self, reads: &dyn Reads, limits: &QueryLimits) -> Result<Page> {
        collected(|each| self.run_each(reads, limits, each))
    }

    /// Runs the query, and calls `each` with one result after the other: it can end the page at any of them. The page
    /// that is returned is without its results.
    ///
    /// # Errors
    ///
    /// As [`Query::run`]; those of `each`.
    pub fn run_each(&self, reads: &dyn Reads, limits: &QueryLimits, each: &mut EachResult<'_>) -> Result<Page> {
        self.each_until(reads, limits, &limits.deadline(), None, each)
    }

    /// As [`Query::run_each`] or [`Query::continue_each`], until a deadline instead of the time of the limits.
    pub(crate) fn each_until(
        &self,
        reads: &dyn Reads,
        limits: &QueryLimits,
        deadline: &Deadline,
        continuation: Option<&[u8]>,
        each: &mut EachResult<'_>,
    ) -> Result<Page> {
        let from = self.position(reads, continuation)?;
        self.page(reads, limits, deadline, from, each)
    }

    /// The beginning of a page.
    fn position(&self, reads: &dyn Reads, continuation: Option<&[u8]>) -> Result<Continuation> {
        let next_id = reads.first_free_id()?;
        let Some(continuation) = continuation else {
            return Ok(Continuation { hash: 0, next_id, skip_first: false, positions: Vec::new() });
        };
        let continuation = Continuation::decode(continuation)?;
        if continuation.hash != self.identity() {
            return Err(Error::Continuation("it is of another query, or the database has grown much since"));
        }
        if continuation.next_id.get() > DERIVED_ID_MAX {
            return Err(Error::Continuation("it was changed"));
        }
        // Facts that were written since have the ids that derived ones had.
        Ok(Continuation { next_id: continuation.next_id.max(next_id), ..continuation })
    }

    /// Calls `each` with each match: the value of the head, the value of the fact that a derivation makes of it, and
    /// the facts that it was derived from, without those in negations and sets. A match can come several times.
    ///
    /// # Errors
    ///
    /// As [`Query::run`]; those of `each`.
    pub(crate) fn each_match(&self, reads: &dyn Reads, each: &mut EachMatch<'_>) -> Result<()> {
        let memory_bytes_max = usize::try_from(DERIVATION_MEMORY_BYTES_MAX).unwrap_or(usize::MAX);
        let bounds = Bounds { deadline: None, memory_bytes_max, cancellation: CancellationToken::new() };
        let mut execution = Execution::new(reads, self.slots, reads.first_free_id()?, bounds);
        execution.run(&self.operations, &mut |execution| {
            let key = execution.value(&self.head)?;
            let value = self.value.as_ref().map(|value| execution.value(value)).transpose()?.unwrap_or_default();
            each(&key, &value, &execution.sources)?;
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    /// A number for the query and its plan, which depends on the number of facts: positions are of a plan.
    fn identity(&self) -> u64 {
        *self.identity.get_or_init(|| {
            let plan = format!("{:?}", self.operations);
            self.hash ^ xxh3_64(plan.as_bytes()).rotate_left(1)
        })
    }

    /// Runs the query from where a page ended. A result can be on both pages if it matches in several ways.
    ///
    /// # Errors
    ///
    /// As [`Query::run`], and if the continuation is damaged or of another query.
    pub fn continue_from(&self, reads: &dyn Reads, limits: &QueryLimits, continuation: &[u8]) -> Result<Page> {
        collected(|each| self.continue_each(reads, limits, continuation, each))
    }

    /// As [`Query::run_each`], from where a page ended.
    ///
    /// # Errors
    ///
    /// As [`Query::continue_from`]; those of `each`.
    pub fn continue_each(
        &self,
        reads: &dyn Reads,
        limits: &QueryLimits,
        continuation: &[u8],
        each: &mut EachResult<'_>,
    ) -> Result<Page> {
        self.each_until(reads, limits, &limits.deadline(), Some(continuation), each)
    }

    /// Calls `each` with one result after the other, while the query runs.
    fn page(
        &self,
        reads: &dyn Reads,
        limits: &QueryLimits,
        deadline: &Deadline,
        from: Continuation,
        each: &mut EachResult<'_>,
    ) -> Result<Page> {
        let Deadline { until, cancellation, .. } = deadline.clone();
        let bounds = Bounds { deadline: until, memory_bytes_max: limits.memory_bytes_max, cancellation };
        let mut execution = Execution::new(reads, self.slots, from.next_id, bounds);
        execution.resume = from.positions;
        execution.skip_first = from.skip_first;
        let (mut seen, kept) = (Seen::default(), Cell::new(0));
        let mut bytes_of_results = 0;
        let mut ends_before = false;
        execution.run(&self.operations, &mut |execution| {
            if std::mem::take(&mut execution.skip_first) {
                execution.resume.clear();
                return Ok(Flow::Continue);
            }
            let bytes = execution.value(&self.head)?;
            let value = self.value.as_ref().map(|value| execution.value(value)).transpose()?.unwrap_or_default();
            if seen.contains(&bytes) {
                return Ok(Flow::Continue);
            }
            bytes_of_results += bytes.len() + value.len();
            execution.bytes_of_results = seen.bytes_with(&bytes).saturating_add(kept.get());
            execution.check_memory(bytes.len() + value.len())?;
            seen.insert(&bytes);
            let fact = match self.ty {
                Type::Predicate(_) => FactId::new(nat_at(&bytes, 0)?.0),
                _ => None,
            };
            let result = QueryResult { fact, bytes, value };
            let flow = each(FoundResult { ty: &self.ty, result, derived: &execution.derived, kept: &kept })?;
            execution.bytes_of_results = seen.bytes().saturating_add(kept.get());
            ends_before = flow == PageFlow::EndBefore;
            let full = limits.results_max.is_some_and(|max| seen.len() >= max)
                || limits.bytes_max.is_some_and(|max| bytes_of_results >= max);
            execution.ends_page = full || flow != PageFlow::Continue;
            Ok(if execution.ends_page { Flow::Break } else { Flow::Continue })
        })?;
        let continuation = execution.ends_page.then(|| {
            let positions = std::mem::take(&mut execution.noted);
            // A page that has not come to the first match yet leaves it to the next one to skip.
            let skip_first = execution.skip_first || !(execution.timed_out || ends_before);
            Continuation { hash: self.identity(), next_id: execution.next_id, skip_first, positions }.encode()
        });
        let mut searched: Vec<_> = execution.searched.into_iter().collect();
        searched.sort_unstable();
        Ok(Page {
            results: Vec::new(),
            ty: self.ty.clone(),
            continuation,
            timed_out: execution.timed_out,
            searched,
            stored: self.stored.clone(),
            derived: execution.derived,
        })
    }
}

/// Runs what calls a visitor with each result, and returns the page with its results.
pub(crate) fn collected(run: impl FnOnce(&mut EachResult<'_>) -> Result<Page>) -> Result<Page> {
    let mut results = Vec::new();
    let page = run(&mut |found| {
        found.keep(RESULT_BYTES + found.result.bytes.capacity() + found.result.value.capacity());
        results.push(found.result);
        Ok(PageFlow::Continue)
    })?;
    Ok(Page { results, ..page })
}
