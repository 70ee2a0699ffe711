//! A plan at work: nested loops over facts, which can stop at any match and go on from there later.
//!
//! Every loop that a page may stop in has a [`Position`]. When a page is full, the loops note their positions on the
//! way out, innermost first; to go on, they are entered again at these positions, outermost first.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Instant;

use crate::cancellation::CancellationToken;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::query::matcher::{Expression, Matcher};
use crate::query::plan::Operation;
use crate::query::reads::Reads;
use crate::value::bytes::{Cursor, put_elements};
use crate::value::nat::{nat_at, put_nat};
use crate::value::types::Type;
use crate::value::values::StoredFact;

/// Where a loop is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// At a fact.
    Fact(FactId),
    /// At an element, or a branch.
    Index(u64),
}

/// Whether matching goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next match.
    Continue,
    /// Not: the caller has what it needs.
    Break,
}

/// The facts that a query derived and the database does not have.
#[derive(Debug, Default)]
pub struct DerivedFacts {
    by_id: HashMap<FactId, StoredFact>,
    by_key: HashMap<(PredicateId, Vec<u8>), FactId>,
    bytes: usize,
}

impl DerivedFacts {
    /// A fact by its id.
    pub fn get(&self, id: FactId) -> Option<&StoredFact> {
        self.by_id.get(&id)
    }
}

/// Bounds of one run.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// When it has to end.
    pub deadline: Option<Instant>,
    /// How many bytes of derived facts, sets, values and results it may keep.
    pub memory_bytes_max: usize,
    /// Ends it from another thread.
    pub cancellation: CancellationToken,
}

/// What is called for each match. It may end the page.
pub type Emit<'e> = dyn FnMut(&mut Execution<'_>) -> Result<Flow> + 'e;

/// A run of a plan.
pub struct Execution<'a> {
    /// The database.
    pub reads: &'a dyn Reads,
    /// The values of slots.
    pub slots: Vec<Vec<u8>>,
    /// What was derived.
    pub derived: DerivedFacts,
    /// The id of the next derived fact.
    pub next_id: FactId,
    /// The positions to go on from, innermost first.
    pub resume: Vec<Position>,
    /// Whether the first match was returned before.
    pub skip_first: bool,
    /// The positions that were noted, innermost first.
    pub noted: Vec<Position>,
    /// Whether a page ends, so that loops note their positions.
    pub ends_page: bool,
    /// Whether time was up.
    pub timed_out: bool,
    /// How many facts were searched, by predicate.
    pub searched: HashMap<PredicateId, u64>,
    /// What the results of the page take. The execution knows nothing else about them.
    pub bytes_of_results: usize,
    /// The facts that the loops are at: what a match was derived from. Not those within negations and sets.
    pub sources: Vec<FactId>,
    bounds: Bounds,
    /// How many operations that cannot be interrupted are in progress.
    atomic: usize,
    /// Since the last look at the clock.
    ticks: usize,
    time_is_up: bool,
    buffers: Vec<Vec<u8>>,
    /// What slots take, as of the last value of [`LARGE_BYTES`].
    bytes_in_slots: usize,
    /// What the values take that loops go through.
    bytes_in_loops: usize,
}

/// How many facts and elements are searched between looks at the clock and the cancellation.
const TICKS_PER_CLOCK: usize = 128;
/// So many bytes that are copied count as one more fact.
const BYTES_PER_TICK: usize = 16 << 10;
/// Values from this size on are counted where they are kept. Smaller ones take less than the plan does.
const LARGE_BYTES: usize = 4 << 10;

/// Positions of `if`: in the condition, which has not held; in the first branch, or after it; in the second branch.
const IF_CONDITION: u64 = 0;
const IF_HELD: u64 = 1;
const IF_OTHERWISE: u64 = 2;

