//! The bulk loader.
//!
//! Inputs are parsed by several threads into batches (`feeder`, `parse`, `batch`). A store that is empty is filled tree by tree, which is
//! several times faster than transactions: batches are kept until all are there (`stash`, in `scratch`), their terms are merged and
//! numbered (`merge`), quads are sorted (`sort`), tables are built (`build`). To a store that is not empty all is added in one
//! transaction (`apply`).
//!
//! (1) Nothing is written before all inputs were parsed without an error, or their errors were passed over. (2) While tables are built, a
//! mark stands in `meta`, and who opens the store with the mark undoes what is half done (`mark`). (3) In the process of the load, `gate`
//! keeps writers out, and shows readers what was before.

mod apply;
mod batch;
mod build;
mod depth;
mod document;
mod feeder;
mod gate;
mod input;
mod lines;
mod mark;
mod merge;
mod nesting;
mod options;
mod parse;
mod progress;
mod scratch;
mod sort;
mod stash;
#[cfg(test)]
mod tests;
mod zstd;

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use fulgurite::Isolation;

use crate::dictionary::NAMESPACES_MAX;
use crate::error::{Error, Result};
use crate::shared::Shared;
use crate::store::Store;
use apply::Applier;
use batch::Batch;
use build::{Builder, Built};
use feeder::Feeder;
use gate::{Before, Running};
use input::BytesRead;
use parse::{BadStatements, Parsing};
use progress::Watch;
use scratch::Scratch;
use stash::Stashed;

pub use document::parse_document;
pub use gate::Gate;
pub use mark::undo_cut_off;
pub use options::{BadStatement, LoadInput, LoadOptions, LoadProgress, LoadReport};

impl Store {
    /// Loads files and other inputs, all of them or nothing: into an empty store several times faster than transactions, in bounded memory.
    /// Others read what was before until it ends, and their writes are refused.
    ///
    /// Blank nodes are new, those of one input apart from those of another.
    ///
    /// ```
    /// # fn main() -> fulgurite_rdf::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite_rdf::{LoadInput, LoadOptions, RdfFormat, Store, StoreOptions};
    ///
    /// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    /// let text = "<http://a/s> <http://a/p> 'o', 'o', 1 .".as_bytes();
    /// let report = store.load(vec![LoadInput::reader("text", text, RdfFormat::Turtle)], &LoadOptions::new())?;
    /// assert_eq!((report.read, report.inserted), (3, 2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Syntax`], [`Error::Input`], [`Error::Scratch`], [`Error::Cancelled`], [`Error::LoadRunning`]; [`Error::Invalid`] for an
    /// input of which the format is not known; what the engine reports. Nothing is loaded then.
    pub fn load(&self, inputs: Vec<LoadInput>, options: &LoadOptions) -> Result<LoadReport> {
        let shared = &self.shared;
        let mut running = shared
            .gate
            .begin(shared.path(), || Ok(Before { read: Arc::new(shared.database.read()?), tables: shared.tables() }))?;
        let bytes_read = Arc::new(BytesRead::default());
        let inputs = input::describe(inputs, &bytes_read)?;
        let watch = Watch::new(options, Arc::clone(&bytes_read));
        let (feeder, bad) = (Feeder::new(inputs, bytes_read), BadStatements::default());
        let memory_bytes = options.memory_bytes.unwrap_or(MEMORY_BYTES).max(MEMORY_BYTES_MIN);
        let threads =
            options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
        let load = Load {
            shared,
            watch: &watch,
            parsing: Parsing {
                feeder: &feeder,
                watch: &watch,
                hasher: shared.hasher,
                lenient: options.lenient,
                document_loader: options.document_loader.as_ref(),
                batch_bytes: memory_bytes / (4 * threads),
                bad: &bad,
            },
            threads,
            memory_bytes,
        };
        let is_empty = running.before.tables.are_empty(&*running.before.read)?;
        let built = if is_empty { load.fill(&mut running)? } else { load.add(&running)? };
        let (skipped, skipped_first) = bad.take();
        let (read, elapsed) = (watch.quads(), watch.elapsed());
        Ok(LoadReport { read, inserted: built.quads, new_terms: built.terms, skipped, skipped_first, elapsed })
    }
}

struct Load<'l> {
    shared: &'l Shared,
    watch: &'l Watch,
    parsing: Parsing<'l>,
    threads: usize,
    memory_bytes: usize,
}

/// Batches that were kept, and how many terms each namespace has.
#[derive(Default)]
struct Kept {
    batches: Vec<Stashed>,
    namespaces: HashMap<Box<str>, u32>,
}

impl Kept {
    /// Counts terms of namespaces. Of more than `namespaces_max` the half with the most terms is kept.
    fn count(&mut self, namespaces: HashMap<Box<str>, u32>, namespaces_max: usize) {
        for (namespace, count) in namespaces {
            *self.namespaces.entry(namespace).or_default() += count;
        }
        if self.namespaces.len() <= namespaces_max {
            return;
        }
        self.namespaces.retain(|_, count| *count > 1);
        let left_max = namespaces_max / 2;
        if self.namespaces.len() <= left_max {
            return;
        }
        let mut counts: Vec<u32> = self.namespaces.values().copied().collect();
        let (more, &mut least, _) = counts.select_nth_unstable_by(left_max, |left, right| right.cmp(left));
        let mut room = more.iter().filter(|&&count| count == least).count();
        self.namespaces.retain(|_, count| {
            let has_room = *count == least && room > 0;
            room -= usize::from(has_room);
            *count > least || has_room
        });
    }
}

