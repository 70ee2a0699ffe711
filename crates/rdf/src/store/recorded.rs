//! [`RecordedTransaction`]: a transaction that keeps its changes, and repeats them if its commit conflicts.
//!
//! RDF4J reports a conflict at `SERIALIZABLE` only, and only if other transactions changed statements that match a
//! pattern that was read. The engine reports more: two transactions that add the same new term conflict, and so do two
//! that insert the same quad. So a transaction whose commit conflicts is repeated on the newest state. At
//! `SERIALIZABLE`, the patterns that it read must have the same statements there.

use fulgurite::Sequence;

use crate::error::{Error, Result};
use crate::model::pattern::IdPattern;
use crate::quads::term_pattern::TermPattern;
use crate::store::database::Store;
use crate::store::isolation::IsolationLevel;
use crate::store::observed::Observed;
use crate::store::snapshot::Snapshot;
use crate::store::transaction::{Transaction, TransactionView};
use crate::tables::StatementKinds;

/// Before a read, a transaction with at most so many bytes of changes is repeated on the newest state.
const REFRESHED_BYTES_MAX: usize = 1 << 20;

/// A transaction is repeated at most this often.
const ATTEMPTS: usize = 100;

/// A transaction with the conflicts and the reads that RDF4J's [isolation levels](IsolationLevel) describe. It keeps
/// its changes as `C`, and makes them again on the newest state if its commit conflicts with another transaction.
///
/// At `SERIALIZABLE`, the caller notes all reads ([`observe`](Self::observe)). A transaction conflicts if others have
/// changed statements that it has read. Below `SNAPSHOT`, [`refresh`](Self::refresh) before a read lets it see what
/// others have committed.
pub struct RecordedTransaction<C> {
    store: Store,
    level: IsolationLevel,
    /// `None` after the commit.
    txn: Option<Transaction>,
    /// `None` if the transaction cannot be repeated.
    changes: Option<Vec<C>>,
    bytes: usize,
    bytes_max: usize,
    /// The [commits](newest) that the transaction sees. It may see later ones.
    commits: u64,
    /// At `SERIALIZABLE`, the state that it reads or an older one, and the patterns that it has read.
    reads: Option<(Snapshot, Observed)>,
}

