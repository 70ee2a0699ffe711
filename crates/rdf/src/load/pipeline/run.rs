//! Runs a load: parses the inputs, merges their terms, sorts their quads, fills the tables, and commits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::dictionary::NAMESPACES_MAX;
use crate::error::{Error, Result};
use crate::load::formats::input;
use crate::load::formats::input::BytesRead;
use crate::load::options::{LoadInput, LoadMethod, LoadOptions, LoadReport};
use crate::load::pipeline::batch::Batch;
use crate::load::pipeline::build::{Builder, Built};
use crate::load::pipeline::feeder::Feeder;
use crate::load::pipeline::parse::{BadStatements, Parsing};
use crate::load::pipeline::prefixes::SharedPrefixes;
use crate::load::pipeline::progress::{LoadMonitor, Stage};
use crate::load::pipeline::scratch::Scratch;
use crate::load::pipeline::sink::Sink;
use crate::load::pipeline::stash::Stashed;
use crate::quads::reading::Quads;
use crate::quads::shared::Shared;
use crate::store::database::Store;

impl Store {
    /// Loads files and other inputs, all of them or nothing, in bounded memory: several times faster than transactions,
    /// into an empty store or one that has something.
    ///
    /// Other transactions read and write while it parses. While it builds and commits, they read the state before the
    /// load. Beginning or committing a transaction waits then, and conflicts if the load has changed what it read or
    /// wrote.
    ///
    /// Blank nodes are new, those of one input apart from those of another. Prefixes that the inputs declare become
    /// namespaces of the store, where it has none of that prefix: of Turtle and TriG all, of RDF/XML those around the
    /// first statement, of JSON-LD those of the context. Inputs without a statement change nothing.
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
    /// [`Error::Syntax`], [`Error::Input`], [`Error::Scratch`], [`Error::Cancelled`], [`Error::Thread`];
    /// [`Error::WriterBusy`], see [`LoadOptions::wait`]; [`Error::Invalid`] for an input of unknown format; errors of
    /// the engine. Nothing is loaded, unless the error is [`Indeterminate`](fulgurite::Error::Indeterminate). If
    /// several threads fail, the first error is returned.
    ///
    /// # Panics
    /// If a function of the options panics. Nothing is loaded, and the store can still be used.
    pub fn load(&self, inputs: Vec<LoadInput>, options: &LoadOptions) -> Result<LoadReport> {
        let shared = &self.shared;
        // A read-only database is refused before anything is read.
        drop(shared.database.try_write()?);
        let bytes_read = Arc::new(BytesRead::default());
        let inputs = input::describe(inputs, &bytes_read)?;
        let watch = LoadMonitor::new(options, Arc::clone(&bytes_read));
        let (feeder, bad) = (Feeder::new(inputs, bytes_read), BadStatements::default());
        let prefixes = SharedPrefixes::default();
        let memory_bytes = options.memory_bytes.unwrap_or(MEMORY_BYTES).max(MEMORY_BYTES_MIN);
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(processors).clamp(1, THREADS_MAX);
        let load = Load {
            shared,
            watch: &watch,
            parsing: Parsing {
                feeder: &feeder,
                watch: &watch,
                hasher: shared.hasher,
                lenient: options.lenient,
                document_loader: options.document_loader.as_ref(),
                batch_bytes: (memory_bytes / (4 * threads)).min(BATCH_BYTES_MAX),
                bad: &bad,
                prefixes: &prefixes,
            },
            options,
            threads,
            memory_bytes,
        };
        let built = load.run(self)?;
        let without_base = bad.without_base();
        let (skipped, skipped_first) = bad.take();
        let (read, elapsed) = (watch.quads(), watch.elapsed());
        Ok(LoadReport {
            read,
            inserted: built.quads,
            new_terms: built.terms,
            skipped,
            skipped_first,
            without_base,
            elapsed,
        })
    }
}

