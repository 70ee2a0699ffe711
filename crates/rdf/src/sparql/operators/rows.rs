//! [`Evaluation`]: a query on ids, and [`TermRows`], its rows as terms.
//!
//! Terms of rows are read in groups that grow from one row, so that a caller that stops early reads little. A group has
//! few bytes, so that a limit of memory bounds single rows and not groups.

use std::collections::VecDeque;
use std::sync::Arc;

use oxrdf::{Term, TermRef, Variable};
use sparesults::QuerySolution;

use super::context::{Context, Kept};
use super::row_table::RowTable;
use super::tree::operator::{Operator, node};
use crate::error::{Error, Result};
use crate::meter;
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;
use crate::sparql::evaluation::heap::HeapBytes;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::{Quads, TermId};

/// Rows whose terms are read together, at most.
const ROWS_MAX: usize = 256;

/// As [`ROWS_MAX`], of an evaluation whose memory is limited: terms are read before their bytes are known.
const ROWS_MAX_OF_LIMITED: usize = 8;

/// A group ends with the row whose terms reach this many bytes.
const BYTES_MAX: usize = 64 << 10;

/// A query on ids, as far as it has come.
pub(crate) struct Evaluation<Q> {
    pub(super) quads: Q,
    pub(super) root: Box<dyn Operator>,
    pub(super) kept: Kept,
    /// The row that the operators share.
    pub(super) row: Vec<Value>,
    pub(super) output: Output,
    pub(super) variables: Arc<[Variable]>,
    /// The rows that a `LIMIT` leaves.
    pub(super) rows_left: Option<usize>,
    /// The rows that were returned.
    pub(super) rows: u64,
    /// Of an explanation: what is above the operators, the innermost first.
    pub(super) names_above: Vec<String>,
}

/// From the rows of the operators to those of the result.
pub(super) struct Output {
    /// The places of the variables of the result; `None`: no row binds the variable.
    columns: Vec<Option<usize>>,
    /// The row of the result that was made last.
    row: Vec<Value>,
    repeats: Repeats,
    rows_to_skip: usize,
    /// The rows without those that are dropped because they are repeated.
    rows: u64,
}

impl Output {
    pub(super) fn new(columns: Vec<Option<usize>>, repeats: Repeats, rows_to_skip: usize) -> Self {
        Self { row: Vec::with_capacity(columns.len()), columns, repeats, rows_to_skip, rows: 0 }
    }

    /// Makes a row of the result. Returns false if it is not one of them.
    fn take(&mut self, row: &[Value], context: &Context<'_>) -> Result<bool, Stopped> {
        self.row.clear();
        self.row.extend(self.columns.iter().map(|place| place.map_or(Value::UNBOUND, |place| row[place])));
        let is_new = match &mut self.repeats {
            Repeats::Kept => true,
            Repeats::Distinct(known) => {
                known.insert(&self.row).ok_or_else(|| context.watch().fail_full("distinct rows"))?.1
            }
            Repeats::Reduced(last) => {
                let is_new = last.as_ref().is_none_or(|last| *last != self.row);
                if is_new {
                    *last = Some(self.row.clone());
                }
                is_new
            }
        };
        if !is_new {
            return Ok(false);
        }
        self.rows += 1;
        if self.rows_to_skip > 0 {
            self.rows_to_skip -= 1;
            return Ok(false);
        }
        Ok(true)
    }
}

/// What becomes of repeated rows.
pub(super) enum Repeats {
    Kept,
    /// They are dropped.
    Distinct(RowTable),
    /// They are dropped if they follow each other: the last row.
    Reduced(Option<Vec<Value>>),
}

/// Where rows of ids come from.
pub(crate) trait RowSource: Send {
    /// Appends the values of the next rows to `values`, at most `rows_max`, and adds their number to `rows`. Looks at
    /// about `keys_left` keys of indexes and rows, and subtracts them. [`JoinStep::Row`]: there may be more rows.
    ///
    /// # Errors
    /// The watch has the failure. `values` has the rows before it.
    fn fill(
        &mut self,
        watch: &EvaluationMonitor,
        keys_left: &mut usize,
        rows_max: usize,
        rows: &mut usize,
        values: &mut Vec<Value>,
    ) -> Result<JoinStep, Stopped>;

    /// The variables of the rows.
    fn variables(&self) -> &Arc<[Variable]>;

    /// Terms that were computed.
    fn kept(&self) -> &Kept;

