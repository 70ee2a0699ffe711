//! [`Evaluation`]: a query on ids, and [`TermRows`], its rows as terms.
//!
//! Terms of rows are read in groups that grow from one row, so that a caller that stops early reads little.

use std::collections::VecDeque;
use std::sync::Arc;

use oxrdf::{Term, TermRef, Variable};
use sparesults::QuerySolution;

use super::context::{Context, Kept};
use super::row_table::RowTable;
use super::tree::operator::{Operator, node};
use super::value::Value;
use crate::error::{Error, Result};
use crate::meter;
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;
use crate::sparql::evaluation::heap::HeapBytes;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::sparql::explain::plan_node::PlanNode;
use crate::{Quads, TermId};

/// Rows whose terms are read together, at most.
const ROWS_MAX: usize = 256;

/// Groups of rows grow while their terms have fewer bytes than this.
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
            Repeats::Distinct(known) => known.insert(&self.row).ok_or_else(|| context.full("distinct rows"))?.1,
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
    source: Box<dyn RowSource>,
    watch: EvaluationMonitor,
    /// Rows whose terms were read.
    ready: VecDeque<QuerySolution>,
    values: Vec<Value>,
    /// Rows that are read together next.
    rows_wanted: usize,
    returned: u64,
    end: End,
}

/// What follows the rows that are ready.
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
        let (ready, values) = (VecDeque::new(), Vec::new());
        Self { source, watch, ready, values, rows_wanted: 1, returned: 0, end: End::Open }
    }

    pub(crate) fn variables(&self) -> &Arc<[Variable]> {
        self.source.variables()
    }

    /// Quads read so far; `None` after the end.
    pub(crate) fn quads_read(&self) -> Option<u64> {
        let has_ended = matches!(self.end, End::Reached) && self.ready.is_empty();
        (!has_ended).then(|| self.watch.quads_read())
    }

    /// Reads the next rows.
    fn fill(&mut self) {
        let Self { source, watch, ready, values, rows_wanted, end, .. } = self;
        let outcome = watch
            .step()
            .and_then(|()| interrupt::run(watch, || read(&mut **source, watch, *rows_wanted, ready, values)))
            .and_then(std::convert::identity);
        match outcome {
            Ok((step, bytes)) => {
                let grows = bytes < BYTES_MAX;
                *rows_wanted = if grows { (2 * *rows_wanted).min(ROWS_MAX) } else { (*rows_wanted / 4).max(1) };
                if step == JoinStep::End {
                    *end = End::Reached;
                }
            }
            Err(stopped) => *end = End::Failed(stopped.into_failure(watch)),
        }
    }

    fn fail(&mut self, stopped: Stopped) -> Error {
        self.ready.clear();
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
            match std::mem::replace(&mut self.end, End::Reached) {
                End::Reached => return None,
                End::Failed(error) => return Some(Err(error)),
                End::Open => self.end = End::Open,
            }
            self.fill();
        }
    }
}

/// Reads rows and their terms. Returns how many bytes the terms have. Rows before an error are ready too.
fn read(
    source: &mut dyn RowSource,
    watch: &EvaluationMonitor,
    rows_max: usize,
    ready: &mut VecDeque<QuerySolution>,
    values: &mut Vec<Value>,
) -> Result<(JoinStep, usize), Stopped> {
    values.clear();
    let mut rows = 0;
    let step = source.fill(watch, &mut usize::MAX.clone(), rows_max, &mut rows, values);
    let ids: Vec<TermId> = values.iter().filter_map(|value| value.id()).collect();
    let mut terms: Vec<Term> = Vec::with_capacity(ids.len());
    let mut bytes = 0;
    if !ids.is_empty() {
        let outcome = meter::uncounted(|| {
            source.read_terms(&ids, &mut |term| {
                let term = term.into_owned();
                bytes += term.heap_bytes();
                terms.push(term);
            })
        });
        meter::count(bytes as i64);
        watch.keep(outcome)?;
    }
    let (mut terms, width) = (terms.into_iter(), source.variables().len());
    for row in 0..rows {
        let row = values[row * width..][..width].iter().map(|value| match value.term() {
            None => None,
            Some(EvaluationTerm::Computed(place)) => Some(source.kept().computed(place)),
            Some(_) => terms.next(),
        });
        let row: Vec<Option<Term>> = row.collect();
        ready.push_back(QuerySolution::from((Arc::clone(source.variables()), row)));
    }
    step.map(|step| (step, bytes))
}
