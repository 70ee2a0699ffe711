//! What a load is written through: an atomic load into the trees of all tables, or a transaction beside which nobody
//! commits.
//!
//! Either is all or nothing, is durable when it is committed, and keeps other writers out from its beginning on. Trees
//! are several times faster for many entries. But they rewrite a whole page for a single entry, where a transaction
//! writes little more than the entry. So a few entries for a large store are written by a transaction: see
//! [`LoadMethod::of`](crate::load::options::LoadMethod::of).

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fulgurite::{BulkLoad, Durability, Table, WriteTxn};

use super::progress::LoadMonitor;
use crate::error::{Error, Result};
use crate::load::options::LoadMethod;
use crate::quads::changes;
use crate::quads::shared::Shared;
use crate::tables::{Index, Inferred};

/// Takes the entries of one table after the other.
pub enum Sink<'l> {
    Trees {
        load: BulkLoad<'l>,
        panic: PanicOfEntries,
    },
    Transaction {
        txn: Box<WriteTxn>,
        inserted: Vec<u64>,
        /// Where something is inferred: its tables.
        inferred: Option<Arc<Inferred>>,
    },
}

/// What the entries of a tree panicked with: it must not go through the engine, whose locks would not be locked again.
type PanicOfEntries = Rc<RefCell<Option<Box<dyn Any + Send>>>>;

impl<'l> Sink<'l> {
    /// Waits until no other load and no exclusive writer is at work, and keeps others from committing from then on.
    ///
    /// # Errors
    /// [`Error::WriterBusy`] if that took longer than `wait`; [`Error::Cancelled`]; what the engine reports.
    pub fn begin(method: LoadMethod, shared: &Shared, watch: &LoadMonitor, wait: Duration) -> Result<Self> {
        let (begun, database) = (Instant::now(), &shared.database);
        loop {
            watch.look()?;
            let left = wait.saturating_sub(begun.elapsed());
            let slice = left.min(WAIT_SLICE);
            let sink = match method {
                LoadMethod::Trees => {
                    database.begin_bulk_load(slice)?.map(|load| Self::Trees { load, panic: Rc::default() })
                }
                LoadMethod::Transaction => {
                    let begun = database.begin_exclusive(slice)?;
                    let sink = |txn| {
                        let inferred = shared.inferred_now()?;
                        Ok::<_, Error>(Self::Transaction { txn: Box::new(txn), inserted: Vec::new(), inferred })
                    };
                    begun.map(sink).transpose()?
                }
            };
            match sink {
                Some(sink) => return Ok(sink),
                None if slice == left => {
                    return Err(Error::WriterBusy { path: shared.path().to_path_buf(), waited: wait });
                }
                None => {}
            }
        }
    }

    /// Adds entries, whose keys must rise, to a table that was not given before. Trees take them when all is committed,
    /// table after table; a transaction takes them now.
    ///
    /// # Errors
    /// Those of the entries; what the engine reports.
    pub fn put<K, V>(&mut self, table: &Table, entries: impl Iterator<Item = Result<(K, V)>> + 'l) -> Result<()>
    where
        K: AsRef<[u8]> + 'l,
        V: AsRef<[u8]> + 'l,
    {
        match self {
            Self::Trees { load, panic } => Ok(load.sorted(table, Caught { entries, panic: Rc::clone(panic) })?),
            Self::Transaction { txn, inserted, .. } => {
                let mut new = 0;
                for entry in entries {
                    let (key, value) = entry?;
                    if txn.insert(table, key.as_ref(), value.as_ref())? {
                        new += 1;
                    } else if !value.as_ref().is_empty() {
                        txn.put(table, key.as_ref(), value.as_ref())?;
                    }
                }
                inserted.push(new);
                Ok(())
            }
        }
    }

    /// As [`Sink::put`], of the keys of quads to the first index of their graphs. Those that were inferred, and are
    /// explicit now, are noted as both. Where trees are filled nothing is inferred.
    ///
    /// # Errors
    /// [`Error::Damaged`], and as [`Sink::put`].
    pub fn put_quads<K>(
        &mut self,
        shared: &Shared,
        index: &Index,
        entries: impl Iterator<Item = Result<(K, [u8; 0])>> + 'l,
    ) -> Result<()>
    where
        K: AsRef<[u8]> + 'l,
    {
        let Self::Transaction { txn, inserted, inferred: Some(inferred) } = self else {
            return self.put(&index.table, entries);
        };
        let mut new = 0;
        for entry in entries {
            let (key, _) = entry?;
            if txn.insert(&index.table, key.as_ref(), &[])? {
                let quad = index.order.quad_of(key.as_ref());
                let quad = quad.ok_or_else(|| shared.damaged_key(&index.table))?;
                changes::note_explicit(txn, inferred, shared.path(), &quad)?;
                new += 1;
            }
        }
        inserted.push(new);
        Ok(())
    }

    /// Makes all of it visible and durable. Returns for each table, in the order in which they were given, how many
    /// keys it had not before.
    ///
    /// # Errors
    /// Those of the entries; what the engine reports. Nothing is loaded then.
    ///
    /// # Panics
    /// If the entries do.
    pub fn commit(self) -> Result<Vec<u64>> {
        let (load, panic) = match self {
            Self::Trees { load, panic } => (load, panic),
            Self::Transaction { txn, inserted, .. } => {
                txn.commit_with(Durability::Disk)?;
                return Ok(inserted);
            }
        };
        let outcome = load.commit();
        if let Some(panic) = panic.borrow_mut().take() {
            resume_unwind(panic);
        }
        match outcome {
            Ok(loaded) => Ok(loaded.iter().map(|table| table.inserted).collect()),
            Err(fulgurite::Error::Input { source }) => Err(match source.downcast::<Error>() {
                Ok(error) => *error,
                Err(source) => fulgurite::Error::Input { source }.into(),
            }),
            Err(error) => Err(error.into()),
        }
    }
}

/// Entries that end with an error where they panic.
struct Caught<I> {
    entries: I,
    panic: PanicOfEntries,
}

impl<T, I: Iterator<Item = Result<T>>> Iterator for Caught<I> {
    type Item = Result<T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match catch_unwind(AssertUnwindSafe(|| self.entries.next())) {
            Ok(next) => next,
            Err(panic) => {
                *self.panic.borrow_mut() = Some(panic);
                Some(Err(Error::Cancelled))
            }
        }
    }
}

/// Between such waits it is asked whether to go on.
const WAIT_SLICE: Duration = Duration::from_millis(100);
