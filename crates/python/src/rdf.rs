//! RDF stores: loads, queries and updates.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Term, Triple};
use fulgurite_rdf::sparql::{Limits, Query, QueryResults, Update};
use fulgurite_rdf::{IdPattern, LoadInput, LoadOptions, Quads, RdfFormat, Snapshot, StoreOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

use crate::arrow::{ArrowStream, Cells, Field, check_batch_rows, text_of};
use crate::error::{Failure, Result};
use crate::keys::bytes_of;
use crate::kinds::OpenDatabase;
use crate::merging::running::check_not_merging;
use crate::source::options;

/// An RDF store.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Store {
    /// None after closing.
    store: Mutex<Option<fulgurite_rdf::Store>>,
    open: OpenDatabase,
}

impl Store {
    fn get(&self) -> Result<fulgurite_rdf::Store> {
        check_not_merging()?;
        let store = self.store.lock().map_err(|_| Failure::broken())?;
        store.clone().ok_or_else(|| Failure::closed("store"))
    }
}

/// Opens an RDF store.
#[pyfunction]
#[pyo3(signature = (path, **given))]
pub fn open_store(py: Python<'_>, path: PathBuf, given: Option<&Bound<'_, PyDict>>) -> Result<Store> {
    let (options, wait) = given.map_or_else(|| Ok((fulgurite::Database::options(), Duration::ZERO)), options)?;
    let (open, store) = OpenDatabase::open(py, &path, wait, || {
        let store = fulgurite_rdf::Store::open_with(options.clone(), &path, StoreOptions::new())?;
        Ok((store.database().clone(), Ok(store)))
    })?;
    Ok(Store { store: Mutex::new(Some(store)), open })
}

fn format_of(name: &str) -> Result<RdfFormat> {
    let found = RdfFormat::from_extension(name).or_else(|| RdfFormat::from_media_type(name));
    found.ok_or_else(|| Failure::invalid(format!("there is no format {name}; use nt, ttl, nq, trig, rdf or jsonld")))
}

fn limits(timeout: Option<f64>) -> Result<Limits> {
    let Some(seconds) = timeout else { return Ok(Limits::new()) };
    let timeout = Duration::try_from_secs_f64(seconds);
    let timeout = timeout
        .map_err(|_| Failure::invalid(format!("the timeout must be a number of seconds, 0 or more, not {seconds}")))?;
    Ok(Limits::new().timeout(timeout))
}

#[pymethods]
impl Store {
    /// Loads a file (if source is a path) or bytes. Returns the numbers of statements read and inserted.
    #[pyo3(signature = (source, is_path, format=None, graph=None, base=None, lenient=false))]
    #[expect(clippy::too_many_arguments, reason = "the parameters of a method of Python")]
    fn load(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        is_path: bool,
        format: Option<&str>,
        graph: Option<&str>,
        base: Option<&str>,
        lenient: bool,
    ) -> Result<(u64, u64)> {
        let store = self.get()?;
        let format = format.map(format_of).transpose()?;
        let mut input = if is_path {
            let input = LoadInput::file(source.extract::<PathBuf>()?);
            format.into_iter().fold(input, LoadInput::format)
        } else {
            let format = format.ok_or_else(|| Failure::invalid("bytes have no name; say their format"))?;
            LoadInput::reader("bytes", Cursor::new(bytes_of(source)?), format)
        };
        if let Some(graph) = graph {
            let name = NamedNode::new(graph).map_err(|error| Failure::invalid(format!("<{graph}>: {error}")))?;
            input = input.graph(GraphName::NamedNode(name));
        }
        if let Some(base) = base {
            input = input.base(base);
        }
        let options = LoadOptions::new().lenient(lenient);
        let report = py.detach(|| store.load(vec![input], &options))?;
        Ok((report.read, report.inserted))
    }