    /// As [`Quads::terms`].
    fn read_terms(&self, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()>;
}

impl<Q: Quads> Evaluation<Q> {
    /// The operators as a tree, with the rows that they have made.
    pub(crate) fn plan(&self) -> PlanNode {
        self.names_above.iter().fold(self.root.plan(), |inner, name| {
            let rows = match name.as_str() {
                "Distinct" | "Reduced" => self.output.rows,
                name if name.starts_with("Slice") => self.rows,
                _ => inner.rows.unwrap_or_default(),
            };
            node(name, rows, vec![inner])
        })
    }
}

impl<Q: Quads> RowSource for Evaluation<Q> {
    fn fill(
        &mut self,
        watch: &EvaluationMonitor,
        keys_left: &mut usize,
        rows_max: usize,
        rows: &mut usize,
        values: &mut Vec<Value>,
    ) -> Result<JoinStep, Stopped> {
        let mut left = rows_max;
        let mut context = Context::new(watch, &self.quads, &self.kept, *keys_left);
        let step = loop {
            if self.rows_left == Some(0) {
                break Ok(JoinStep::End);
            }
            if left == 0 {
                break Ok(JoinStep::Row);
            }
            match self.root.advance(&mut self.row, &mut context) {
                Ok(JoinStep::Row) => {}
                step => break step,
            }
            match self.output.take(&self.row, &context) {
                Ok(true) => {}
                Ok(false) if context.is_spent() => break Ok(JoinStep::Paused),
                Ok(false) => continue,
                Err(stopped) => break Err(stopped),
            }
            values.extend_from_slice(&self.output.row);
            (*rows, left, self.rows) = (*rows + 1, left - 1, self.rows + 1);
            self.rows_left = self.rows_left.map(|rows| rows - 1);
        };
        *keys_left = context.keys_left;
        step
    }

    fn variables(&self) -> &Arc<[Variable]> {
        &self.variables
    }

    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn read_terms(&self, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
        self.quads.terms(ids, each)
    }
}

/// The rows of an evaluation as terms. The first error ends them.
pub(crate) struct TermRows {
    /// `None` after the end: an evaluation keeps a snapshot.
    source: Option<Box<dyn RowSource>>,
    variables: Arc<[Variable]>,
    watch: EvaluationMonitor,
    /// Rows whose terms were read.
    ready: VecDeque<QuerySolution>,
    waiting: Waiting,
    /// Rows that are read together next.
    rows_wanted: usize,
    returned: u64,
    end: End,
}

/// Rows of ids whose terms are read after those of the rows that are ready.
#[derive(Default)]
struct Waiting {
    values: Vec<Value>,
    rows: usize,
    /// The first rows, whose terms were read.
    taken: usize,
}

impl Waiting {
    /// The number of rows whose terms were not read.
    fn left(&self) -> usize {
        self.rows - self.taken
    }

    fn clear(&mut self) {
        self.values.clear();
        (self.rows, self.taken) = (0, 0);
    }
}

/// What follows the rows that are ready and those that wait.
enum End {
    /// More rows may follow.
    Open,
    /// This error.
    Failed(Error),
    /// Nothing.
    Reached,
}

impl TermRows {
    pub(crate) fn new(source: Box<dyn RowSource>, watch: EvaluationMonitor) -> Self {
        Self {
            variables: Arc::clone(source.variables()),
            source: Some(source),
            watch,
            ready: VecDeque::new(),
            waiting: Waiting::default(),
            rows_wanted: 1,
            returned: 0,
            end: End::Open,
        }
    }

    pub(crate) fn variables(&self) -> &Arc<[Variable]> {
        &self.variables
    }

    /// Quads read so far; `None` after the end.
    pub(crate) fn quads_read(&self) -> Option<u64> {
        let has_ended = matches!(self.end, End::Reached) && self.ready.is_empty() && self.waiting.left() == 0;
        (!has_ended).then(|| self.watch.quads_read())
    }

    /// Makes rows ready, or reaches the end.
    fn fill(&mut self) {
        if self.waiting.left() == 0 {
            self.find();
        }
        if self.waiting.left() > 0 {
            self.read();
        }
        if self.waiting.left() == 0 && !matches!(self.end, End::Open) {
            self.source = None;
        }
    }

    /// Finds the next rows of ids.
    fn find(&mut self) {
        let Self { source: Some(source), watch, waiting, rows_wanted, end, .. } = self else { return };
        waiting.clear();
        let Waiting { values, rows, .. } = waiting;
        let step = watch
            .step()
            .and_then(|()| {
                interrupt::run(watch, || source.fill(watch, &mut usize::MAX.clone(), *rows_wanted, rows, values))
            })
            .and_then(std::convert::identity);
        match step {
            Ok(JoinStep::End) => *end = End::Reached,
            Ok(JoinStep::Row | JoinStep::Paused) => {}
            Err(stopped) => *end = End::Failed(stopped.into_failure(watch)),
        }
    }

