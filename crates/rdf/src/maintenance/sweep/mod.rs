//! [`Store::sweep`]: removes terms that no quad uses from the dictionary.
//!
//! One snapshot shows which terms may be unused. They are removed by transactions of some hundreds each. Such a
//! transaction first looks up each term in the indexes that begin with each place of a quad. These are reads, so it
//! conflicts with every transaction that has inserted a quad of such a term since. A transaction that inserts such a
//! quad later has guarded the term (`dictionary::guard`), and conflicts with the sweep. So neither waits for the other,
//! and no quad loses a term.
//!
//! (1) A term is removed from both directions of the dictionary at once, or stays. (2) Ids are not reused. (3) The
//! results of snapshots do not change. (4) If a store lacks the indexes for the look-ups, and for namespaces, which no
//! index has, one exclusive transaction does everything.

mod census;
mod namespaces;
mod options;

use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fulgurite::{Durability, Read, ReadTxn, WriteTxn};

use crate::dictionary;
use crate::dictionary::term_usage::{Probe, is_used};
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::IdPattern;
use crate::quads::reading::Quads;
use crate::quads::shared::Shared;
use crate::store::database::Store;
use crate::tables::Tables;
use census::Census;

pub use options::{SweepOptions, SweepProgress, SweepReport};

impl Store {
    /// Removes unused terms from the dictionary: those that no quad and no graph name uses, and namespaces of IRIs that
    /// no term uses. Later checkpoints free their space. Readers and writers continue meanwhile, and snapshots do not
    /// change.
    ///
    /// If a transaction inserts a quad of such a term at the same time, it either conflicts and is repeated, or the
    /// term remains. The id of a removed term is never reused: inserting a quad with it returns [`Error::Invalid`], and
    /// reading its term returns [`Error::NoSuchTerm`].
    ///
    /// A store whose [indexes](crate::StoreOptions::orders) do not begin with every position is swept in one exclusive
    /// transaction. Unused namespaces are always removed in an exclusive transaction.
    ///
    /// ```
    /// # fn main() -> fulgurite_rdf::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
    /// use fulgurite_rdf::{Store, StoreOptions, SweepOptions};
    ///
    /// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    /// let (page, title) = (NamedNode::new_unchecked("http://a/page"), NamedNode::new_unchecked("http://a/title"));
    /// let text = Literal::from("A text that is longer than a number");
    /// let quad = Quad::new(page, title, text, GraphName::DefaultGraph);
    /// store.update(|txn| txn.insert(&quad))?;
    /// store.update(|txn| txn.remove(&quad))?;
    /// assert_eq!(store.unused_terms()?, 3);
    /// assert_eq!(store.sweep(&SweepOptions::new())?.removed, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::WriterBusy`], see [`SweepOptions::wait`]; errors of the engine. Some terms may be
    /// removed by then, each of them completely.
    pub fn sweep(&self, options: &SweepOptions) -> Result<SweepReport> {
        let begun = Instant::now();
        let snapshot = self.snapshot()?;
        let mut sweep = Sweep {
            shared: &self.shared,
            tables: Arc::clone(snapshot.all_tables()),
            options,
            report: SweepReport { terms: snapshot.read().len(&snapshot.all_tables().terms)?, ..SweepReport::default() },
        };
        match Probe::all(&sweep.tables) {
            Some(_) => {
                let quads = snapshot.count(&IdPattern::ALL)?;
                let census = sweep.census(snapshot.read(), quads)?;
                // What it pins can be freed.
                drop(snapshot);
                sweep.beside_others(&census)?;
            }
            None => {
                drop(snapshot);
                sweep.alone(self)?;
            }
        }
        sweep.namespaces()?;
        // Parts of it were committed without waiting for the disk.
        self.database().sync()?;
        Ok(SweepReport { elapsed: begun.elapsed(), ..sweep.report })
    }

    /// Returns the number of terms in the dictionary that no quad and no graph name uses, which a
    /// [`sweep`](Store::sweep) would remove. It reads every quad once.
    ///
    /// # Errors
    /// [`Error::Damaged`]; errors of the engine.
    pub fn unused_terms(&self) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let census = Census::take(snapshot.read(), snapshot.all_tables(), &self.shared, |_| Ok(()))?;
        let (mut unused, mut low) = (0, Bound::Unbounded);
        while let Some(part) = Part::read(snapshot.read(), snapshot.all_tables(), &self.shared, low, &census)? {
            unused += part.unused.len() as u64;
            low = Bound::Excluded(part.last);
        }
        Ok(unused)
    }
}

/// A sweep on its way.
struct Sweep<'s> {
    shared: &'s Shared,
    tables: Arc<Tables>,
    options: &'s SweepOptions,
    report: SweepReport,
}

