//! [`OpenTransaction`]: a transaction between two requests.
//!
//! Two transactions of the store conflict if they add the same new term, which clients of RDF4J do not expect. So a
//! transaction records its changes, and is repeated if its commit conflicts: see [`RecordedTransaction`]. An update is
//! recorded as the statements that it has added and removed.

use std::sync::Arc;

use axum::http::StatusCode;
use fulgurite_rdf::sparql::{Update, UpdateChanges};
use fulgurite_rdf::{
    Error, IsolationLevel, RecordedTransaction, Snapshot, StatementKinds, Transaction, TransactionView,
};

use crate::http::refusal::Refusal;
use crate::protocol::document::CancelCheck;
use crate::protocol::service::ServedStore;
use crate::protocol::sparql_request::{RequestLimits, limits};
use crate::rdf4j::failures;
use crate::rdf4j::pattern::StatementPattern;
use crate::rdf4j::upload::SentDocument;

/// A transaction.
pub struct OpenTransaction {
    served: Arc<ServedStore>,
    state: State,
}

enum State {
    /// On a server that only reads.
    Reading(Box<Snapshot>),
    Writing(Box<RecordedTransaction<Change>>),
    /// The commit has failed, or the transaction was ended.
    Ended,
}

/// A change that can be made again.
pub enum Change {
    Insert(SentDocument),
    Remove(SentDocument),
    Update(UpdateChanges),
}

/// What a transaction reads.
pub enum Reads {
    Snapshot(Snapshot),
    Transaction(TransactionView),
}

impl Change {
    /// Its bytes. Requires: it was made.
    fn bytes(&self) -> usize {
        match self {
            Self::Insert(document) | Self::Remove(document) => document.unpacked_bytes(),
            Self::Update(changes) => changes.bytes(),
        }
    }

    fn make(&mut self, transaction: &mut Transaction, watch: &CancelCheck) -> Result<(), Error> {
        match self {
            Self::Insert(document) => document.insert(transaction, watch),
            Self::Remove(document) => document.remove(transaction, watch),
            Self::Update(changes) => changes.make(transaction, || watch.check()),
        }
    }
}