impl Load<'_> {
    /// Parses everything on several threads. What a thread has in hand goes to what `hand_on` gives it.
    fn parse<F: FnMut(Batch) -> Result<()> + Send>(&self, mut hand_on: impl FnMut() -> F) -> Result<()> {
        self.watch.stage("parsing")?;
        std::thread::scope(|scope| {
            let spawn = |hand_on: F| {
                scope.spawn(move || {
                    let outcome = self.parsing.run(hand_on);
                    if outcome.is_err() {
                        self.watch.fail();
                    }
                    outcome
                })
            };
            let threads: Vec<_> = (0..self.threads).map(|_| spawn(hand_on())).collect();
            let outcomes: Vec<Result<()>> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect();
            first_error(outcomes)
        })
    }

    /// Into an empty store.
    fn fill(&self, running: &mut Running<'_>) -> Result<Built> {
        let scratch = Scratch::new(self.shared.path(), self.memory_bytes / 4);
        let kept = Mutex::new(Kept::default());
        self.parse(|| {
            |batch: Batch| {
                let namespaces = batch.namespaces.clone();
                let stashed = Stashed::keep(batch, &scratch)?;
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.count(namespaces, NAMESPACES_COUNTED_MAX);
                kept.batches.push(stashed);
                Ok(())
            }
        })?;
        let Kept { batches, namespaces } = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tables = Arc::clone(&running.before.tables);
        self.add_namespaces(&tables, namespaces)?;
        mark::set(&self.shared.database, &tables)?;
        running.unsettle();
        let (shared, watch, memory_bytes) = (self.shared, self.watch, self.memory_bytes);
        let builder = Builder { shared, tables: &tables, scratch: &scratch, watch, batches: &batches, memory_bytes };
        match self.build(&builder) {
            Ok(built) => {
                running.settle();
                Ok(built)
            }
            Err(error) => {
                // If this fails too, readers and writers stay with what was before until the store is opened again.
                if let Ok(emptied) = mark::undo(&self.shared.database, &tables) {
                    self.shared.set_tables(emptied);
                    running.settle();
                }
                Err(error)
            }
        }
    }

    fn build(&self, builder: &Builder<'_>) -> Result<Built> {
        let (built, numberings) = builder.build()?;
        self.watch.stage("finishing")?;
        let mut txn = self.shared.database.write_with(Isolation::Snapshot)?;
        builder.add_scoped(&mut txn, &numberings)?;
        mark::remove(&mut txn, builder.tables)?;
        txn.commit_with(fulgurite::Durability::Disk)?;
        // So that the next to open it has nothing to recover. If it fails, nothing is lost.
        let _ = self.shared.database.checkpoint();
        Ok(built)
    }

    /// Gives numbers to the namespaces that have several terms, those with the most first.
    fn add_namespaces(&self, tables: &crate::tables::Tables, counts: HashMap<Box<str>, u32>) -> Result<()> {
        let mut worth: Vec<(u32, Box<str>)> = counts
            .into_iter()
            .filter(|(_, count)| *count >= NAMESPACE_TERMS_MIN)
            .map(|(namespace, count)| (count, namespace))
            .collect();
        worth.sort_unstable_by(|left, right| right.cmp(left));
        worth.truncate(NAMESPACES_MAX);
        let names: Vec<&str> = worth.iter().map(|(_, namespace)| &**namespace).collect();
        if names.is_empty() { Ok(()) } else { self.shared.iri_namespaces.add(&self.shared.database, tables, &names) }
    }

    /// Into a store that has something.
    fn add(&self, running: &Running<'_>) -> Result<Built> {
        let txn = self.shared.database.write_with(Isolation::Snapshot)?;
        let mut applier = Applier::new(self.shared, &running.before.tables, txn)?;
        let (sender, batches) = sync_channel::<Batch>(1);
        let outcomes = std::thread::scope(|scope| {
            let parsing = scope.spawn(move || {
                self.parse(|| {
                    let sender: SyncSender<Batch> = sender.clone();
                    move |batch| sender.send(batch).map_err(|_| Error::Cancelled)
                })
            });
            let added = batches.iter().try_for_each(|batch| {
                let outcome = applier.add(&batch);
                outcome.inspect_err(|_| self.watch.fail())
            });
            drop(batches);
            let parsed = parsing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            [parsed, added]
        });
        first_error(outcomes.into())?;
        self.watch.stage("committing")?;
        let built = Built { quads: applier.quads, terms: applier.terms };
        applier.commit()?;
        Ok(built)
    }
}

/// The error that made the others end, if there was one.
fn first_error(outcomes: Vec<Result<()>>) -> Result<()> {
    let (cancelled, others): (Vec<_>, Vec<_>) =
        outcomes.into_iter().filter_map(Result::err).partition(|error| matches!(error, Error::Cancelled));
    match others.into_iter().chain(cancelled).next() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

const MEMORY_BYTES: usize = 512 << 20;
const MEMORY_BYTES_MIN: usize = 1 << 16;
/// Fewer are not worth a number for their namespace.
const NAMESPACE_TERMS_MIN: u32 = 4;
/// Beyond this, namespaces with few terms are forgotten.
const NAMESPACES_COUNTED_MAX: usize = 1 << 17;