impl<C> RecordedTransaction<C> {
    /// Begins a transaction. It can be repeated as long as its changes have at most `bytes_max` bytes.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn begin(store: Store, level: IsolationLevel, bytes_max: usize) -> Result<Self> {
        let (base, commits) = newest(&store)?;
        let txn = Some(store.begin_with(level)?);
        let reads = (level == IsolationLevel::Serializable).then(|| (base, Observed::default()));
        Ok(Self { store, level, txn, changes: Some(Vec::new()), bytes: 0, bytes_max, commits, reads })
    }

    /// A view of the transaction. `None` after the commit.
    pub fn view(&self) -> Option<TransactionView> {
        self.txn.as_ref().map(Transaction::view)
    }

    /// Notes that the transaction reads a pattern of its [view](Self::view).
    pub fn observe(&mut self, pattern: &IdPattern, kinds: StatementKinds) {
        if let Some((_, observed)) = &mut self.reads {
            observed.add(pattern, kinds);
        }
    }

    /// Notes that the transaction reads a pattern, which may have terms that it lacks.
    pub fn observe_terms(&mut self, pattern: TermPattern, kinds: StatementKinds) {
        if let Some((_, observed)) = &mut self.reads {
            observed.add_terms(pattern, kinds);
        }
    }

    /// Notes that the transaction reads something whose patterns are not known, such as the result of a query.
    /// At `SERIALIZABLE` it is not repeated then: the engine decides whether its commit conflicts.
    pub fn observe_other_reads(&mut self) {
        if self.reads.is_some() {
            self.changes = None;
        }
    }

    /// Whether the transaction is repeated if its commit conflicts. It is not if it has
    /// [other reads](Self::observe_other_reads), too many changes, or one that cannot be made again.
    pub fn is_repeated(&self) -> bool {
        self.changes.is_some()
    }

    /// Discards the recorded changes, because one of them cannot be repeated: so the transaction is not repeated.
    pub fn forget_changes(&mut self) {
        self.changes = None;
    }

    /// Makes a change by calling `make`, and returns its result. `make` also returns what is kept to make the change
    /// again, and about its bytes; without it, the transaction cannot be repeated. If `make` fails and has not undone
    /// its part of the change, the caller [forgets](Self::forget_changes) the changes.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] after the commit; errors of `make`.
    pub fn change<T, E: From<Error>>(
        &mut self,
        make: impl FnOnce(&mut Transaction) -> Result<(T, Option<(C, usize)>), E>,
    ) -> Result<T, E> {
        let txn = self.txn.as_mut().ok_or(Error::TransactionEnded)?;
        let (made, kept) = make(txn)?;
        match (&mut self.changes, kept) {
            (Some(changes), Some((change, bytes))) if self.bytes.saturating_add(bytes) <= self.bytes_max => {
                self.bytes += bytes;
                changes.push(change);
            }
            (changes, _) => *changes = None,
        }
        Ok(made)
    }

    /// Before a read: repeats the transaction on the newest state, if others have committed, its level allows that its
    /// reads change, and its changes are small. Returns whether it did: its earlier views are of an ended transaction
    /// then, and ids of its terms may have changed.
    ///
    /// # Errors
    /// Errors of the store and of `repeat`, which makes a change again. The transaction is as it was before.
    pub fn refresh<E: From<Error>>(
        &mut self,
        mut repeat: impl FnMut(&mut C, &mut Transaction) -> Result<(), E>,
    ) -> Result<bool, E> {
        if self.level >= IsolationLevel::Snapshot || self.bytes > REFRESHED_BYTES_MAX || self.txn.is_none() {
            return Ok(false);
        }
        let Some(changes) = &mut self.changes else { return Ok(false) };
        let (_, commits) = newest(&self.store)?;
        if commits == self.commits {
            return Ok(false);
        }
        let mut txn = self.store.begin_with(self.level)?;
        for change in changes {
            repeat(change, &mut txn)?;
        }
        self.commits = commits;
        self.txn = Some(txn);
        Ok(true)
    }

    /// Whether no other transaction has changed the patterns that this one has read, as far as is known now. If there
    /// is too much to compare, the commit decides.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] after the commit; errors of the store.
    pub fn prepare(&mut self) -> Result<bool> {
        let view = self.view().ok_or(Error::TransactionEnded)?;
        let (newest, commits) = newest(&self.store)?;
        match &mut self.reads {
            Some((base, observed)) if commits != self.commits => {
                observed.resolve(&view)?;
                Ok(observed.is_same(base, |kinds| newest.of_kinds(kinds))?.unwrap_or(true))
            }
            _ => Ok(true),
        }
    }

    /// Commits the transaction. If it conflicts, repeats it on the newest state. Returns the sequence of the commit, or
    /// `None` if others have changed what it has read: nothing is committed then.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] after the commit; a [retryable](Error::is_retryable) error if the transaction
    /// conflicts and cannot be repeated; errors of the store and of `repeat`, which makes a change again. Nothing is
    /// committed then.
    pub fn commit<E: From<Error>>(
        &mut self,
        mut repeat: impl FnMut(&mut C, &mut Transaction) -> Result<(), E>,
    ) -> Result<Option<Sequence>, E> {
        let view = self.view().ok_or(Error::TransactionEnded)?;
        if let Some((_, observed)) = &mut self.reads {
            observed.resolve(&view)?;
        }
        drop(view);
        let mut outcome = self.txn.take().ok_or(Error::TransactionEnded)?.commit();
        for _ in 0..ATTEMPTS {
            let Some(changes) = &mut self.changes else { break };
            if !outcome.as_ref().is_err_and(Error::is_retryable) {
                break;
            }
            let mut txn = self.store.begin_with(self.level)?;
            if let Some((base, observed)) = &self.reads {
                // These reads make the commit fail if the patterns change after the check.
                let view = txn.view();
                if observed.is_same(base, |kinds| view.of_kinds(kinds))? != Some(true) {
                    return Ok(None);
                }
            }
            for change in changes {
                repeat(change, &mut txn)?;
            }
            outcome = txn.commit();
        }
        Ok(Some(outcome?))
    }
}