impl<'a> Execution<'a> {
    /// A run from the beginning.
    pub fn new(reads: &'a dyn Reads, slots: usize, next_id: FactId, bounds: Bounds) -> Execution<'a> {
        Execution {
            reads,
            slots: vec![Vec::new(); slots],
            derived: DerivedFacts::default(),
            next_id,
            resume: Vec::new(),
            skip_first: false,
            noted: Vec::new(),
            ends_page: false,
            timed_out: false,
            searched: HashMap::new(),
            bytes_of_results: 0,
            sources: Vec::new(),
            bounds,
            atomic: 0,
            ticks: 0,
            time_is_up: false,
            buffers: Vec::new(),
            bytes_in_slots: 0,
            bytes_in_loops: 0,
        }
    }

    /// Does operations, and calls `emit` for each way in which all of them match.
    ///
    /// # Errors
    ///
    /// If reading fails, the database has bytes that are no values, or a bound is reached.
    pub fn run(&mut self, operations: &[Operation], emit: &mut Emit<'_>) -> Result<Flow> {
        let Some((operation, rest)) = operations.split_first() else { return emit(self) };
        match operation {
            Operation::Seek { predicate, prefix, id, key, value } => {
                self.seek(*predicate, prefix, [id, key], value.as_ref(), rest, emit)
            }
            Operation::Elements { of, ty, item } => self.elements(of, ty, item, rest, emit),
            Operation::Or(branches) => {
                let from = self.resume_index();
                for (index, branch) in branches.iter().enumerate() {
                    let index = index as u64;
                    if index < from {
                        continue;
                    }
                    if self.tick()? {
                        return Ok(self.time_out(Position::Index(index)));
                    }
                    if self.run(branch, &mut |execution| execution.run(rest, emit))? == Flow::Break {
                        return Ok(self.leave(Position::Index(index)));
                    }
                    self.resume.clear();
                }
                Ok(Flow::Continue)
            }
            Operation::If(parts) => self.if_then_else(parts, rest, emit),
            Operation::First(inner) => {
                let mut flow = Flow::Continue;
                let ended = self.run(inner, &mut |execution| {
                    flow = execution.run(rest, emit)?;
                    Ok(Flow::Break)
                })?;
                // Time may be up before the first match.
                Ok(if self.ends_page { ended } else { flow })
            }
            Operation::Derive { predicate, inner, key, value, id } => self.run(inner, &mut |execution| {
                let (key, value) = (execution.value(key)?, execution.value(value)?);
                let fact = execution.derive(*predicate, key, value)?;
                let mut bytes = Vec::new();
                put_nat(&mut bytes, fact.get());
                if !execution.matches(id, &bytes)? {
                    return Ok(Flow::Continue);
                }
                execution.run(rest, emit)
            }),
            single => self.once(single, rest, emit),
        }
    }

    /// An operation that matches once or not at all, and those after it.
    fn once(&mut self, single: &Operation, rest: &[Operation], emit: &mut Emit<'_>) -> Result<Flow> {
        let depth = self.sources.len();
        let flow = if self.single(single)? { self.run(rest, emit)? } else { Flow::Continue };
        self.sources.truncate(depth);
        Ok(flow)
    }

    /// Whether such an operation matches.
    fn single(&mut self, operation: &Operation) -> Result<bool> {
        match operation {
            Operation::Match(expression, matcher) => {
                self.tick()?;
                let bytes = self.value(expression)?;
                let matches = self.matches(matcher, &bytes);
                self.give_back(bytes);
                matches
            }
            Operation::ByKey { predicate, key, id, value } => {
                self.count(*predicate)?;
                let key = self.value(key)?;
                let found = match self.reads.id_by_key(*predicate, &key)? {
                    Some(found) => Some(found),
                    None => self.derived.by_key.get(&(*predicate, key.clone())).copied(),
                };
                self.give_back(key);
                let Some(found) = found else { return Ok(false) };
                self.sources.push(found);
                Ok(self.matches_id(id, found)? && self.matches_value(value.as_ref(), found)?)
            }
            Operation::ById { predicate, id, key, value } => self.by_id(*predicate, id, key, value.as_ref()),
            Operation::Primitive { primitive, arguments, types, result } => {
                self.tick()?;
                // Results are about as long as arguments. Nested ones could grow without a bound.
                let length: usize = arguments.iter().map(|argument| argument.length(&self.slots)).sum();
                self.check_memory(2 * length)?;
                let arguments: Vec<Vec<u8>> =
                    arguments.iter().map(|argument| self.value(argument)).collect::<Result<_>>()?;
                let mut bytes = Vec::new();
                if !primitive.evaluate(types, &arguments, &mut bytes)? {
                    return Ok(false);
                }
                self.check_memory(length + bytes.len())?;
                arguments.into_iter().for_each(|argument| self.give_back(argument));
                self.matches(result, &bytes)
            }
            Operation::Not(inner) => {
                let mut found = false;
                self.atomically(inner, &mut |_| {
                    found = true;
                    Ok(Flow::Break)
                })?;
                Ok(!found)
            }
            Operation::All { inner, item, slot } => {
                let (mut elements, mut bytes) = (HashSet::new(), 0);
                self.atomically(inner, &mut |execution| {
                    let element = execution.value(item)?;
                    bytes += 2 * element.len() + BYTES_PER_ELEMENT;
                    execution.check_memory(bytes)?;
                    elements.insert(element);
                    Ok(Flow::Continue)
                })?;
                let mut elements: Vec<Vec<u8>> = elements.into_iter().collect();
                elements.sort_unstable();
                let mut set = Vec::new();
                put_elements(&mut set, elements.len(), elements.iter().map(Vec::as_slice));
                drop(elements);
                let length = set.len();
                self.slots[*slot] = set;
                self.account_for(length)?;
                Ok(true)
            }
            _ => unreachable!("the other operations are loops"),
        }
    }

    /// The fact with an id, if it is of the predicate and matches.
    fn by_id(
        &mut self,
        predicate: PredicateId,
        id: &Expression,
        key: &Matcher,
        value: Option<&Matcher>,
    ) -> Result<bool> {
        self.count(predicate)?;
        let bytes = self.value(id)?;
        let Some(fact) = FactId::new(nat_at(&bytes, 0)?.0) else { return Ok(false) };
        self.sources.push(fact);
        let slots = &mut self.slots;
        let mut matches = |(other, of_key, of_value): &StoredFact| -> Result<(bool, usize)> {
            let matches = *other == predicate
                && key.matches(&mut Cursor::new(of_key), slots)?
                && match value {
                    Some(value) => value.matches(&mut Cursor::new(of_value), slots)?,
                    None => true,
                };
            Ok((matches, of_key.len().max(of_value.len())))
        };
        let (matches, length) = match self.derived.get(fact) {
            Some(found) => matches(found)?,
            None => match self.reads.fact_by_id(fact)? {
                Some(found) => matches(&found)?,
                None => (false, 0),
            },
        };
        self.account_for(length)?;
        Ok(matches)
    }

    /// Each element of an array or a set.
    fn elements(
        &mut self,
        of: &Expression,
        ty: &Type,
        item: &Matcher,
        rest: &[Operation],
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let bytes = self.value(of)?;
        self.bytes_in_loops += bytes.len();
        let mut cursor = Cursor::new(&bytes);
        let from = self.resume_index();
        let mut flow = Flow::Continue;
        let length = cursor.nat()?;
        // There is nothing to skip before an element without bytes, and any number can be before it.
        let first = if ty.is_without_bytes() { from } else { 0 };
        for index in first..length {
            let start = cursor.offset();
            cursor.skip(ty)?;
            if index < from {
                continue;
            }
            if self.tick()? {
                flow = self.time_out(Position::Index(index));
                break;
            }
            if self.matches(item, cursor.since(start))? && self.run(rest, emit)? == Flow::Break {
                flow = self.leave(Position::Index(index));
                break;
            }
            self.resume.clear();
        }
        self.bytes_in_loops -= bytes.len();
        Ok(flow)
    }

    /// All facts with a prefix.
    fn seek(
        &mut self,
        predicate: PredicateId,
        prefix: &Expression,
        [id, key]: [&Matcher; 2],
        value: Option<&Matcher>,
        rest: &[Operation],
        emit: &mut Emit<'_>,
    ) -> Result<Flow> {
        let prefix = self.value(prefix)?;
        self.bytes_in_loops += prefix.len();
        let from = match self.resume.pop() {
            Some(Position::Fact(from)) => Some(from),
            Some(Position::Index(_)) => return Err(Error::Continuation("it is of another query")),
            None => None,
        };
        let mut flow = Flow::Continue;
        let depth = self.sources.len();
        let reads = self.reads;
        let (mut searched, mut visited) = (0, false);
        let outcome = reads.seek(predicate, &prefix, from, &mut |fact, bytes| {
            visited = true;
            if self.tick()? {
                flow = self.time_out(Position::Fact(fact));
                return Ok(ControlFlow::Break(()));
            }
            let Some(bytes) = bytes else {
                self.resume.clear();
                return Ok(ControlFlow::Continue(()));
            };
            searched += 1;
            let matches = self.matches(key, bytes.get(prefix.len()..).unwrap_or_default())?
                && self.matches_id(id, fact)?
                && self.matches_value(value, fact)?;
            self.sources.push(fact);
            if matches && self.run(rest, emit)? == Flow::Break {
                flow = self.leave(Position::Fact(fact));
                return Ok(ControlFlow::Break(()));
            }
            self.sources.truncate(depth);
            self.resume.clear();
            Ok(ControlFlow::Continue(()))
        });
        *self.searched.entry(predicate).or_default() += searched;
        outcome.map_err(|error| match error {
            // Positions are from the client.
            Error::NoSuchFact { id } if from == Some(id) && !visited => {
                Error::Continuation("it has a fact that there is not: it was changed, or is of another database")
            }
            error => error,
        })?;
        // A loop that ends early may be one in `First`, after which others go on.
        self.sources.truncate(depth);
        self.bytes_in_loops -= prefix.len();
        self.give_back(prefix);
        Ok(flow)
    }

    /// The position of `if`: see [`IF_CONDITION`].
    fn if_then_else(&mut self, parts: &[Vec<Operation>; 3], rest: &[Operation], emit: &mut Emit<'_>) -> Result<Flow> {
        let [condition, then, otherwise] = parts;
        let from = self.resume_index();
        let mut held = from == IF_HELD;
        if from != IF_OTHERWISE {
            let flow = self.run(condition, &mut |execution| {
                held = true;
                execution.run(then, &mut |execution| execution.run(rest, emit))
            })?;
            if flow == Flow::Break {
                return Ok(self.leave(Position::Index(if held { IF_HELD } else { IF_CONDITION })));
            }
        }
        if held {
            return Ok(Flow::Continue);
        }
        match self.run(otherwise, &mut |execution| execution.run(rest, emit))? {
            Flow::Break => Ok(self.leave(Position::Index(IF_OTHERWISE))),
            Flow::Continue => Ok(Flow::Continue),
        }
    }

    /// Runs operations that a page does not end in.
    fn atomically(&mut self, operations: &[Operation], emit: &mut Emit<'_>) -> Result<()> {
        let (resume, skip_first) = (std::mem::take(&mut self.resume), std::mem::take(&mut self.skip_first));
        self.atomic += 1;
        let done = self.run(operations, emit);
        self.atomic -= 1;
        self.resume = resume;
        self.skip_first = skip_first;
        done.map(drop)
    }

    fn leave(&mut self, position: Position) -> Flow {
        if self.ends_page {
            self.noted.push(position);
        }
        Flow::Break
    }

    /// Ends the page because time is up.
    fn time_out(&mut self, position: Position) -> Flow {
        self.timed_out = true;
        self.ends_page = true;
        self.leave(position)
    }

    fn resume_index(&mut self) -> u64 {
        match self.resume.pop() {
            Some(Position::Index(index)) => index,
            // A fact here is of another query. The hash of the query is checked; so it cannot be.
            Some(Position::Fact(_)) | None => 0,
        }
    }

    /// The value of an expression.
    ///
    /// # Errors
    ///
    /// If it would take more memory than there may be.
    pub fn value(&mut self, expression: &Expression) -> Result<Vec<u8>> {
        let length = expression.length(&self.slots);
        if length >= LARGE_BYTES {
            self.check_memory(length)?;
            self.ticks = self.ticks.saturating_add(length / BYTES_PER_TICK);
        }
        let mut bytes = self.buffers.pop().unwrap_or_default();
        bytes.clear();
        expression.write(&self.slots, &mut bytes);
        Ok(bytes)
    }

    /// Keeps a buffer for later values, unless it is large.
    fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() < LARGE_BYTES {
            self.buffers.push(buffer);
        }
    }

