//! Queries that are evaluated, and their rows.
//!
//! A query has a thread of its own, which waits while its rows are not read: iterators of solutions stay on their
//! thread, and those of Python do not. The thread ends when its query is cancelled: when the rows are closed or
//! dropped, or the store is closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fulgurite_rdf::oxrdf::{Term, Triple};
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{CancellationToken, Snapshot};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arrow::{ArrowStream, Cells, Field, check_batch_rows, text_of};
use crate::change_feed::SLICE;
use crate::error::{Failure, Result};
use crate::process::ProcessBound;
use crate::rdf::interrupts::{died, no_thread};

/// A row: one term, or none, for each variable.
type Row = Vec<Option<Term>>;

/// What the thread of a query sends.
enum Message {
    /// The answer of an ASK.
    Boolean(bool),
    /// The variables, before the rows.
    Variables(Vec<String>),
    /// Rows, and whether no more follow. Without the last ones, the thread has panicked.
    Rows { rows: Vec<Row>, is_last: bool },
    /// The evaluation has failed.
    Failed(Failure),
}

/// The answer of a query.
pub enum Answer {
    /// That of an ASK.
    Boolean(bool),
    /// That of the other forms.
    Rows(Rows),
}

/// The rows of a message, and the messages that wait to be read.
const ROWS_OF_MESSAGE: usize = 256;
const MESSAGES_MAX: usize = 8;

/// The queries of a store that may still run or have rows to read.
pub struct Evaluations {
    /// None after the end.
    running: ProcessBound<Mutex<Option<Vec<Running>>>>,
}

/// The thread of a query, and the query.
type Running = (JoinHandle<()>, Weak<Evaluation>);

impl Default for Evaluations {
    fn default() -> Self {
        Self { running: ProcessBound::new(Mutex::new(Some(Vec::new()))) }
    }
}

impl Evaluations {
    /// Begins to evaluate a query, which has the token. Handles signals of the system until there is an answer.
    ///
    /// # Errors
    /// Those of the query and of handlers of signals. Also after the end.
    pub fn begin(&self, py: Python<'_>, query: Query, snapshot: Snapshot, token: CancellationToken) -> Result<Answer> {
        let evaluation = self.spawn(query, snapshot, token)?;
        loop {
            match py.detach(|| evaluation.with(|state| state.receive()))? {
                Step::Done(Message::Boolean(answer)) => return Ok(Answer::Boolean(answer)),
                Step::Done(Message::Variables(variables)) => return Ok(Answer::Rows(Rows { variables, evaluation })),
                Step::Done(Message::Rows { .. } | Message::Failed(_)) => return Err(died()),
                Step::Waiting => py.check_signals()?,
            }
        }
    }

    fn spawn(&self, query: Query, snapshot: Snapshot, token: CancellationToken) -> Result<Arc<Evaluation>> {
        let (sender, receiver) = sync_channel(MESSAGES_MAX);
        let run = move || {
            if let Err(failure) = send_all(&query, &snapshot, &sender) {
                // The reader may be gone.
                let _ = sender.send(Message::Failed(failure));
            }
        };
        let mut running = self.running.get()?.lock().map_err(|_| Failure::broken())?;
        let running = running.as_mut().ok_or_else(|| Failure::closed("store"))?;
        running.retain(|(thread, evaluation)| evaluation.strong_count() > 0 || !thread.is_finished());
        let thread = thread::Builder::new().name("fulgurite-query".into());
        let thread = thread.spawn(run).map_err(|error| no_thread(&error))?;
        let state = ProcessBound::new(Mutex::new(State { rows: Vec::new().into_iter(), receiver: Some(receiver) }));
        let evaluation = Arc::new(Evaluation { token, is_closed: AtomicBool::new(false), state });
        running.push((thread, Arc::downgrade(&evaluation)));
        Ok(evaluation)
    }