impl OpenTransaction {
    /// Begins a transaction. It can be repeated as long as its changes are not larger than a body may be.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin(served: Arc<ServedStore>, level: IsolationLevel) -> Result<Self, Error> {
        let bytes_max = served.options.body_bytes_max;
        let state = match served.options.writable {
            true => State::Writing(Box::new(RecordedTransaction::begin(served.store.clone(), level, bytes_max)?)),
            false => State::Reading(Box::new(served.store.snapshot()?)),
        };
        Ok(Self { served, state })
    }

    /// What the transaction reads.
    ///
    /// # Errors
    /// 409 after a commit.
    pub fn reads(&self) -> Result<Reads, Refusal> {
        match &self.state {
            State::Reading(snapshot) => Ok(Reads::Snapshot((**snapshot).clone())),
            State::Writing(transaction) => Ok(Reads::Transaction(transaction.view().ok_or_else(ended)?)),
            State::Ended => Err(ended()),
        }
    }

    /// Before a read: repeats the changes on the newest state, if the isolation level allows that reads change. What
    /// [`reads`](Self::reads) has returned before cannot be read then.
    ///
    /// # Errors
    /// As [`CancelCheck::check`]; errors of the store. The transaction is as it was before.
    pub fn refresh(&mut self, watch: &CancelCheck) -> Result<(), Refusal> {
        if let State::Writing(transaction) = &mut self.state {
            transaction.refresh(|change, transaction| change.make(transaction, watch))?;
        }
        Ok(())
    }

    /// Notes that the client reads the statements of a pattern.
    pub fn observe(&mut self, pattern: &StatementPattern, kinds: StatementKinds) {
        if let State::Writing(transaction) = &mut self.state {
            pattern.term_patterns().into_iter().for_each(|pattern| transaction.observe_terms(pattern, kinds));
        }
    }

    /// Notes that the client reads the result of a query.
    pub fn observe_query(&mut self) {
        if let State::Writing(transaction) = &mut self.state {
            transaction.observe_other_reads();
        }
    }

    /// Inserts or removes the statements of a document. After an error the transaction is as it was before.
    ///
    /// # Errors
    /// 403 if the server only reads; 409 after a commit; errors of the change.
    pub fn change(&mut self, mut change: Change, watch: &CancelCheck) -> Result<(), Refusal> {
        self.writing()?.change(|transaction| {
            let before = transaction.savepoint();
            if let Err(error) = change.make(transaction, watch) {
                // If this fails, the transaction is broken and reports it at its next use. The first error is the
                // cause.
                let _ = transaction.rollback_to(before);
                return Err(failures::of_document(error));
            }
            let bytes = change.bytes();
            Ok(((), Some((change, bytes))))
        })
    }

    /// Executes an update. After an error the transaction is as it was before.
    ///
    /// # Errors
    /// As [`OpenTransaction::change`].
    pub fn update(&mut self, update: Update, watch: &CancelCheck) -> Result<(), Refusal> {
        let bounds = RequestLimits { timeout: watch.timeout };
        let update = update.with_limits(limits(&self.served, bounds, watch.token.clone()));
        let bytes_max = self.served.options.body_bytes_max;
        let transaction = self.writing()?;
        if !update.is_data_only() {
            transaction.observe_other_reads();
        }
        transaction.change(|transaction| {
            let (_, changes) = update.execute_recorded(transaction, bytes_max).map_err(failures::of_query)?;
            let kept = changes.map(|changes| {
                let bytes = changes.bytes();
                (Change::Update(changes), bytes)
            });
            Ok(((), kept))
        })
    }

    /// Checks that no other transaction has changed the statements that the client has read, as far as is known now.
    ///
    /// # Errors
    /// 409 for a conflict, or after a commit; errors of the store.
    pub fn prepare(&mut self) -> Result<(), Refusal> {
        match &mut self.state {
            State::Reading(_) => Ok(()),
            State::Writing(transaction) => {
                if transaction.prepare()? {
                    Ok(())
                } else {
                    Err(conflict())
                }
            }
            State::Ended => Err(ended()),
        }
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// 409 for a conflict, or after a commit; errors of the store. The transaction has ended then, without effect.
    pub fn commit(&mut self, watch: &CancelCheck) -> Result<(), Refusal> {
        let mut transaction = match std::mem::replace(&mut self.state, State::Ended) {
            State::Writing(transaction) => transaction,
            State::Reading(_) => return Ok(()),
            State::Ended => return Err(ended()),
        };
        let committed = transaction.commit(|change, transaction| {
            change.make(transaction, watch)?;
            watch.check()
        });
        match committed {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(conflict()),
            Err(error) if error.is_retryable() && transaction.is_repeated() => Err(conflict()),
            Err(error) if error.is_retryable() => Err(unrepeated(self.served.options.body_bytes_max)),
            Err(error) => Err(error.into()),
        }
    }

    fn writing(&mut self) -> Result<&mut RecordedTransaction<Change>, Refusal> {
        match &mut self.state {
            State::Writing(transaction) => Ok(transaction),
            State::Reading(_) => Err(Refusal::read_only()),
            State::Ended => Err(ended()),
        }
    }
}

fn ended() -> Refusal {
    let message = "the transaction has ended, because its commit failed; roll it back";
    Refusal::of(StatusCode::CONFLICT, message)
}

/// The first words are those of the conflicts of RDF4J's stores, by which clients know them.
fn conflict() -> Refusal {
    let message = "Observed State has Changed: another transaction has changed what this one has read or changed; \
                   nothing was committed; roll it back, and repeat it from its beginning";
    Refusal::of(StatusCode::CONFLICT, message)
}

/// As [`conflict`], for a transaction that the server does not repeat by itself.
fn unrepeated(bytes_max: usize) -> Refusal {
    let message = format!(
        "Observed State has Changed: another transaction has changed what this one has read or changed; nothing was \
         committed; roll it back, and repeat it from its beginning. The server itself repeats a transaction whose \
         changes have at most {bytes_max} bytes (--body-max), without a QUERY or an UPDATE with a WHERE at \
         SERIALIZABLE. If it has more changes, commit them in several transactions, or start the server with a larger \
         --body-max"
    );
    Refusal::of(StatusCode::CONFLICT, message)
}
