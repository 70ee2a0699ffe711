//! What a query returns, and how it is written.
//!
//! Invariants: (1) an error is returned once, and ends the results. (2) A row that the evaluator returns after a
//! failure is not passed on: it may be wrong. (3) Results of a query that nests deep come from a thread of their own,
//! which ends when they are dropped. (4) Rows of ids are read in groups; the rows before an error are returned before
//! it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use oxrdf::{GraphNameRef, NamedNode, Term, Triple, Variable};
use oxrdfio::RdfFormat;
use sparesults::{QueryResultsFormat, QueryResultsSerializer, QuerySolution};
use spareval::{CancellationToken, QueryEvaluationError, QuerySolutionIter, QueryTripleIter};

use crate::TermId;
use crate::error::{Error, Result};
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::dataset::failure;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;
use crate::sparql::evaluation::heap::HeapBytes;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, PausedMonitor};
use crate::sparql::evaluation::value::Value;
use crate::sparql::operators::rows::{RowSource, TermRows};
use crate::writing::{self, GraphWriter, SolutionsWriter, Spool};

/// The results of a query.
#[derive(Debug)]
pub enum QueryResults {
    /// Results of `SELECT`.
    Solutions(Solutions),
    /// Results of `CONSTRUCT` and `DESCRIBE`.
    Triples(Triples),
    /// The result of `ASK`.
    Boolean(bool),
}

/// An iterator over the solutions of a `SELECT`, which evaluates them lazily. The first error ends it. It cannot be
/// sent to another thread.
pub struct Solutions {
    variables: Arc<[Variable]>,
    rows: SolutionRows,
}

/// Where solutions come from.
enum SolutionRows {
    /// The library's evaluation.
    Library(Rows<QuerySolution>),
    /// An evaluation on ids.
    OnIds(Box<TermRows>),
}

/// The solutions of a query that is evaluated on ids, as ids: see
/// [`Query::evaluate_on_ids`](crate::sparql::Query::evaluate_on_ids). It can be sent to other threads. The first error
/// ends it.
pub struct IdSolutions {
    /// `None` after the end: an evaluation keeps a snapshot.
    source: Option<Box<dyn RowSource>>,
    variables: Arc<[Variable]>,
    monitor: PausedMonitor,
    values: Vec<Value>,
    returned: u64,
}

/// A solution as ids.
#[derive(Clone, Copy)]
pub struct IdRow<'r> {
    source: &'r dyn RowSource,
    values: &'r [Value],
}

/// A value of a solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SolutionValue {
    /// The term with this id. [`Quads::terms`](crate::Quads::terms) reads terms of ids.
    Stored(TermId),
    /// A computed term that has no id.
    Computed(Term),
}

/// A value of a solution without its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionId {
    /// The term with this id.
    Stored(TermId),
    /// The computed term with this number, which is the same in all solutions of an evaluation:
    /// [`IdRow::computed`] returns it.
    Computed(u32),
}

/// An iterator over the triples of a `CONSTRUCT` or `DESCRIBE`, which evaluates them lazily. The first error ends it.
/// It cannot be sent to another thread.
///
/// Each triple is returned once. Duplicates are possible for triples with blank nodes, and after a million triples.
pub struct Triples {
    rows: Rows<Triple>,
}

/// What an evaluation returns, under its watch.
pub(crate) enum Rows<T> {
    /// Evaluated where they are asked for.
    Here { rows: Box<dyn Iterator<Item = Result<T, QueryEvaluationError>>>, watch: EvaluationMonitor, returned: u64 },
    /// Evaluated by another thread.
    There { rows: Receiver<Result<T>>, thread: OtherThread },
    /// All returned.
    Ended,
}

/// The thread that evaluates a deep query. Dropping it stops the thread.
pub(crate) struct OtherThread {
    handle: Option<JoinHandle<()>>,
    abandoned: CancellationToken,
}

impl OtherThread {
    pub(crate) fn new(handle: JoinHandle<()>, abandoned: CancellationToken) -> Self {
        Self { handle: Some(handle), abandoned }
    }

