//! Transactions that a call of the engine lends to a function of Python.
//!
//! The engine passes a transaction to a closure, which calls a function of Python. The function gets an object that
//! refers to the transaction, and may keep the object. Invariants:
//!
//! 1. A [`Lent`] refers to a transaction only while [`Lent::during`] runs, which has borrowed the transaction.
//! 2. Only the thread of that call uses the transaction: transactions of event stores hold a lock of their thread.
//! 3. One call uses it at a time: a call within a call, as from a destructor, is an error.
#![allow(unsafe_code)] // The lifetime of what is lent is checked when the program runs.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::{self, ThreadId};

use fulgurite::{KeyRange, Read, Table, WriteTxn};
use fulgurite_events::Transaction;

use crate::error::{Failure, Result};
use crate::merging::running::check_not_merging;
use crate::process::ProcessBound;

/// A transaction that changes tables.
pub enum Changer<'c> {
    /// One of the engine.
    Engine(&'c mut WriteTxn),
    /// One of an event store.
    Events(&'c mut Transaction<'c>),
}

/// What [`Lent`] refers to.
#[derive(Clone, Copy)]
enum Target {
    Engine(NonNull<WriteTxn>),
    Events(NonNull<Transaction<'static>>),
}

// SAFETY: a pointer is used on the thread of `Lent::during` only: `Lent::with` checks the thread.
unsafe impl Send for Target {}

/// A reference to a transaction, which is none when nothing is lent.
pub struct Lent {
    target: ProcessBound<Mutex<Option<Target>>>,
    thread: ThreadId,
    /// How many loans have begun.
    loans: AtomicU64,
}

/// One loan of a [`Lent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan(u64);

impl Lent {
    /// Lends nothing yet. Transactions can be lent on this thread only.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { target: ProcessBound::default(), thread: thread::current().id(), loans: AtomicU64::new(0) })
    }

    /// Lends a transaction of the engine while `run` runs.
    pub fn during<R>(&self, txn: &mut WriteTxn, run: impl FnOnce() -> R) -> R {
        self.lend(Target::Engine(NonNull::from(txn)), run)
    }

    /// Lends a transaction of an event store while `run` runs.
    pub fn during_events<R>(&self, transaction: &mut Transaction<'_>, run: impl FnOnce() -> R) -> R {
        self.lend(Target::Events(NonNull::from(transaction).cast()), run)
    }

    fn lend<R>(&self, target: Target, run: impl FnOnce() -> R) -> R {
        assert_eq!(self.thread, thread::current().id(), "a transaction is lent on its own thread");
        self.loans.fetch_add(1, Ordering::Relaxed);
        self.set(Some(target));
        // Ends the loan also when `run` panics.
        let _end = End(self);
        run()
    }

    fn set(&self, target: Option<Target>) {
        // In a child made by `fork`, nothing is lent.
        if let Ok(lent) = self.target.get() {
            *lent.lock().unwrap_or_else(PoisonError::into_inner) = target;
        }
    }

    /// Calls `run` with the transaction.
    ///
    /// # Errors
    /// If nothing is lent any more, if this is another thread, or if another call uses the transaction; those of `run`.
    pub fn with<R>(&self, run: impl FnOnce(&mut Changer<'_>) -> Result<R>) -> Result<R> {
        check_not_merging()?;
        if self.thread != thread::current().id() {
            let text = "this transaction belongs to the thread that called the function; use it there only";
            return Err(Failure::invalid(text));
        }
        let target = match self.target.get()?.try_lock() {
            Ok(target) => target,
            Err(TryLockError::Poisoned(_)) => return Err(Failure::broken()),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::invalid("another call of this transaction is running; wait until it returns"));
            }
        };
        match *target {
            None => Err(Failure::closed("transaction")),
            Some(Target::Engine(mut txn)) => {
                // SAFETY: `lend` has borrowed it exclusively, and waits on this thread until `run` returns. The locked
                // mutex excludes a second reference.
                run(&mut Changer::Engine(unsafe { txn.as_mut() }))
            }
            Some(Target::Events(transaction)) => {
                // SAFETY: as above. The lifetime is shortened again to that of this call, and `run` keeps no reference.
                run(&mut Changer::Events(unsafe { transaction.cast().as_mut() }))
            }
        }
    }

    /// The loan that goes on, for what was read of it.
    ///
    /// # Errors
    /// As [`Lent::with`].
    pub fn loan(&self) -> Result<Loan> {
        self.with(|_| Ok(Loan(self.loans.load(Ordering::Relaxed))))
    }

    /// Fails if a loan has ended, or on another thread.
    ///
    /// # Errors
    /// As [`Lent::with`].
    pub fn check(&self, loan: Loan) -> Result<()> {
        if self.loan()? == loan { Ok(()) } else { Err(Failure::closed("transaction")) }
    }

    /// Calls `run` with the transaction of an event store.
    ///
    /// # Errors
    /// As [`Lent::with`], and if it is one of the engine.
    pub fn with_events<R>(&self, run: impl FnOnce(&mut Transaction<'_>) -> fulgurite_events::Result<R>) -> Result<R> {
        self.with(|changer| match changer {
            Changer::Events(transaction) => Ok(run(transaction)?),
            Changer::Engine(_) => Err(Failure::invalid("this is the transaction of a view, which cannot append")),
        })
    }
}