    /// Evaluates a query. Returns a truth value, or rows.
    #[pyo3(signature = (text, base=None, timeout=None))]
    fn query<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        base: Option<&str>,
        timeout: Option<f64>,
    ) -> Result<Bound<'py, PyAny>> {
        let store = self.get()?;
        let limits = limits(timeout)?;
        let answer = py.detach(|| {
            let snapshot = store.snapshot()?;
            let prefixes = snapshot.namespaces()?;
            let query = Query::parse_with_prefixes(text, base, &prefixes)?.with_limits(limits);
            evaluate(query, snapshot)
        })?;
        match answer {
            Answer::Boolean(answer) => Ok(PyBool::new(py, answer).to_owned().into_any()),
            Answer::Rows(rows) => Ok(Bound::new(py, rows)?.into_any()),
        }
    }

    /// Executes an update.
    #[pyo3(signature = (text, base=None, timeout=None))]
    fn update(&self, py: Python<'_>, text: &str, base: Option<&str>, timeout: Option<f64>) -> Result<()> {
        let store = self.get()?;
        let limits = limits(timeout)?;
        py.detach(|| {
            let prefixes = store.snapshot()?.namespaces()?;
            Update::parse_with_prefixes(text, base, &prefixes)?.with_limits(limits).execute(&store)?;
            Ok(())
        })
    }

    /// The number of quads.
    fn count(&self, py: Python<'_>) -> Result<u64> {
        let store = self.get()?;
        Ok(py.detach(|| store.snapshot()?.count(&IdPattern::ALL))?)
    }

    /// Closes the store.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            check_not_merging()?;
            let store = self.store.lock().map_err(|_| Failure::broken())?.take();
            // Not under the lock, for which other threads wait with the interpreter's lock.
            drop(store);
            self.open.close()
        })
    }
}

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

enum Answer {
    Boolean(bool),
    Rows(Rows),
}

/// The rows of a message, and the messages that wait to be read.
const ROWS_OF_MESSAGE: usize = 256;
const MESSAGES_MAX: usize = 8;

/// Evaluates a query on a thread of its own, which waits while its rows are not read and ends when they are dropped:
/// iterators of solutions stay on their thread, and those of Python do not.
fn evaluate(query: Query, snapshot: Snapshot) -> Result<Answer> {
    let (sender, receiver) = sync_channel(MESSAGES_MAX);
    let thread = std::thread::Builder::new().name("fulgurite-query".into());
    let run = move || {
        if let Err(failure) = send_all(&query, &snapshot, &sender) {
            // The reader may be gone.
            let _ = sender.send(Message::Failed(failure));
        }
    };
    thread.spawn(run).map_err(|error| Failure::Kind("IO", format!("no thread for the query: {error}")))?;
    match receiver.recv() {
        Ok(Message::Boolean(answer)) => Ok(Answer::Boolean(answer)),
        Ok(Message::Variables(variables)) => {
            let state = State { rows: Vec::new().into_iter(), receiver: Some(receiver) };
            Ok(Answer::Rows(Rows { variables, state: Arc::new(Mutex::new(state)) }))
        }
        Ok(Message::Failed(failure)) => Err(failure),
        Ok(Message::Rows { .. }) | Err(_) => Err(died()),
    }
}

fn died() -> Failure {
    Failure::Kind("INTERNAL", "the query has ended before its answer; this is a bug, please report it".into())
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

struct State {
    rows: std::vec::IntoIter<Row>,
    /// None after the last row or a failure.
    receiver: Option<Receiver<Message>>,
}

impl State {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let Some(receiver) = &self.receiver else { return Ok(None) };
            match receiver.recv() {
                Ok(Message::Rows { rows, is_last }) => {
                    self.rows = rows.into_iter();
                    if is_last {
                        self.receiver = None;
                    }
                }
                Ok(Message::Failed(failure)) => {
                    self.receiver = None;
                    return Err(failure);
                }
                Ok(_) => {}
                Err(_) => {
                    self.receiver = None;
                    return Err(died());
                }
            }
        }
    }
}

/// Solutions or triples.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Rows {
    variables: Vec<String>,
    state: Arc<Mutex<State>>,
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
        let row = py.detach(|| self.state.lock().map_err(|_| Failure::broken())?.next())?;
        let Some(row) = row else { return Ok(None) };
        let terms = row.iter().map(|term| match term {
            Some(term) => Ok(term_of(py, term)?.into_any()),
            None => Ok(py.None().into_bound(py)),
        });
        Ok(Some(PyList::new(py, terms.collect::<PyResult<Vec<_>>>()?)?))
    }

    /// The rows that are left, as record batches: a column of texts for each variable.
    #[pyo3(signature = (batch_rows=65536))]
    fn arrow(&self, batch_rows: usize) -> Result<ArrowStream> {
        check_batch_rows(batch_rows)?;
        let fields: Vec<Field> = self.variables.iter().map(|name| Field::text(name)).collect();
        let (state, parts) = (Arc::clone(&self.state), fields.clone());
        let next = move || {
            let mut state = state.lock().map_err(|_| text_of(&Failure::broken()))?;
            let mut columns: Vec<Cells> = vec![Cells::new(); parts.len()];
            let mut rows = 0;
            while rows < batch_rows {
                let Some(row) = state.next().map_err(|failure| text_of(&failure))? else { break };
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