    /// The thread has sent its last. If it panicked, that is an error, since the results are cut off.
    fn end(&mut self) -> Result<()> {
        match self.handle.take().map(JoinHandle::join) {
            Some(Err(panic)) => Err(interrupt::internal("the thread of a query that nests deep", &*panic)),
            _ => Ok(()),
        }
    }

    /// The error of a thread that has ended without sending what its results are.
    pub(crate) fn failure(mut self) -> Error {
        let message = "the thread of a query that nests deep ended without a result".to_owned();
        self.end().err().unwrap_or(Error::Internal { message })
    }
}

impl Drop for OtherThread {
    fn drop(&mut self) {
        self.abandoned.cancel();
    }
}

impl<T> Rows<T> {
    pub(crate) fn here(
        rows: impl Iterator<Item = Result<T, QueryEvaluationError>> + 'static,
        watch: EvaluationMonitor,
    ) -> Self {
        Self::Here { rows: Box::new(rows), watch, returned: 0 }
    }

    /// Quads read so far, where that is known.
    fn quads_read(&self) -> Option<u64> {
        match self {
            Self::Here { watch, .. } => Some(watch.quads_read()),
            _ => None,
        }
    }
}

impl<T: HeapBytes> Iterator for Rows<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let row = match self {
            Self::Ended => return None,
            Self::There { rows, thread } => match rows.recv() {
                Ok(row) => Some(row),
                Err(_) => thread.end().err().map(Err),
            },
            Self::Here { rows, watch, returned } => next_here(rows, watch, returned),
        };
        if !matches!(row, Some(Ok(_))) {
            *self = Self::Ended;
        }
        row
    }
}

fn next_here<T: HeapBytes>(
    rows: &mut dyn Iterator<Item = Result<T, QueryEvaluationError>>,
    watch: &EvaluationMonitor,
    returned: &mut u64,
) -> Option<Result<T>> {
    let row = match watch.step().and_then(|()| interrupt::run(watch, || rows.next())) {
        Ok(row) => row,
        Err(stopped) => return Some(Err(stopped.into_failure(watch))),
    };
    if let Some(failed) = watch.take_failure() {
        return Some(Err(failed));
    }
    match row {
        Some(Err(error)) => Some(Err(failure(watch, error))),
        None => None,
        Some(Ok(row)) => {
            watch.memory().hand_out(&row);
            *returned += 1;
            match watch.check_rows(*returned) {
                Ok(()) => Some(Ok(row)),
                Err(_) => watch.take_failure().map(Err),
            }
        }
    }
}

impl Solutions {
    pub(crate) fn here(solutions: QuerySolutionIter<'static>, watch: EvaluationMonitor) -> Self {
        let variables = solutions.variables().into();
        Self { variables, rows: SolutionRows::Library(Rows::here(solutions, watch)) }
    }

    pub(crate) fn on_ids(source: Box<dyn RowSource>, watch: EvaluationMonitor) -> Self {
        let rows = TermRows::new(source, watch);
        Self { variables: Arc::clone(rows.variables()), rows: SolutionRows::OnIds(Box::new(rows)) }
    }

    pub(crate) fn there(
        variables: Arc<[Variable]>,
        rows: Receiver<Result<QuerySolution>>,
        thread: OtherThread,
    ) -> Self {
        Self { variables, rows: SolutionRows::Library(Rows::There { rows, thread }) }
    }

    /// The variables of the solutions, in the order of the query.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The number of quads read from the store so far. `None` after the last solution, and for deeply nested queries,
    /// which another thread evaluates. Solutions are read in groups that grow from one, so it may count more than those
    /// of the returned solutions.
    pub fn quads_read(&self) -> Option<u64> {
        match &self.rows {
            SolutionRows::Library(rows) => rows.quads_read(),
            SolutionRows::OnIds(rows) => rows.quads_read(),
        }
    }