    /// Reads terms of the rows that wait.
    fn read(&mut self) {
        let Self { source: Some(source), watch, ready, waiting, rows_wanted, end, .. } = self else { return };
        let rows_max = if watch.memory().is_limited() { ROWS_MAX_OF_LIMITED } else { ROWS_MAX };
        let rows_max = rows_max.min(*rows_wanted);
        let outcome = interrupt::run(watch, || read(&**source, watch, rows_max, waiting, ready));
        match outcome.and_then(std::convert::identity) {
            Ok((rows, bytes)) if bytes >= BYTES_MAX => *rows_wanted = rows,
            Ok((_, bytes)) if bytes < BYTES_MAX / 2 => *rows_wanted = (2 * *rows_wanted).min(ROWS_MAX),
            Ok(_) => {}
            Err(stopped) => {
                waiting.clear();
                // The first error is returned.
                if !matches!(end, End::Failed(_)) {
                    *end = End::Failed(stopped.into_failure(watch));
                }
            }
        }
    }

    fn fail(&mut self, stopped: Stopped) -> Error {
        self.ready.clear();
        self.waiting.clear();
        self.source = None;
        match std::mem::replace(&mut self.end, End::Reached) {
            // It was first.
            End::Failed(error) => error,
            End::Open | End::Reached => stopped.into_failure(&self.watch),
        }
    }
}

impl Iterator for TermRows {
    type Item = Result<QuerySolution>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                self.watch.memory().hand_out(&row);
                self.returned += 1;
                // After a failure, the rows before it are still returned.
                let step = if matches!(self.end, End::Failed(_)) { Ok(()) } else { self.watch.step() };
                let step = step.and_then(|()| self.watch.check_rows(self.returned));
                return Some(match step {
                    Ok(()) => Ok(row),
                    Err(stopped) => Err(self.fail(stopped)),
                });
            }
            if self.waiting.left() == 0 {
                match std::mem::replace(&mut self.end, End::Reached) {
                    End::Reached => return None,
                    End::Failed(error) => return Some(Err(error)),
                    End::Open => self.end = End::Open,
                }
            }
            self.fill();
        }
    }
}

/// Makes the next rows ready: one, and others while there are at most `rows_max` and their terms have fewer than
/// [`BYTES_MAX`] bytes. Returns their number and their bytes.
fn read(
    source: &dyn RowSource,
    watch: &EvaluationMonitor,
    rows_max: usize,
    waiting: &mut Waiting,
    ready: &mut VecDeque<QuerySolution>,
) -> Result<(usize, usize), Stopped> {
    let (width, rows) = (source.variables().len(), rows_max.min(waiting.left()));
    let values = &waiting.values[waiting.taken * width..][..rows * width];
    let stored = |row: &[Value]| row.iter().filter(|value| value.id().is_some()).count();
    let (terms, bytes) = terms_of(source, watch, values, stored(&values[..width]))?;
    let (mut terms, mut made, mut computed_bytes) = (terms.into_iter(), 0, 0);
    while made < rows && computed_bytes < BYTES_MAX {
        let row = &values[made * width..][..width];
        if terms.len() < stored(row) {
            break;
        }
        let row = row.iter().map(|value| match value.term() {
            None => None,
            Some(EvaluationTerm::Computed(place)) => {
                let term = source.kept().computed(place);
                computed_bytes += term.heap_bytes();
                Some(term)
            }
            Some(_) => terms.next(),
        });
        let row: Vec<Option<Term>> = row.collect();
        ready.push_back(QuerySolution::from((Arc::clone(source.variables()), row)));
        made += 1;
    }
    waiting.taken += made;
    Ok((made, bytes + computed_bytes))
}

/// The terms of the ids among values, in their order: `count_min`, and others while they have fewer than [`BYTES_MAX`]
/// bytes. Returns them and their bytes.
fn terms_of(
    source: &dyn RowSource,
    watch: &EvaluationMonitor,
    values: &[Value],
    count_min: usize,
) -> Result<(Vec<Term>, usize), Stopped> {
    let ids: Vec<TermId> = values.iter().filter_map(|value| value.id()).collect();
    let mut terms: Vec<Term> = Vec::with_capacity(ids.len());
    let mut bytes = 0;
    if !ids.is_empty() {
        let outcome = meter::uncounted(|| {
            source.read_terms(&ids, &mut |term| {
                if bytes < BYTES_MAX || terms.len() < count_min {
                    let term = term.into_owned();
                    bytes += term.heap_bytes();
                    terms.push(term);
                }
            })
        });
        meter::count(bytes as i64);
        watch.keep(outcome)?;
    }
    // After a failure, the rows before it are still returned.
    if !watch.has_failed() {
        watch.step()?;
    }
    Ok((terms, bytes))
}
