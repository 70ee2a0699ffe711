//! A SPARQL query that Java has open. A query that the store evaluates on ids is evaluated batch by batch, by the
//! thread that reads the batch, unless its operators nest deep. Results of other queries stay on the thread that
//! evaluates them, and Java reads from any thread. So a short one of these is evaluated whole when it begins, and a
//! worker thread (`workers`) evaluates any other and sends its rows in batches:
//!
//! | bytes | |
//! |---|---|
//! | 1 | 1 in the last batch, plus 2 if the rows are ids |
//! | 4, then the names as texts | the number of variables: in the first batch only |
//! | 4 | the number of rows |
//! | the rest, of terms | for each row and each variable a term, or a 0 byte if it is unbound |
//! | 4, then terms, of ids | the number of computed terms, and these |
//! | the rest, of ids | for each row and each variable eight bytes, little-endian: see below |
//!
//! The eight bytes are an id, 0 if the variable is unbound, or the position of a computed term below eight bits that
//! are set. A batch has each computed term once. The variables of triples are named as RDF4J names them. A true `ASK`
//! has one row without variables.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fulgurite_rdf::oxrdf::TermRef;
use fulgurite_rdf::sparql::{IdRow, IdSolutions, Limits, Query, QueryResults, SolutionId};
use fulgurite_rdf::{CancellationToken, Snapshot};

use super::rows::KEYS_MAX;
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

/// In the first byte of a batch: it is the last one.
const LAST: u8 = 1;

/// In the first byte of a batch: its rows are ids.
const IDS: u8 = 2;

/// With a position: a computed term. No id has these bits.
const COMPUTED: u64 = 0xff << 56;

/// Rows of ids between two looks at the bytes of a batch.
const ROWS_AT_ONCE: u32 = 64;

/// A query with more levels of operators is evaluated by a worker: threads of Java may have small stacks.
const LEVELS_MAX: usize = 10;

/// What the worker sends.
type Batch = Result<Vec<u8>>;

/// A query whose rows come from here.
pub struct RunningQuery {
    batches: Batches,
    token: CancellationToken,
}

/// Where batches come from.
enum Batches {
    /// A worker sends them, or the only one was sent at the beginning.
    Sent(Mutex<Receiver<Batch>>),
    /// The thread that asks for a batch makes it. `None` after the last one.
    OnIds(Mutex<Option<Box<IdBatches>>>),
}

/// The rows of an evaluation on ids on their way to Java.
struct IdBatches {
    solutions: IdSolutions,
    has_begun: bool,
    count_max: u32,
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
    /// Begins to evaluate a query with the text `text`. Its cancellation is added to `limits`.
    ///
    /// # Errors
    /// [`Failure::Invalid`] if the system has no thread for it.
    pub fn start(text: &str, query: Query, snapshot: Snapshot, limits: Limits) -> Result<OpenQuery> {
        let token = CancellationToken::new();
        let query = query.with_limits(limits.cancellation(token.clone()));
        let on_ids = if query.levels() <= LEVELS_MAX { query.evaluate_on_ids(&snapshot)? } else { None };
        if let Some(solutions) = on_ids {
            let on_ids = IdBatches { solutions, has_begun: false, count_max: ROWS_FIRST };
            let batches = Batches::OnIds(Mutex::new(Some(Box::new(on_ids))));
            return Ok(OpenQuery { running: Arc::new(Self { batches, token }) });
        }
        let (sender, batches) = sync_channel(BATCHES_MAX);
        if let Some(whole) = short_queries::evaluate(text, &query, &snapshot) {
            // The channel has room for it.
            let _: std::result::Result<(), _> = sender.send(whole);
        } else {
            workers::run(Box::new(move || {
                let mut rows = Rows::new(Some(&sender));
                if let Err(failure) = evaluate(&query, &snapshot, &mut rows) {
                    // Without a receiver, the results are closed.
                    let _: std::result::Result<(), _> = sender.send(Err(failure));
                }
            }))?;
        }
        let batches = Batches::Sent(Mutex::new(batches));
        Ok(OpenQuery { running: Arc::new(Self { batches, token }) })
    }

