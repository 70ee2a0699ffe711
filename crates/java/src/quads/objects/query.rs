//! A running SPARQL query. Results of the store stay on the thread that evaluates them, and Java reads from any thread,
//! so a worker thread (`workers`) evaluates the query and sends its rows in batches:
//!
//! | bytes | |
//! |---|---|
//! | 1 | 1 in the last batch, otherwise 0 |
//! | 4, then the names as texts | the number of variables: in the first batch only |
//! | 4 | the number of rows |
//! | the rest | for each row and each variable a term, or a 0 byte if it is unbound |
//!
//! The variables of triples are named as RDF4J names them. A true `ASK` has one row without variables.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fulgurite_rdf::oxrdf::TermRef;
use fulgurite_rdf::sparql::{Limits, Query, QueryResults};
use fulgurite_rdf::{CancellationToken, Snapshot};

use super::terms::{push_term, push_text};
use super::workers;
use crate::error::{Failure, Result};

/// The names of the variables of triples.
const TRIPLE: [&str; 3] = ["subject", "predicate", "object"];

/// The rows of the first batch. Each further batch has four times as many, up to [`ROWS_MAX`].
const ROWS_FIRST: u32 = 16;

/// The maximum number of rows in a batch.
const ROWS_MAX: u32 = 1024;

/// A batch is sent when it has this many bytes.
const BATCH_BYTES: usize = 256 << 10;

/// Batches that wait for Java.
const BATCHES_MAX: usize = 2;

/// Stands for an unbound variable.
const UNBOUND: u8 = 0;

/// What the worker sends.
type Batch = Result<Vec<u8>>;

/// A query that a worker evaluates.
pub struct RunningQuery {
    batches: Mutex<Receiver<Batch>>,
    token: CancellationToken,
}

/// A query that Java has open. Dropping it cancels the query.
pub struct OpenQuery {
    /// The query, which a call keeps while it waits for a batch.
    pub running: Arc<RunningQuery>,
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        self.running.token.cancel();
    }
}

impl RunningQuery {
    /// Begins to evaluate a query.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if the system has no thread for it.
    pub fn start(query: Query, snapshot: Snapshot) -> Result<OpenQuery> {
        let token = CancellationToken::new();
        let query = query.with_limits(Limits::default().cancellation(token.clone()));
        let (sender, batches) = sync_channel(BATCHES_MAX);
        workers::run(Box::new(move || {
            if let Err(failure) = evaluate(&query, &snapshot, &sender) {
                // Without a receiver, the results are closed.
                let _: std::result::Result<(), _> = sender.send(Err(failure));
            }
        }))?;
        Ok(OpenQuery { running: Arc::new(Self { batches: Mutex::new(batches), token }) })
    }

    /// The next batch. `None` if there is none within `timeout`.
    ///
    /// # Errors
    /// Errors of the evaluation.
    pub fn next(&self, timeout: Duration) -> Result<Option<Vec<u8>>> {
        let ended = || Failure::Invalid("the evaluation of a query ended without a result".to_owned());
        match self.batches.lock().map_err(|_| ended())?.recv_timeout(timeout) {
            Ok(batch) => batch.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

/// Sends the results of a query.
fn evaluate(query: &Query, snapshot: &Snapshot, sender: &SyncSender<Batch>) -> Result<()> {
    match query.evaluate(snapshot)? {
        QueryResults::Boolean(answer) => {
            let mut rows = Rows::new(std::iter::empty(), sender);
            rows.count = answer.into();
            rows.end();
        }
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().to_vec();
            let mut rows = Rows::new(variables.iter().map(|variable| variable.as_str()), sender);
            for solution in solutions {
                let solution = solution?;
                if !rows.add(variables.iter().map(|variable| solution.get(variable).map(Into::into))) {
                    return Ok(());
                }
            }
            rows.end();
        }
        QueryResults::Triples(triples) => {
            let mut rows = Rows::new(TRIPLE.into_iter(), sender);
            for triple in triples {
                let triple = triple?;
                let terms: [TermRef<'_>; 3] =
                    [triple.subject.as_ref().into(), triple.predicate.as_ref().into(), triple.object.as_ref()];
                if !rows.add(terms.into_iter().map(Some)) {
                    return Ok(());
                }
            }
            rows.end();
        }
    }
    Ok(())
}

/// Rows on their way to Java.
struct Rows<'s> {
    sender: &'s SyncSender<Batch>,
    batch: Vec<u8>,
    /// Where the number of rows is in the batch.
    count_at: usize,
    count: u32,
    count_max: u32,
}

impl<'s> Rows<'s> {
    fn new<'n>(names: impl Iterator<Item = &'n str>, sender: &'s SyncSender<Batch>) -> Self {
        let (mut texts, mut count) = (Vec::new(), 0_u32);
        for name in names {
            push_text(&mut texts, name);
            count += 1;
        }
        let mut batch = vec![0];
        batch.extend_from_slice(&count.to_le_bytes());
        batch.extend_from_slice(&texts);
        let count_at = batch.len();
        batch.extend_from_slice(&[0; 4]);
        Self { sender, batch, count_at, count: 0, count_max: ROWS_FIRST }
    }

    /// Adds a row, and sends the batch if it is full. Returns false if the results are closed.
    fn add<'t>(&mut self, terms: impl Iterator<Item = Option<TermRef<'t>>>) -> bool {
        for term in terms {
            match term {
                Some(term) => push_term(&mut self.batch, term),
                None => self.batch.push(UNBOUND),
            }
        }
        self.count += 1;
        if self.count < self.count_max && self.batch.len() < BATCH_BYTES {
            return true;
        }
        self.count_max = (4 * self.count_max).min(ROWS_MAX);
        self.send(false)
    }

    fn send(&mut self, is_last: bool) -> bool {
        self.batch[0] = is_last.into();
        self.batch[self.count_at..self.count_at + 4].copy_from_slice(&self.count.to_le_bytes());
        let batch = std::mem::replace(&mut self.batch, vec![0; 5]);
        self.count_at = 1;
        self.count = 0;
        self.sender.send(Ok(batch)).is_ok()
    }

    fn end(mut self) {
        self.send(true);
    }
}