    /// Cancels all queries, and waits for the end of their threads. Does nothing the second time, and in a child made
    /// by `fork`.
    ///
    /// # Errors
    /// Those of handlers of signals. The next call waits for the threads that are left.
    pub fn end(&self, py: Python<'_>) -> Result<()> {
        let Ok(of_store) = self.running.get() else { return Ok(()) };
        let mut running = of_store.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        // A dropped evaluation is cancelled.
        running.iter().filter_map(|(_, evaluation)| evaluation.upgrade()).for_each(|evaluation| evaluation.cancel());
        while let Some((thread, evaluation)) = running.pop() {
            if let Some(evaluation) = evaluation.upgrade() {
                py.detach(|| evaluation.close());
            }
            while !thread.is_finished() {
                py.detach(|| thread::sleep(END_PAUSE));
                if let Err(raised) = py.check_signals() {
                    running.push((thread, evaluation));
                    *of_store.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
                    return Err(raised.into());
                }
            }
        }
        Ok(())
    }
}

/// The interval at which closing a store asks whether the threads of its queries have ended.
const END_PAUSE: Duration = Duration::from_millis(1);

/// A query that is evaluated, and what has arrived of its answer. Dropping it cancels the query.
struct Evaluation {
    token: CancellationToken,
    is_closed: AtomicBool,
    state: ProcessBound<Mutex<State>>,
}

impl Evaluation {
    /// Calls `run` with what has arrived. Other threads that read wait.
    fn with<R>(&self, run: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let state = self.state.get()?.lock().map_err(|_| Failure::broken());
        let done = state.and_then(|mut state| run(&mut state));
        if self.is_closed.load(Ordering::SeqCst) { Err(Failure::closed("result")) } else { done }
    }

    fn cancel(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.token.cancel();
    }

    /// Ends the query. A thread that reads its rows gets `ClosedError`. Does nothing in a child made by `fork`.
    fn close(&self) {
        let Ok(state) = self.state.get() else { return };
        self.cancel();
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { rows: Vec::new().into_iter(), receiver: None };
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

fn send_all(query: &Query, snapshot: &Snapshot, sender: &SyncSender<Message>) -> Result<()> {
    match query.evaluate(snapshot)? {
        QueryResults::Boolean(answer) => drop(sender.send(Message::Boolean(answer))),
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().iter().map(|variable| variable.as_str().to_owned()).collect();
            let width = solutions.variables().len();
            let rows =
                solutions.map(|row| Ok(row.map(|row| (0..width).map(|place| row.get(place).cloned()).collect())?));
            send_rows(variables, rows, sender)?;
        }
        QueryResults::Triples(triples) => {
            let variables = ["subject", "predicate", "object"].map(String::from).to_vec();
            let rows = triples.map(|triple| {
                let Triple { subject, predicate, object } = triple?;
                Ok(vec![Some(Term::from(subject)), Some(Term::from(predicate)), Some(object)])
            });
            send_rows(variables, rows, sender)?;
        }
    }
    Ok(())
}

fn send_rows(
    variables: Vec<String>,
    mut rows: impl Iterator<Item = Result<Row>>,
    sender: &SyncSender<Message>,
) -> Result<()> {
    if sender.send(Message::Variables(variables)).is_err() {
        return Ok(());
    }
    loop {
        let batch = rows.by_ref().take(ROWS_OF_MESSAGE).collect::<Result<Vec<_>>>()?;
        let is_last = batch.len() < ROWS_OF_MESSAGE;
        if sender.send(Message::Rows { rows: batch, is_last }).is_err() || is_last {
            return Ok(());
        }
    }
}

/// What a reader has after a slice of waiting.
enum Step<T> {
    Done(T),
    Waiting,
}

struct State {
    rows: std::vec::IntoIter<Row>,
    /// None after the last row or a failure.
    receiver: Option<Receiver<Message>>,
}

impl State {
    /// The next message. A failure ends the answer, and is an error.
    fn receive(&mut self) -> Result<Step<Message>> {
        let Some(receiver) = &self.receiver else { return Err(died()) };
        let failure = match receiver.recv_timeout(SLICE) {
            Err(RecvTimeoutError::Timeout) => return Ok(Step::Waiting),
            Ok(Message::Failed(failure)) => failure,
            Ok(message) => return Ok(Step::Done(message)),
            Err(RecvTimeoutError::Disconnected) => died(),
        };
        self.receiver = None;
        Err(failure)
    }