    /// Writes the solutions, and returns their number.
    ///
    /// XML cannot represent every character, so XML output is written to `writer` only after all solutions are
    /// evaluated. Output above 1 MiB is buffered in a file in [`std::env::temp_dir`].
    ///
    /// # Errors
    /// Errors of the evaluation; [`Error::Unwritable`] for a term that the format cannot represent; [`Error::Scratch`]
    /// if the temporary file fails; [`Error::Output`] if `writer` fails. Output written before an error is not a
    /// complete document.
    pub fn write(self, format: QueryResultsFormat, writer: impl Write) -> Result<u64> {
        if !writing::is_limited_in_results(format) {
            return self.write_to(format, writer).map(|(rows, _)| rows);
        }
        let (rows, spool) = self.write_to(format, Spool::default()).map_err(Spool::own_failure)?;
        spool.hand_on(writer)?;
        Ok(rows)
    }

    fn write_to<W: Write>(self, format: QueryResultsFormat, writer: W) -> Result<(u64, W)> {
        let mut out = SolutionsWriter::new(format, Arc::clone(&self.variables), writer)?;
        let mut rows = 0;
        for solution in self {
            out.write(&solution?)?;
            rows += 1;
        }
        Ok((rows, out.finish()?))
    }
}

impl Iterator for Solutions {
    type Item = Result<QuerySolution>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.rows {
            SolutionRows::Library(rows) => rows.next(),
            SolutionRows::OnIds(rows) => rows.next(),
        }
    }
}

impl IdSolutions {
    pub(crate) fn new(source: Box<dyn RowSource>, watch: &EvaluationMonitor) -> Self {
        let variables = Arc::clone(source.variables());
        Self { source: Some(source), variables, monitor: watch.pause(), values: Vec::new(), returned: 0 }
    }

    /// The variables of the solutions, in the order of the query.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The number of quads read from the store so far.
    pub fn quads_read(&self) -> u64 {
        self.monitor.quads_read()
    }

    /// Reads the next solutions, at most `rows_max`, and calls `each` with them, in order. It looks at about `keys_max`
    /// keys of indexes and rows at most, so it may call `each` for fewer, or for none, though there are more. Returns
    /// whether there may be more.
    ///
    /// # Errors
    /// As the items of [`Solutions`]. `each` is called for the solutions before the error.
    pub fn read(&mut self, rows_max: usize, keys_max: usize, mut each: impl FnMut(IdRow<'_>)) -> Result<bool> {
        let Some(source) = &mut self.source else { return Ok(false) };
        let watch = self.monitor.resume();
        let values = &mut self.values;
        values.clear();
        let (mut rows, mut keys_left) = (0, keys_max);
        let mut step = watch
            .step()
            .and_then(|()| interrupt::run(&watch, || source.fill(&watch, &mut keys_left, rows_max, &mut rows, values)))
            .and_then(std::convert::identity);
        let width = self.variables.len();
        for row in 0..rows {
            self.returned += 1;
            if let Err(stopped) = watch.check_rows(self.returned) {
                step = Err(stopped);
                break;
            }
            each(IdRow { source: &**source, values: &self.values[row * width..][..width] });
        }
        self.monitor = watch.pause();
        match step {
            Ok(JoinStep::Row | JoinStep::Paused) => Ok(true),
            Ok(JoinStep::End) => {
                self.source = None;
                Ok(false)
            }
            Err(stopped) => {
                self.source = None;
                Err(stopped.into_failure(&watch))
            }
        }
    }
}

impl<'r> IdRow<'r> {
    /// The values, in the order of the variables; `None` if a variable is unbound.
    pub fn values(&self) -> impl Iterator<Item = Option<SolutionValue>> + use<'r> {
        let row = *self;
        self.ids().map(move |id| {
            Some(match id? {
                SolutionId::Stored(id) => SolutionValue::Stored(id),
                SolutionId::Computed(number) => SolutionValue::Computed(row.computed(number)),
            })
        })
    }

    /// As [`IdRow::values`], without copies of computed terms.
    pub fn ids(&self) -> impl Iterator<Item = Option<SolutionId>> + use<'r> {
        self.values.iter().map(|value| match value.term()? {
            EvaluationTerm::Stored(id) => Some(SolutionId::Stored(id)),
            EvaluationTerm::Computed(place) => Some(SolutionId::Computed(place)),
            EvaluationTerm::Form(_) | EvaluationTerm::SortKey(_) => None,
        })
    }

    /// The computed term with a number of [`IdRow::ids`].
    ///
    /// # Panics
    /// If no computed term of the evaluation has the number.
    pub fn computed(&self, number: u32) -> Term {
        self.source.kept().computed(number)
    }
}

