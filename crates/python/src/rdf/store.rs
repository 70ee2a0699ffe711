//! Stores.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use fulgurite_rdf::oxrdf::{GraphName, NamedNode};
use fulgurite_rdf::sparql::{Limits, Query, QueryForm, Update};
use fulgurite_rdf::{CancellationToken, IdPattern, LoadInput, LoadOptions, Quads, RdfFormat, StoreOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::error::{Failure, Result};
use crate::keys::bytes_of;
use crate::kinds::OpenDatabase;
use crate::merging::running::check_not_merging;
use crate::process::ProcessBound;
use crate::rdf::interrupts::cancelled_by_interrupts;
use crate::rdf::rows::{Answer, Evaluations};
use crate::source::options;

/// An RDF store.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Store {
    /// None after closing.
    store: ProcessBound<Mutex<Option<fulgurite_rdf::Store>>>,
    open: OpenDatabase,
    /// The queries that run.
    evaluations: Evaluations,
}

impl Store {
    fn get(&self) -> Result<fulgurite_rdf::Store> {
        check_not_merging()?;
        let store = self.store.get()?.lock().map_err(|_| Failure::broken())?;
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
    let store = ProcessBound::new(Mutex::new(Some(store)));
    Ok(Store { store, open, evaluations: Evaluations::default() })
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

/// An error of a text, with advice for programs in Python.
fn in_python(error: fulgurite_rdf::Error) -> Failure {
    match Failure::from(error) {
        Failure::Kind(kind, text) => {
            let text = text.replace("run it with `rdf query`, or send it as a query", "use Store.select");
            Failure::Kind(kind, text.replace("run it with `rdf update`, or send it as an update", "use Store.update"))
        }
        failure => failure,
    }
}

/// What a query is called, and the method that evaluates it.
fn method_of(form: QueryForm) -> (&'static str, &'static str) {
    match form {
        QueryForm::Select => ("SELECT", "select"),
        QueryForm::Ask => ("ASK", "ask"),
        QueryForm::Construct => ("CONSTRUCT", "construct"),
        QueryForm::Describe => ("DESCRIBE", "construct"),
    }
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
        let token = CancellationToken::new();
        let options = LoadOptions::new().lenient(lenient).cancellation(token.clone());
        let report = cancelled_by_interrupts(py, &token, || Ok(store.load(vec![input], &options)?))?;
        Ok((report.read, report.inserted))
    }

    /// Evaluates a query for a method: select, ask or construct. Returns a truth value, or rows.
    #[pyo3(signature = (text, method, base=None, timeout=None))]
    fn query<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        method: &str,
        base: Option<&str>,
        timeout: Option<f64>,
    ) -> Result<Bound<'py, PyAny>> {
        let store = self.get()?;
        let token = CancellationToken::new();
        let limits = limits(timeout)?.cancellation(token.clone());
        let (query, snapshot) = py.detach(|| {
            let snapshot = store.snapshot()?;
            let prefixes = snapshot.namespaces()?;
            let query = Query::parse_with_prefixes(text, base, &prefixes).map_err(in_python)?;
            Ok::<_, Failure>((query.with_limits(limits), snapshot))
        })?;
        let (name, wanted) = method_of(query.form());
        if wanted != method {
            return Err(PyValueError::new_err(format!("the form of the query is {name}; use Store.{wanted}")).into());
        }
        match self.evaluations.begin(py, query, snapshot, token)? {
            Answer::Boolean(answer) => Ok(PyBool::new(py, answer).to_owned().into_any()),
            Answer::Rows(rows) => Ok(Bound::new(py, rows)?.into_any()),
        }
    }

    /// Executes an update.
    #[pyo3(signature = (text, base=None, timeout=None))]
    fn update(&self, py: Python<'_>, text: &str, base: Option<&str>, timeout: Option<f64>) -> Result<()> {
        let store = self.get()?;
        let token = CancellationToken::new();
        let limits = limits(timeout)?.cancellation(token.clone());
        let update = py.detach(|| {
            let prefixes = store.snapshot()?.namespaces()?;
            let update = Update::parse_with_prefixes(text, base, &prefixes).map_err(in_python)?;
            Ok::<_, Failure>(update.with_limits(limits))
        })?;
        cancelled_by_interrupts(py, &token, || Ok(update.execute(&store).map(drop)?))
    }

    /// The number of quads.
    fn count(&self, py: Python<'_>) -> Result<u64> {
        let store = self.get()?;
        Ok(py.detach(|| store.snapshot()?.count(&IdPattern::ALL))?)
    }

    /// Closes the store. Ends its queries: they keep snapshots.
    fn close(&self, py: Python<'_>) -> Result<()> {
        check_not_merging()?;
        self.evaluations.end(py)?;
        py.detach(|| {
            let store = self.store.get()?.lock().map_err(|_| Failure::broken())?.take();
            // Not under the lock, for which other threads wait with the interpreter's lock.
            drop(store);
            self.open.close()
        })
    }
}
