//! [`OpenTransaction`]: a transaction between two requests.
//!
//! Two transactions of the store conflict if they add the same new term, which clients of RDF4J do not expect. So a
//! transaction records its changes, and if its commit conflicts, it is repeated on the newest state, unless its
//! isolation level forbids that: at `SERIALIZABLE`, and at `SNAPSHOT` if one of its changes was a SPARQL update, which
//! would read the newer state.

use std::sync::Arc;

use axum::http::StatusCode;
use fulgurite_rdf::sparql::Update;
use fulgurite_rdf::{Error, IsolationLevel, Snapshot, Transaction, TransactionView};

use crate::http::refusal::Refusal;
use crate::protocol::document::CancelCheck;
use crate::protocol::service::ServedStore;
use crate::protocol::sparql_request::{RequestLimits, limits};
use crate::rdf4j::failures;
use crate::rdf4j::upload::SentDocument;

/// A transaction.
pub struct OpenTransaction {
    served: Arc<ServedStore>,
    level: IsolationLevel,
    state: State,
    /// `None` if the transaction cannot be repeated.
    changes: Option<Vec<Change>>,
    /// About the memory of the changes.
    bytes: usize,
}

enum State {
    /// On a server that only reads.
    Reading(Box<Snapshot>),
    Writing(Box<Transaction>),
    /// The commit has failed, or the transaction was ended.
    Ended,
}

/// A change that can be repeated.
pub enum Change {
    Insert(SentDocument),
    Remove(SentDocument),
    Update {
        update: Box<Update>,
        /// The length of its text.
        bytes: usize,
    },
}

/// What a transaction reads.
pub enum Reads {
    Snapshot(Snapshot),
    Transaction(TransactionView),
}

impl Change {
    fn bytes(&self) -> usize {
        match self {
            Self::Insert(document) | Self::Remove(document) => document.bytes.len(),
            Self::Update { bytes, .. } => *bytes,
        }
    }

    fn apply(
        &mut self,
        transaction: &mut Transaction,
        watch: &CancelCheck,
        served: &ServedStore,
    ) -> Result<(), Refusal> {
        match self {
            Self::Insert(document) => document.insert(transaction, watch).map_err(failures::of_document),
            Self::Remove(document) => document.remove(transaction, watch).map_err(failures::of_document),
            Self::Update { update, .. } => {
                // When it is repeated, it has the limits of the request that commits.
                let bounds = RequestLimits { timeout: watch.timeout };
                let update = (**update).clone().with_limits(limits(served, bounds, watch.token.clone()));
                update.execute_in(transaction).map(drop).map_err(failures::of_query)
            }
        }
    }
}

impl OpenTransaction {
    /// Begins a transaction. It can be repeated as long as its changes are not larger than a body may be.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin(served: Arc<ServedStore>, level: IsolationLevel) -> Result<Self, Error> {
        let state = match served.options.writable {
            true => State::Writing(Box::new(served.store.begin_with(level)?)),
            false => State::Reading(Box::new(served.store.snapshot()?)),
        };
        Ok(Self { served, level, state, changes: Some(Vec::new()), bytes: 0 })
    }

    /// What the transaction reads.
    ///
    /// # Errors
    /// 409 after a commit.
    pub fn reads(&self) -> Result<Reads, Refusal> {
        match &self.state {
            State::Reading(snapshot) => Ok(Reads::Snapshot((**snapshot).clone())),
            State::Writing(transaction) => Ok(Reads::Transaction(transaction.view())),
            State::Ended => Err(ended()),
        }
    }

    /// Makes a change. After an error the transaction is as it was before.
    ///
    /// # Errors
    /// 403 if the server only reads; 409 after a commit; errors of the change.
    pub fn change(&mut self, mut change: Change, watch: &CancelCheck) -> Result<(), Refusal> {
        let transaction = match &mut self.state {
            State::Writing(transaction) => transaction,
            State::Reading(_) => return Err(Refusal::read_only()),
            State::Ended => return Err(ended()),
        };
        let before = transaction.savepoint();
        if let Err(refusal) = change.apply(transaction, watch, &self.served) {
            // If this fails, the transaction is broken and reports it at its next use. The first error is the cause.
            let _ = transaction.rollback_to(before);
            return Err(refusal);
        }
        self.bytes = self.bytes.saturating_add(change.bytes());
        let may_repeat = match self.level {
            IsolationLevel::Serializable => false,
            IsolationLevel::Snapshot => !matches!(change, Change::Update { .. }),
            _ => true,
        };
        match &mut self.changes {
            Some(changes) if may_repeat && self.bytes <= self.served.options.body_bytes_max => changes.push(change),
            changes => *changes = None,
        }
        Ok(())
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// 409 for a conflict, or after a commit; errors of the store. The transaction has ended then, without effect.
    pub fn commit(&mut self, watch: &CancelCheck) -> Result<(), Refusal> {
        let transaction = match std::mem::replace(&mut self.state, State::Ended) {
            State::Writing(transaction) => *transaction,
            State::Reading(_) => return Ok(()),
            State::Ended => return Err(ended()),
        };
        let mut outcome = transaction.commit();
        for _ in 0..ATTEMPTS {
            let is_conflict = outcome.as_ref().is_err_and(Error::is_retryable);
            let Some(changes) = self.changes.as_mut().filter(|_| is_conflict) else { break };
            let mut transaction = self.served.store.begin_with(self.level)?;
            changes.iter_mut().try_for_each(|change| change.apply(&mut transaction, watch, &self.served))?;
            watch.check()?;
            outcome = transaction.commit();
        }
        match outcome {
            Ok(_) => Ok(()),
            Err(error) if error.is_retryable() => {
                let message = "another transaction has changed what this one has read or changed; nothing was \
                               committed; roll it back, and repeat it from its beginning";
                Err(Refusal::of(StatusCode::CONFLICT, message))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn ended() -> Refusal {
    let message = "the transaction has ended, because its commit failed; roll it back";
    Refusal::of(StatusCode::CONFLICT, message)
}

/// A transaction is repeated at most this often.
const ATTEMPTS: usize = 100;