impl std::fmt::Debug for IdSolutions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("IdSolutions").field("variables", &self.variables).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for IdRow<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.values()).finish()
    }
}

impl Triples {
    pub(crate) fn here(triples: QueryTripleIter<'static>, watch: EvaluationMonitor) -> Self {
        Self { rows: Rows::here(triples, watch) }
    }

    pub(crate) fn there(rows: Receiver<Result<Triple>>, thread: OtherThread) -> Self {
        Self { rows: Rows::There { rows, thread } }
    }

    /// As [`Solutions::quads_read`].
    pub fn quads_read(&self) -> Option<u64> {
        self.rows.quads_read()
    }

    /// Writes the triples, with `prefixes` if the format supports them, and returns their number.
    ///
    /// RDF/XML and JSON-LD cannot represent every triple: their output is buffered, as that of solutions in XML (see
    /// [`Solutions::write`]).
    ///
    /// # Errors
    /// As [`Solutions::write`]; [`Error::MalformedTerm`] for an IRI or a language tag that is not valid;
    /// [`Error::Invalid`] if the IRI of a prefix is not valid.
    pub fn write(self, format: RdfFormat, prefixes: &[(String, String)], writer: impl Write) -> Result<u64> {
        for (prefix, iri) in prefixes {
            NamedNode::new(iri).map_err(|error| Error::Invalid {
                message: format!("<{iri}>, the namespace of {prefix}: {error}; give an absolute IRI"),
            })?;
        }
        // JSON-LD would take the schemes of IRIs for prefixes, and makes no use of them.
        let prefixes = if matches!(format, RdfFormat::JsonLd { .. }) { &[] } else { prefixes };
        if !writing::is_limited(format) {
            return self.write_to(format, prefixes, writer).map(|(rows, _)| rows);
        }
        let (rows, spool) = self.write_to(format, prefixes, Spool::default()).map_err(Spool::own_failure)?;
        spool.hand_on(writer)?;
        Ok(rows)
    }

    fn write_to<W: Write>(self, format: RdfFormat, prefixes: &[(String, String)], writer: W) -> Result<(u64, W)> {
        let mut out = GraphWriter::new(format, prefixes, writer);
        let mut rows = 0;
        for triple in self {
            out.write(triple?.as_ref().in_graph(GraphNameRef::DefaultGraph))?;
            rows += 1;
        }
        Ok((rows, out.finish()?))
    }
}

impl Iterator for Triples {
    type Item = Result<Triple>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}

impl QueryResults {
    /// Writes the answer of an `ASK`.
    ///
    /// # Errors
    /// [`Error::Output`] if `writer` fails.
    pub fn write_boolean(answer: bool, format: QueryResultsFormat, writer: impl Write) -> Result<()> {
        let serializer = QueryResultsSerializer::from_format(format);
        serializer.serialize_boolean_to_writer(writer, answer).and_then(|mut writer| writer.flush()).map_err(output)
    }

    /// Writes the results: solutions and the answer of an `ASK` in the format `results`, triples in the format `graph`.
    /// Returns the number of rows.
    ///
    /// # Errors
    /// As [`Solutions::write`].
    pub fn write(self, results: QueryResultsFormat, graph: RdfFormat, writer: impl Write) -> Result<u64> {
        match self {
            Self::Solutions(solutions) => solutions.write(results, writer),
            Self::Triples(triples) => triples.write(graph, &[], writer),
            Self::Boolean(answer) => Self::write_boolean(answer, results, writer).map(|()| 1),
        }
    }
}

fn output(source: io::Error) -> Error {
    Error::Output { source }
}

impl std::fmt::Debug for Solutions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Solutions").field("variables", &self.variables).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Triples {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Triples").finish_non_exhaustive()
    }
}