    /// The next row, or none after the last one.
    fn next(&mut self) -> Result<Step<Option<Row>>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Step::Done(Some(row)));
            }
            if self.receiver.is_none() {
                return Ok(Step::Done(None));
            }
            match self.receive()? {
                Step::Waiting => return Ok(Step::Waiting),
                Step::Done(Message::Rows { rows, is_last }) => {
                    self.rows = rows.into_iter();
                    if is_last {
                        self.receiver = None;
                    }
                }
                Step::Done(_) => {}
            }
        }
    }
}

/// Solutions or triples.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Rows {
    variables: Vec<String>,
    evaluation: Arc<Evaluation>,
}

#[pymethods]
impl Rows {
    /// The names of the variables.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.variables.clone()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyList>>> {
        let row = loop {
            match py.detach(|| self.evaluation.with(State::next))? {
                Step::Done(row) => break row,
                Step::Waiting => py.check_signals()?,
            }
        };
        let Some(row) = row else { return Ok(None) };
        let terms = row.iter().map(|term| match term {
            Some(term) => Ok(term_of(py, term)?.into_any()),
            None => Ok(py.None().into_bound(py)),
        });
        Ok(Some(PyList::new(py, terms.collect::<PyResult<Vec<_>>>()?)?))
    }

    /// Ends the query. Does nothing the second time.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.evaluation.close());
    }

    /// The rows that are left, as record batches: a column of texts for each variable.
    #[pyo3(signature = (batch_rows=65536))]
    fn arrow(&self, batch_rows: usize) -> Result<ArrowStream> {
        check_batch_rows(batch_rows)?;
        let fields: Vec<Field> = self.variables.iter().map(|name| Field::text(name)).collect();
        let (evaluation, parts) = (Arc::clone(&self.evaluation), fields.clone());
        let next = move || {
            let mut columns: Vec<Cells> = vec![Cells::new(); parts.len()];
            let mut rows = 0;
            while rows < batch_rows {
                let row = match evaluation.with(State::next).map_err(|failure| text_of(&failure))? {
                    Step::Done(Some(row)) => row,
                    Step::Done(None) => break,
                    Step::Waiting => continue,
                };
                for (column, term) in columns.iter_mut().zip(row) {
                    column.push(term.map(|term| term.to_string().into_bytes()));
                }
                rows += 1;
            }
            if rows == 0 {
                return Ok(None);
            }
            Ok(Some(columns.iter().zip(&parts).map(|(cells, field)| field.array(cells)).collect::<Result<_, _>>()?))
        };
        Ok(ArrowStream::new(fields, Box::new(next)))
    }
}

/// A term as a tuple: its kind, and its parts.
fn term_of<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyTuple>> {
    match term {
        Term::NamedNode(iri) => ("iri", iri.as_str()).into_pyobject(py),
        Term::BlankNode(node) => ("blank", node.as_str()).into_pyobject(py),
        Term::Literal(literal) => {
            ("literal", literal.value(), literal.datatype().as_str(), literal.language()).into_pyobject(py)
        }
        Term::Triple(triple) => {
            let subject = term_of(py, &triple.subject.clone().into())?;
            let predicate = term_of(py, &triple.predicate.clone().into())?;
            ("triple", subject, predicate, term_of(py, &triple.object)?).into_pyobject(py)
        }
    }
}