    /// The next batch. `None` if there is none within `timeout`, or none after some work.
    ///
    /// # Errors
    /// Errors of the evaluation.
    pub fn next(&self, timeout: Duration) -> Result<Option<Vec<u8>>> {
        match &self.batches {
            Batches::Sent(batches) => match locked(batches)?.recv_timeout(timeout) {
                Ok(batch) => batch.map(Some),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(ended()),
            },
            Batches::OnIds(batches) => {
                let mut batches = locked(batches)?;
                let batch = batches.as_mut().ok_or_else(ended)?.next();
                let is_over = match &batch {
                    Ok(Some(batch)) => batch[0] & LAST != 0,
                    Ok(None) => false,
                    Err(_) => true,
                };
                if is_over {
                    // The snapshot is not needed any more.
                    *batches = None;
                }
                batch
            }
        }
    }
}

fn locked<T>(batches: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    batches.lock().map_err(|_| ended())
}

fn ended() -> Failure {
    Failure::Invalid("the evaluation of a query ended without a result".to_owned())
}

impl IdBatches {
    /// The next batch. `None` if no row was found among the keys that a call may look at.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let (mut rows, mut has_more) = (IdRows::default(), true);
        while has_more && rows.count < self.count_max && rows.bytes() < BATCH_BYTES {
            let (before, wanted) = (rows.count, (self.count_max - rows.count).min(ROWS_AT_ONCE));
            // As many keys for the first rows as for all further ones.
            let keys_max = if before == 0 { KEYS_MAX } else { KEYS_MAX / (ROWS_MAX / ROWS_AT_ONCE) as usize };
            has_more = self.solutions.read(wanted as usize, keys_max, |row| rows.add(row))?;
            if rows.count - before < wanted {
                // The keys are spent.
                break;
            }
        }
        if rows.count == 0 && has_more {
            return Ok(None);
        }
        self.count_max = (4 * self.count_max).min(ROWS_MAX);
        let mut batch = vec![if has_more { IDS } else { IDS | LAST }];
        if !std::mem::replace(&mut self.has_begun, true) {
            let variables = self.solutions.variables();
            batch.extend_from_slice(&(variables.len() as u32).to_le_bytes());
            variables.iter().for_each(|variable| push_text(&mut batch, variable.as_str()));
        }
        batch.reserve(8 + rows.bytes());
        batch.extend_from_slice(&rows.count.to_le_bytes());
        batch.extend_from_slice(&(rows.numbers.len() as u32).to_le_bytes());
        batch.extend_from_slice(&rows.computed);
        batch.extend_from_slice(&rows.ids);
        Ok(Some(batch))
    }
}

/// Rows of ids for a batch.
#[derive(Default)]
struct IdRows {
    count: u32,
    ids: Vec<u8>,
    /// The computed terms.
    computed: Vec<u8>,
    /// The positions of computed terms, by their numbers in the evaluation.
    numbers: HashMap<u32, u32>,
}

impl IdRows {
    fn add(&mut self, row: IdRow<'_>) {
        self.count += 1;
        for id in row.ids() {
            let bits = match id {
                None => 0,
                Some(SolutionId::Stored(id)) => id.to_bits(),
                Some(SolutionId::Computed(number)) => {
                    let next = self.numbers.len() as u32;
                    let position = *self.numbers.entry(number).or_insert_with(|| {
                        push_term(&mut self.computed, row.computed(number).as_ref());
                        next
                    });
                    COMPUTED | u64::from(position)
                }
            };
            self.ids.extend_from_slice(&bits.to_le_bytes());
        }
    }

    fn bytes(&self) -> usize {
        self.computed.len() + self.ids.len()
    }
}

/// Short queries are evaluated at once, because waking a worker takes longer than they do.
mod short_queries {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    use std::sync::atomic::{AtomicU8, Ordering};

    use fulgurite_rdf::Error;