impl Sweep<'_> {
    fn tell(&self, stage: &'static str, done: u64, total: u64) {
        if let Some(progress) = &self.options.progress {
            progress(&SweepProgress { stage, done, total, removed: self.report.removed });
        }
    }

    fn census(&self, read: &ReadTxn, quads: u64) -> Result<Census> {
        let mut done = 0;
        Census::take(read, &self.tables, self.shared, |more| {
            done += more;
            self.tell(READING, done, quads);
            Ok(())
        })
    }

    /// Takes unused terms away in many transactions.
    fn beside_others(&mut self, census: &Census) -> Result<()> {
        let (mut low, mut done) = (Bound::Unbounded, 0);
        loop {
            // Of the newest state each time: an old one would keep the space of what is taken away.
            let read = self.shared.database.read()?;
            let Some(part) = Part::read(&read, &self.tables, self.shared, low, census)? else { return Ok(()) };
            drop(read);
            done += part.terms;
            if !part.unused.is_empty() {
                self.remove_beside_others(&part.unused)?;
            }
            self.tell(REMOVING, done, self.report.terms);
            low = Bound::Excluded(part.last);
        }
    }

    /// Takes these away, as far as they are still unused. Begins again while others come in between, and leaves them to
    /// a later sweep if that does not end.
    fn remove_beside_others(&mut self, unused: &[TermId]) -> Result<()> {
        for _ in 0..ATTEMPTS {
            // The tables of inferred quads may be new.
            let (mut txn, tables) =
                self.shared.write(|database| Ok(database.write_with(fulgurite::Isolation::Serializable)?))?;
            let probes = Probe::all(&tables).expect("inferred quads have the orders that others have");
            let mut removed = 0;
            for &id in unused {
                if !is_used(&txn, &tables, &probes, id)? && self.remove(&mut txn, id)? {
                    removed += 1;
                }
            }
            match txn.commit_with(Durability::Memory) {
                Ok(_) => {
                    self.report.removed += removed;
                    self.report.kept += unused.len() as u64 - removed;
                    return Ok(());
                }
                Err(error) if error.is_retryable() => std::thread::yield_now(),
                Err(error) => return Err(error.into()),
            }
        }
        self.report.kept += unused.len() as u64;
        Ok(())
    }

    /// Takes unused terms away in one transaction beside which nobody commits.
    fn alone(&mut self, store: &Store) -> Result<()> {
        let mut txn = self.begin_alone()?;
        let snapshot = store.snapshot()?;
        self.tables = Arc::clone(snapshot.all_tables());
        let census = self.census(snapshot.read(), snapshot.count(&IdPattern::ALL)?)?;
        let (mut low, mut done, mut removed) = (Bound::Unbounded, 0, 0);
        while let Some(part) = Part::read(snapshot.read(), &self.tables, self.shared, low, &census)? {
            for &id in &part.unused {
                removed += u64::from(self.remove(&mut txn, id)?);
            }
            done += part.terms;
            self.tell(REMOVING, done, self.report.terms);
            low = Bound::Excluded(part.last);
        }
        drop(snapshot);
        txn.commit_with(Durability::Memory)?;
        self.report.removed += removed;
        Ok(())
    }

    /// Begins a transaction beside which nobody commits.
    fn begin_alone(&self) -> Result<WriteTxn> {
        let wait = self.options.wait.unwrap_or(WAIT);
        let begun = self.shared.database.begin_exclusive(wait)?;
        begun.ok_or_else(|| Error::WriterBusy { path: self.shared.path().to_path_buf(), waited: wait })
    }

    fn remove(&self, txn: &mut WriteTxn, id: TermId) -> Result<bool> {
        let Shared { iri_namespaces, hasher, .. } = self.shared;
        dictionary::remove(txn, &self.tables, iri_namespaces, self.shared.path(), *hasher, id)
    }
}

/// Some terms of the dictionary that follow each other.
struct Part {
    /// How many there are.
    terms: u64,
    /// Those that a census has not.
    unused: Vec<TermId>,
    /// The key of the last one.
    last: Vec<u8>,
}

impl Part {
    /// The next terms; none at the end.
    fn read(
        read: &ReadTxn,
        tables: &Tables,
        shared: &Shared,
        low: Bound<Vec<u8>>,
        census: &Census,
    ) -> Result<Option<Self>> {
        let mut part = Self { terms: 0, unused: Vec::new(), last: Vec::new() };
        let low = low.as_ref().map(|key| &key[..]);
        for batch in read.leaf_batches(&tables.terms, (low, Bound::Unbounded))? {
            for (key, _) in batch?.iter() {
                let id = TermId::from_key(key).filter(|id| id.tag().is_of_dictionary());
                let id = id.ok_or_else(|| shared.damaged_key(&tables.terms))?;
                part.terms += 1;
                part.last.clear();
                part.last.extend_from_slice(key);
                if !census.has(id) {
                    part.unused.push(id);
                }
                if part.unused.len() == PART_UNUSED {
                    return Ok(Some(part));
                }
            }
            if part.terms >= PART_TERMS {
                break;
            }
        }
        Ok((part.terms > 0).then_some(part))
    }
}

const READING: &str = "reading quads";
const REMOVING: &str = "removing terms";
/// Unused terms that are taken away together: what a transaction reads of them is kept one by one.
const PART_UNUSED: usize = 512;
/// Terms that are looked at together.
const PART_TERMS: u64 = 1 << 16;
/// After so many conflicts some terms are left.
const ATTEMPTS: usize = 16;
/// How long it waits for others by default.
const WAIT: Duration = Duration::from_secs(600);