    /// Matches a value, which gives values to slots.
    fn matches(&mut self, matcher: &Matcher, bytes: &[u8]) -> Result<bool> {
        let matches = matcher.matches(&mut Cursor::new(bytes), &mut self.slots)?;
        self.account_for(bytes.len())?;
        Ok(matches)
    }

    /// Counts what slots take, after a value of this length may have gone into some.
    fn account_for(&mut self, length: usize) -> Result<()> {
        if length < LARGE_BYTES {
            return Ok(());
        }
        self.bytes_in_slots = self.slots.iter().map(Vec::capacity).sum();
        self.check_memory(0)
    }

    fn matches_id(&mut self, matcher: &Matcher, id: FactId) -> Result<bool> {
        if matcher.is_rest() {
            return Ok(true);
        }
        let mut bytes = self.buffers.pop().unwrap_or_default();
        bytes.clear();
        put_nat(&mut bytes, id.get());
        let matches = self.matches(matcher, &bytes);
        self.give_back(bytes);
        matches
    }

    fn matches_value(&mut self, matcher: Option<&Matcher>, id: FactId) -> Result<bool> {
        let Some(matcher) = matcher else { return Ok(true) };
        if let Some((_, _, value)) = self.derived.by_id.get(&id) {
            let (length, mut cursor) = (value.len(), Cursor::new(value));
            let matches = matcher.matches(&mut cursor, &mut self.slots)?;
            self.account_for(length)?;
            return Ok(matches);
        }
        match self.reads.fact_by_id(id)? {
            Some((_, _, value)) => self.matches(matcher, &value),
            None => Ok(false),
        }
    }