    use super::*;

    /// A query that takes longer begins again on a worker.
    const TIME_MAX: Duration = Duration::from_micros(150);

    /// How many of the next queries with this hash are taken for long. Queries may become shorter, when data changes or
    /// is in memory.
    static LONG: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];

    /// What a long query sets.
    const LONG_TIMES: u8 = 50;

    /// All results of a query as one batch; `None` if it is long.
    pub fn evaluate(text: &str, query: &Query, snapshot: &Snapshot) -> Option<Batch> {
        if query.levels() > LEVELS_MAX {
            return None;
        }
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
        let is_long = &LONG[hash as usize % LONG.len()];
        let left = is_long.load(Ordering::Relaxed);
        if left > 0 {
            is_long.store(left - 1, Ordering::Relaxed);
            return None;
        }
        let mut rows = Rows::new(None);
        match super::evaluate(&query.clone().with_timeout(TIME_MAX), snapshot, &mut rows) {
            Ok(true) => Some(Ok(rows.batch)),
            Ok(false) | Err(Failure::Store(Error::TimedOut { .. })) => {
                is_long.store(LONG_TIMES, Ordering::Relaxed);
                None
            }
            Err(failure) => Some(Err(failure)),
        }
    }
}

/// Writes the results of a query, and returns whether these were all.
fn evaluate(query: &Query, snapshot: &Snapshot, rows: &mut Rows<'_>) -> Result<bool> {
    match query.evaluate(snapshot)? {
        QueryResults::Boolean(answer) => {
            rows.begin(std::iter::empty());
            rows.count = answer.into();
        }
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().to_vec();
            rows.begin(variables.iter().map(|variable| variable.as_str()));
            for solution in solutions {
                let solution = solution?;
                if !rows.add(variables.iter().map(|variable| solution.get(variable).map(Into::into))) {
                    return Ok(false);
                }
            }
        }
        QueryResults::Triples(triples) => {
            rows.begin(TRIPLE.into_iter());
            for triple in triples {
                let triple = triple?;
                let terms: [TermRef<'_>; 3] =
                    [triple.subject.as_ref().into(), triple.predicate.as_ref().into(), triple.object.as_ref()];
                if !rows.add(terms.into_iter().map(Some)) {
                    return Ok(false);
                }
            }
        }
    }
    Ok(rows.end())
}

/// Rows on their way to Java.
struct Rows<'s> {
    /// Sends full batches. `None`: there is one batch, which stays here.
    sender: Option<&'s SyncSender<Batch>>,
    batch: Vec<u8>,
    /// Where the number of rows is in the batch.
    count_at: usize,
    count: u32,
    count_max: u32,
}

impl<'s> Rows<'s> {
    fn new(sender: Option<&'s SyncSender<Batch>>) -> Self {
        let count_max = if sender.is_some() { ROWS_FIRST } else { ROWS_MAX };
        Self { sender, batch: vec![0], count_at: 0, count: 0, count_max }
    }

    /// Writes the names of the variables.
    fn begin<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let at = self.batch.len();
        self.batch.extend_from_slice(&[0; 4]);
        let mut count = 0_u32;
        for name in names {
            push_text(&mut self.batch, name);
            count += 1;
        }
        self.batch[at..at + 4].copy_from_slice(&count.to_le_bytes());
        self.count_at = self.batch.len();
        self.batch.extend_from_slice(&[0; 4]);
    }

    /// Adds a row, and sends the batch if it is full. Returns false if there is no place for more rows.
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
        self.batch[0] = if is_last { LAST } else { 0 };
        self.batch[self.count_at..self.count_at + 4].copy_from_slice(&self.count.to_le_bytes());
        let Some(sender) = self.sender else { return is_last };
        let batch = std::mem::replace(&mut self.batch, vec![0; 5]);
        self.count_at = 1;
        self.count = 0;
        sender.send(Ok(batch)).is_ok()
    }

    fn end(&mut self) -> bool {
        self.send(true)
    }
}