/// The newest state, and the number of commits before it. Reservations of numbers for terms do not count: a transaction
/// makes them itself when it is repeated.
fn newest(store: &Store) -> Result<(Snapshot, u64)> {
    let (snapshot, reservations) = store.shared.numbers.between_reservations(|| store.snapshot());
    let snapshot = snapshot?;
    let commits = snapshot.sequence().0.saturating_sub(reservations);
    Ok((snapshot, commits))
}

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};

    use super::*;
    use crate::quads::reading::Quads;
    use crate::quads::term_pattern::TermGraphs;
    use crate::store::database::StoreOptions;
    use crate::store::observed::PATTERNS_MAX;

    type Recorded = RecordedTransaction<Quad>;

    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://example.org/{name}"))
    }

    fn insert(recorded: &mut Recorded, subject: &str, object: impl Into<Term>) {
        let quad = Quad::new(iri(subject), iri("p"), object, GraphName::DefaultGraph);
        let inserted = recorded.change(|txn| Ok::<_, Error>((txn.insert(&quad)?, Some((quad, 1)))));
        assert!(inserted.expect("it is inserted"));
    }

    fn repeat(quad: &mut Quad, txn: &mut Transaction) -> Result<()> {
        txn.insert(&*quad).map(drop)
    }

    fn commit(recorded: &mut Recorded) -> Option<Sequence> {
        recorded.commit(repeat).expect("no error")
    }

    fn count(recorded: &Recorded) -> u64 {
        recorded.view().expect("it is open").count(&IdPattern::ALL).expect("a count")
    }

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        (directory, store)
    }

    fn both(store: &Store, level: IsolationLevel) -> [Recorded; 2] {
        [0, 1].map(|_| Recorded::begin(store.clone(), level, usize::MAX).expect("a transaction"))
    }

    #[test]
    fn transactions_of_the_same_new_terms_both_commit() {
        for level in IsolationLevel::ALL {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, level);
            for (recorded, number) in [(&mut first, 1), (&mut second, 2)] {
                insert(recorded, "s", Literal::from(number));
                insert(recorded, "s", iri("o"));
            }
            assert!(commit(&mut first).is_some() && commit(&mut second).is_some(), "{level}");
            assert_eq!(store.snapshot().expect("a snapshot").count(&IdPattern::ALL).expect("a count"), 3, "{level}");
            assert!(matches!(second.commit(repeat), Err(Error::TransactionEnded)), "{level}");
        }
    }

    #[test]
    fn what_another_has_changed_and_this_one_has_read_is_a_conflict_at_serializable_only() {
        for level in IsolationLevel::ALL {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, level);
            second.observe(&IdPattern::ALL, StatementKinds::All);
            assert_eq!(count(&second), 0);
            insert(&mut first, "s", iri("o"));
            insert(&mut second, "s", iri("o"));
            assert!(commit(&mut first).is_some());
            let is_committed = level != IsolationLevel::Serializable;
            assert_eq!(second.prepare().expect("no error"), is_committed, "{level}");
            assert_eq!(commit(&mut second).is_some(), is_committed, "{level}");
        }
    }

    #[test]
    fn a_pattern_with_a_term_that_another_adds_is_a_conflict_if_it_has_statements_then() {
        for (read, is_committed) in [("s", false), ("elsewhere", true)] {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, IsolationLevel::Serializable);
            let terms = [Some(iri(read).into()), None, None];
            second.observe_terms(TermPattern { terms, graphs: TermGraphs::All }, StatementKinds::All);
            insert(&mut second, "other", iri("o"));
            insert(&mut first, "s", iri("o"));
            assert!(commit(&mut first).is_some());
            assert_eq!(second.prepare().expect("no error"), is_committed, "{read}");
            assert_eq!(commit(&mut second).is_some(), is_committed, "{read}");
        }
    }

    #[test]
    fn too_many_patterns_are_no_conflict_that_is_known_before_the_commit() {
        let (_directory, store) = store();
        let [mut first, mut second] = both(&store, IsolationLevel::Serializable);
        for number in 0..=PATTERNS_MAX as i64 {
            let terms = [None, None, Some(Literal::from(number).into())];
            second.observe_terms(TermPattern { terms, graphs: TermGraphs::All }, StatementKinds::All);
        }
        insert(&mut first, "s", iri("o"));
        assert!(commit(&mut first).is_some());
        assert!(second.prepare().expect("no error"));
    }

    #[test]
    fn a_transaction_with_other_reads_or_too_many_changes_is_not_repeated() {
        for has_other_reads in [false, true] {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, IsolationLevel::Serializable);
            if has_other_reads {
                second.observe_other_reads();
            } else {
                second.bytes_max = 0;
            }
            insert(&mut first, "s", iri("o"));
            insert(&mut second, "s", iri("o"));
            assert!(commit(&mut first).is_some());
            assert!(second.commit(repeat).is_err_and(|error| error.is_retryable()), "{has_other_reads}");
        }
    }

    #[test]
    fn a_small_transaction_sees_what_others_commit_below_snapshot() {
        for level in [IsolationLevel::SnapshotRead, IsolationLevel::Snapshot] {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, level);
            insert(&mut second, "s", Literal::from(2));
            // Giving the namespace a number is a commit too.
            second.refresh(repeat).expect("no error");
            // Reserving numbers of terms does not count.
            for number in 0..100 {
                insert(&mut second, &format!("s{number}"), Literal::from(2));
            }
            assert!(!second.refresh(repeat).expect("no error"), "{level}");
            insert(&mut first, "s", Literal::from(1));
            assert!(commit(&mut first).is_some());
            let is_below = level < IsolationLevel::Snapshot;
            assert_eq!(second.refresh(repeat).expect("no error"), is_below);
            assert_eq!(count(&second), 101 + u64::from(is_below), "{level}");
        }
    }
}