    /// Counts a fact that is searched. `true`: the page has to end before it.
    fn count(&mut self, predicate: PredicateId) -> Result<bool> {
        *self.searched.entry(predicate).or_default() += 1;
        self.tick()
    }

    /// Looks at the clock from time to time. `true`: the page has to end.
    fn tick(&mut self) -> Result<bool> {
        // Loops on the way to where the last page ended do not end this one: each page has to get on.
        if !self.resume.is_empty() {
            return Ok(false);
        }
        self.ticks += 1;
        if self.ticks >= TICKS_PER_CLOCK {
            self.ticks = 0;
            if self.bounds.cancellation.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if self.bounds.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.time_is_up = true;
            }
        }
        // Sets and negations cannot be continued later.
        if self.time_is_up && self.atomic > 0 { Err(Error::QueryTime) } else { Ok(self.time_is_up) }
    }

    /// Whether there may be so many bytes more.
    pub fn check_memory(&self, bytes: usize) -> Result<()> {
        let kept = self.derived.bytes + self.bytes_in_slots + self.bytes_in_loops;
        let kept = kept.saturating_add(self.bytes_of_results);
        let limit_bytes = self.bounds.memory_bytes_max;
        if kept.saturating_add(bytes) > limit_bytes { Err(Error::QueryMemory { limit_bytes }) } else { Ok(()) }
    }

    /// The id of a fact that is derived: of the database, if it has the fact, or a new one.
    fn derive(&mut self, predicate: PredicateId, key: Vec<u8>, value: Vec<u8>) -> Result<FactId> {
        if let Some(id) = self.derived.by_key.get(&(predicate, key.clone())) {
            return Ok(*id);
        }
        if let Some(id) = self.reads.id_by_key(predicate, &key)? {
            return Ok(id);
        }
        let id = self.next_id;
        self.derived.bytes += 2 * key.len() + value.len() + BYTES_PER_DERIVED_FACT;
        self.check_memory(0)?;
        self.next_id = id.plus(1);
        self.derived.by_key.insert((predicate, key.clone()), id);
        self.derived.by_id.insert(id, (predicate, key, value));
        Ok(id)
    }
}

/// What a derived fact takes besides its bytes: an entry in both maps, which are copied when they grow, and its
/// allocations.
const BYTES_PER_DERIVED_FACT: usize = 400;
/// What an element of a set takes besides its bytes, before and after it is sorted.
const BYTES_PER_ELEMENT: usize = 128;