struct Load<'l> {
    shared: &'l Shared,
    watch: &'l LoadMonitor,
    parsing: Parsing<'l>,
    options: &'l LoadOptions,
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
    fn run(&self, store: &Store) -> Result<Built> {
        let scratch = Scratch::new(self.shared.path(), self.memory_bytes / 4);
        #[cfg(test)]
        let scratch = scratch.damaging(self.options.scratch_damage);
        let Kept { batches, namespaces } = self.parse(&scratch)?;
        if batches.is_empty() {
            return Ok(Built::default());
        }
        let namespaces = worth_a_number(&namespaces);
        let prefixes = &self.parsing.prefixes.noted();
        let tables = self.shared.tables();
        let (shared, watch, memory_bytes) = (self.shared, self.watch, self.memory_bytes);
        let (batches, scratch, namespaces) = (&batches[..], &scratch, &namespaces[..]);
        let builder = Builder { shared, tables: &tables, scratch, watch, batches, namespaces, prefixes, memory_bytes };
        let prepared = builder.prepare()?;
        let quads = batches.iter().map(|batch| batch.quads_count).sum();
        let method = LoadMethod::of(quads, store.snapshot()?.count(&crate::IdPattern::ALL)?);
        #[cfg(test)]
        let method = self.options.method.unwrap_or(method);
        watch.stage(Stage::Waiting)?;
        builder.build(prepared, self.begin(method)?)
    }

    /// Keeps other transactions from committing. Loaded trees cannot delete: if inferred quads may become explicit, a
    /// transaction is needed.
    fn begin(&self, method: LoadMethod) -> Result<Sink<'_>> {
        let begin = |method| Sink::begin(method, self.shared, self.watch, self.options.wait.unwrap_or(WAIT));
        if method == LoadMethod::Transaction {
            return begin(method);
        }
        let sink = begin(method)?;
        match self.shared.inferred_now()? {
            Some(_) => {
                drop(sink);
                begin(LoadMethod::Transaction)
            }
            None => Ok(sink),
        }
    }

    /// Parses everything on several threads, and keeps it.
    fn parse(&self, scratch: &Scratch) -> Result<Kept> {
        self.watch.stage(Stage::Parsing)?;
        let kept = Mutex::new(Kept::default());
        let keep = |batch: Batch| {
            let namespaces = batch.namespaces.clone();
            let stashed = Stashed::keep(batch, scratch)?;
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.count(namespaces, NAMESPACES_COUNTED_MAX);
            kept.batches.push(stashed);
            Ok(())
        };
        std::thread::scope(|scope| {
            let work = || {
                let _alarm = Alarm(self.watch);
                self.parsing.run(keep).map_err(|error| self.watch.fail(error))
            };
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work);
            let (threads, failed): (Vec<_>, Vec<_>) = (0..self.threads).map(spawn).partition(|thread| thread.is_ok());
            // Fewer than were asked for will do.
            if let (true, Some(Err(source))) = (threads.is_empty(), failed.into_iter().next()) {
                return Err(Error::Thread { source });
            }
            let outcomes: Vec<_> = threads
                .into_iter()
                .flatten()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect();
            if outcomes.iter().all(|outcome| outcome.is_ok()) { Ok(()) } else { Err(self.watch.cause()) }
        })?;
        Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Ends the work of the other threads if its own panics.
struct Alarm<'l>(&'l LoadMonitor);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Cancelled);
        }
    }
}

/// The namespaces that have several terms, those with the most first.
fn worth_a_number(counts: &HashMap<Box<str>, u32>) -> Vec<&str> {
    let several = counts.iter().filter(|(_, count)| **count >= NAMESPACE_TERMS_MIN);
    let mut worth: Vec<(u32, &str)> = several.map(|(namespace, &count)| (count, &**namespace)).collect();
    worth.sort_unstable_by(|left, right| right.cmp(left));
    worth.truncate(NAMESPACES_MAX);
    worth.into_iter().map(|(_, namespace)| namespace).collect()
}

const MEMORY_BYTES: usize = 512 << 20;
const MEMORY_BYTES_MIN: usize = 1 << 16;
/// Terms of a batch have numbers of 32 bits.
const BATCH_BYTES_MAX: usize = 1 << 30;
const THREADS_MAX: usize = 256;
/// How long a load waits for others by default: when it does, most of its work is done.
const WAIT: Duration = Duration::from_secs(600);
/// Fewer are not worth a number for their namespace.
const NAMESPACE_TERMS_MIN: u32 = 4;
/// Beyond this, namespaces with few terms are forgotten.
const NAMESPACES_COUNTED_MAX: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_namespaces_those_with_the_most_terms_are_kept() {
        let mut kept = Kept::default();
        let counts =
            |counts: &[u32]| counts.iter().enumerate().map(|(name, &count)| (name.to_string().into(), count)).collect();
        kept.count(counts(&[1, 1, 2, 9, 2, 3, 7]), 8);
        assert_eq!(kept.namespaces.len(), 7);
        let others = (0..100).map(|name: u32| (format!("other {name}").into(), 1 + name % 2)).collect();
        kept.count(others, 8);
        let mut left: Vec<u32> = kept.namespaces.values().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [2, 3, 7, 9]);
        kept.count(counts(&[1, 1, 1, 1, 1, 1, 1]), 8);
        assert_eq!(kept.namespaces.get("3"), Some(&10));
    }
}