/// Ends a loan.
struct End<'l>(&'l Lent);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Deref for Changer<'_> {
    type Target = WriteTxn;

    fn deref(&self) -> &WriteTxn {
        match self {
            Self::Engine(txn) => txn,
            Self::Events(transaction) => transaction,
        }
    }
}

/// Calls a method that both transactions have.
macro_rules! both {
    ($changer:expr, $txn:ident => $body:expr) => {
        match $changer {
            Changer::Engine($txn) => $body,
            Changer::Events($txn) => $body,
        }
    };
}

/// The changes that both have.
impl Changer<'_> {
    /// The engine's transaction, for changes that an event store does not allow beside its own.
    ///
    /// # Errors
    /// If it is one of an event store.
    pub fn engine(&mut self) -> fulgurite::Result<&mut WriteTxn> {
        match self {
            Self::Engine(txn) => Ok(txn),
            Self::Events(_) => {
                let message = "a transaction of an event store cannot create, remove or rename tables; change tables through \
                               the database, before the transaction";
                Err(fulgurite::Error::Invalid { message: message.to_owned() })
            }
        }
    }

    /// As [`WriteTxn::put`].
    pub fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) -> fulgurite::Result<()> {
        both!(self, txn => txn.put(table, key, value))
    }

    /// As [`WriteTxn::put_many`].
    pub fn put_many<'e>(
        &mut self,
        table: &Table,
        entries: impl Iterator<Item = (&'e Vec<u8>, &'e Vec<u8>)>,
    ) -> fulgurite::Result<()> {
        both!(self, txn => txn.put_many(table, entries))
    }

    /// As [`WriteTxn::insert`].
    pub fn insert(&mut self, table: &Table, key: &[u8], value: &[u8]) -> fulgurite::Result<bool> {
        both!(self, txn => txn.insert(table, key, value))
    }

    /// As [`WriteTxn::merge`].
    pub fn merge(&mut self, table: &Table, key: &[u8], operand: &[u8]) -> fulgurite::Result<()> {
        both!(self, txn => txn.merge(table, key, operand))
    }

    /// As [`WriteTxn::delete`].
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> fulgurite::Result<bool> {
        both!(self, txn => txn.delete(table, key))
    }

    /// As [`WriteTxn::remove`].
    pub fn remove(&mut self, table: &Table, key: &[u8]) -> fulgurite::Result<Option<Vec<u8>>> {
        both!(self, txn => txn.remove(table, key))
    }

    /// As [`WriteTxn::delete_range`].
    pub fn delete_range(&mut self, table: &Table, bounds: impl KeyRange) -> fulgurite::Result<u64> {
        both!(self, txn => txn.delete_range(table, bounds))
    }

    /// Removes the first or the last entry, and returns it.
    pub fn pop(&mut self, table: &Table, last: bool) -> fulgurite::Result<Option<(Vec<u8>, Vec<u8>)>> {
        if let Self::Engine(txn) = self {
            return if last { txn.pop_last(table) } else { txn.pop_first(table) };
        }
        let entry = if last { self.last(table)? } else { self.first(table)? };
        let Some((key, value)) = entry.map(|(key, value)| (key.to_vec(), value.to_vec())) else { return Ok(None) };
        self.delete(table, &key)?;
        Ok(Some((key, value)))
    }
}
