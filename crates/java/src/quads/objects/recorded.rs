//! Transactions that record their changes, and repeat them if the commit conflicts.
//!
//! RDF4J reports a conflict at `SERIALIZABLE` only, and only if other transactions changed statements that match a
//! pattern that was read. The engine reports more: two transactions that add the same new term conflict, and so do two
//! that insert the same quad. So a transaction whose commit conflicts is repeated on the newest state. At
//! `SERIALIZABLE`, the patterns that it read ([`Observed`]) must have the same statements there.

use fulgurite::Sequence;
use fulgurite_rdf::oxrdf::Term;
use fulgurite_rdf::{
    IdPattern, IdQuad, IsolationLevel, Snapshot, StatementKinds, Store, TermId, Transaction, TransactionView,
};

use super::observed::Observed;
use super::pattern::{Graphs, pattern};
use super::terms::{take, take_number, with_term};
use crate::error::{Failure, Result};

/// Beyond this size of the recorded changes, a transaction is not repeated. A conflict is then an error.
const RECORDED_BYTES_MAX: usize = 256 << 20;

/// Before a read, a transaction with at most so many bytes of changes is repeated on the newest state.
const REFRESHED_BYTES_MAX: usize = 1 << 20;

/// A transaction is repeated at most this often.
const ATTEMPTS: usize = 100;

/// A change that can be repeated.
pub enum Change {
    /// Inserts the quads of a [batch](insert).
    Insert {
        /// The batch.
        batch: Box<[u8]>,
        /// Whether the quads are inferred.
        inferred: bool,
    },
    /// Removes the quads that match.
    Remove {
        /// The subject, predicate and object, if given.
        terms: Box<[Option<Term>; 3]>,
        /// The graphs.
        graphs: Graphs,
        /// Whether inferred quads are removed, instead of explicit ones.
        inferred: bool,
    },
    /// Sets the namespace of a prefix, or removes it.
    Namespace {
        /// The prefix.
        prefix: String,
        /// The IRI, or none to remove the prefix.
        iri: Option<String>,
    },
}

impl Change {
    /// About its memory.
    fn bytes(&self) -> usize {
        match self {
            Self::Insert { batch, .. } => batch.len(),
            Self::Remove { .. } | Self::Namespace { .. } => 512,
        }
    }

    /// Makes the change, and returns the number of quads that it inserted or removed.
    ///
    /// # Errors
    /// Errors of the store.
    fn apply(&self, txn: &mut Transaction) -> Result<u64> {
        match self {
            Self::Insert { batch, inferred } => insert(txn, batch, *inferred),
            Self::Remove { terms, graphs, inferred } => {
                let Some(pattern) = pattern(&txn.view(), terms, graphs)? else { return Ok(0) };
                Ok(if *inferred { txn.clear_inferred(&pattern)? } else { txn.remove_matching(&pattern)? })
            }
            Self::Namespace { prefix, iri: Some(iri) } => {
                txn.set_namespace(prefix, iri).map(|()| 1).map_err(Into::into)
            }
            Self::Namespace { prefix, iri: None } => Ok(u64::from(txn.remove_namespace(prefix)?)),
        }
    }
}

/// Inserts the quads of a batch: the number of its terms, the terms, the number of its quads, and for each quad the
/// positions of its terms (subject, predicate, object, graph; the graph is −1 for the default graph). Numbers have four
/// bytes. Returns how many quads are new.
///
/// # Errors
/// [`Failure::Invalid`] for a malformed batch; errors of the store.
fn insert(txn: &mut Transaction, mut batch: &[u8], inferred: bool) -> Result<u64> {
    let count = take_number(&mut batch)? as usize;
    // A term has more than one byte.
    let mut ids = Vec::with_capacity(count.min(batch.len()));
    for _ in 0..count {
        ids.push(with_term(&mut batch, |term| Ok(txn.intern(term)?))?);
    }
    let count = take_number(&mut batch)? as usize;
    let mut inserted = 0;
    for row in take(&mut batch, count.saturating_mul(ROW_BYTES))?.chunks_exact(ROW_BYTES) {
        let (positions, _) = row.as_chunks::<4>();
        let id = |place: usize| match u32::from_le_bytes(positions[place]) {
            u32::MAX => Ok(TermId::DEFAULT_GRAPH),
            index => {
                let id = ids.get(index as usize).copied();
                id.ok_or_else(|| Failure::Invalid(format!("a batch has no term {index}")))
            }
        };
        let quad = IdQuad { subject: id(0)?, predicate: id(1)?, object: id(2)?, graph: id(3)? };
        let is_new = if inferred { txn.insert_inferred_ids(&quad)? } else { txn.insert_ids(&quad)? };
        inserted += u64::from(is_new);
    }
    Ok(inserted)
}

/// The bytes of the positions of a quad's terms.
const ROW_BYTES: usize = 16;

/// A transaction and its changes.
pub struct Recorded {
    store: Store,
    level: IsolationLevel,
    /// `None` after the commit.
    txn: Option<Transaction>,
    /// `None` if the transaction cannot be repeated.
    changes: Option<Vec<Change>>,
    bytes: usize,
    /// The newest commit that the transaction may see; it sees all commits before it.
    sequence: Sequence,
    /// At `SERIALIZABLE`, the state that it reads or an older one, and the patterns that it has read.
    reads: Option<(Snapshot, Observed)>,
}

impl Recorded {
    /// Begins a transaction.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin(store: Store, level: IsolationLevel) -> Result<Self> {
        let base = store.snapshot()?;
        let txn = Some(store.begin_with(level)?);
        let sequence = base.sequence();
        let reads = (level == IsolationLevel::Serializable).then(|| (base, Observed::default()));
        Ok(Self { store, level, txn, changes: Some(Vec::new()), bytes: 0, sequence, reads })
    }

    /// A view of the transaction.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit.
    pub fn view(&self) -> Result<TransactionView> {
        Ok(self.txn.as_ref().ok_or(Failure::Closed)?.view())
    }

    /// Notes that a pattern is read.
    pub fn observe(&mut self, pattern: &IdPattern, kinds: StatementKinds) {
        if let Some((_, observed)) = &mut self.reads {
            observed.add(pattern, kinds);
        }
    }

    /// Notes that a pattern is read that has a term which the transaction lacks.
    pub fn observe_unknown(&mut self, terms: Box<[Option<Term>; 3]>, graphs: Graphs) {
        if let Some((_, observed)) = &mut self.reads {
            observed.add_unknown(terms, graphs);
        }
    }

    /// Makes a change, and returns the number of quads that it inserted or removed.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit; errors of the store.
    pub fn change(&mut self, change: Change) -> Result<u64> {
        let txn = self.txn.as_mut().ok_or(Failure::Closed)?;
        let changed = change.apply(txn)?;
        self.bytes += change.bytes();
        match &mut self.changes {
            Some(changes) if self.bytes <= RECORDED_BYTES_MAX => changes.push(change),
            changes => *changes = None,
        }
        Ok(changed)
    }

    fn newest(&self) -> Result<Sequence> {
        Ok(self.store.snapshot()?.sequence())
    }

    /// Before a read: repeats the transaction on the newest state, if others have committed, its level allows that its
    /// reads change, and its changes are small. Returns whether it did: ids of its terms may have changed then.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit; errors of the store.
    pub fn refresh(&mut self) -> Result<bool> {
        if self.level >= IsolationLevel::Snapshot || self.bytes > REFRESHED_BYTES_MAX {
            return Ok(false);
        }
        let Some(changes) = &self.changes else { return Ok(false) };
        let newest = self.newest()?;
        if newest == self.sequence {
            return Ok(false);
        }
        let mut txn = self.store.begin_with(self.level)?;
        for change in changes {
            change.apply(&mut txn)?;
        }
        self.sequence = newest;
        self.txn = Some(txn);
        Ok(true)
    }

    /// Checks that no other transaction has changed what this one has read, as far as is known now.
    ///
    /// # Errors
    /// A conflict; errors of the store.
    pub fn prepare(&mut self) -> Result<()> {
        let view = self.view()?;
        let newest = self.store.snapshot()?;
        match &mut self.reads {
            Some((base, observed)) if newest.sequence() > base.sequence() => {
                observed.resolve(&view)?;
                observed.check(base, &newest)
            }
            _ => Ok(()),
        }
    }

    /// Commits the transaction. If it conflicts, repeats it on the newest state. Returns the sequence of the commit.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit; a conflict; errors of the store.
    pub fn commit(&mut self) -> Result<u64> {
        let view = self.view()?;
        if let Some((_, observed)) = &mut self.reads {
            observed.resolve(&view)?;
        }
        drop(view);
        let mut outcome = self.txn.take().ok_or(Failure::Closed)?.commit();
        for _ in 0..ATTEMPTS {
            let Some(changes) = &self.changes else { break };
            if !outcome.as_ref().is_err_and(fulgurite_rdf::Error::is_retryable) {
                break;
            }
            let mut txn = self.store.begin_with(self.level)?;
            if let Some((base, observed)) = &self.reads {
                // These reads make the commit fail if the patterns change after the check.
                observed.check(base, &txn.view())?;
            }
            for change in changes {
                change.apply(&mut txn)?;
            }
            outcome = txn.commit();
        }
        Ok(outcome?.0)
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{Literal, NamedNode};
    use fulgurite_rdf::sparql::{Query, QueryResults};
    use fulgurite_rdf::{Error, Quads, StoreOptions};

    use super::super::terms::push_term;
    use super::*;

    fn iri(name: &str) -> Term {
        NamedNode::new(format!("http://example.org/{name}")).unwrap().into()
    }

    /// A batch of one quad of the default graph.
    fn batch(terms: &[Term; 3]) -> Change {
        let mut bytes = 3_u32.to_le_bytes().to_vec();
        terms.iter().for_each(|term| push_term(&mut bytes, term.as_ref()));
        for number in [1, 0, 1, 2, u32::MAX] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Change::Insert { batch: bytes.into(), inferred: false }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        (directory, store)
    }

    fn both(store: &Store, level: IsolationLevel) -> [Recorded; 2] {
        [0, 1].map(|_| Recorded::begin(store.clone(), level).unwrap())
    }

    #[test]
    fn a_batch_that_ends_too_early_or_names_no_term_of_its_own_is_refused() {
        let (_directory, store) = store();
        let Change::Insert { batch: whole, .. } = batch(&[iri("s"), iri("p"), iri("o")]) else { unreachable!() };
        let mut without_term = whole.to_vec();
        let at = whole.len() - ROW_BYTES;
        without_term[at..at + 4].copy_from_slice(&3_u32.to_le_bytes());
        let cut = (0..whole.len()).map(|end| whole[..end].to_vec());
        for bytes in cut.chain([without_term]) {
            let mut recorded = Recorded::begin(store.clone(), IsolationLevel::None).unwrap();
            let length = bytes.len();
            let change = Change::Insert { batch: bytes.into(), inferred: false };
            assert!(matches!(recorded.change(change), Err(Failure::Invalid(_))), "{length}");
        }
        assert_eq!(store.snapshot().unwrap().count(&IdPattern::ALL).unwrap(), 0);
    }

    #[test]
    fn transactions_of_the_same_new_terms_both_commit() {
        for level in IsolationLevel::ALL {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, level);
            for (recorded, number) in [(&mut first, 1), (&mut second, 2)] {
                let terms = [iri("s"), iri("p"), Literal::from(number).into()];
                assert_eq!(recorded.change(batch(&terms)).unwrap(), 1);
                assert_eq!(recorded.change(batch(&[iri("s"), iri("p"), iri("o")])).unwrap(), 1);
            }
            first.commit().unwrap();
            second.commit().unwrap();
            assert_eq!(store.snapshot().unwrap().count(&IdPattern::ALL).unwrap(), 3, "{level}");
        }
    }

    #[test]
    fn what_another_has_changed_and_this_one_has_read_is_a_conflict_at_serializable_only() {
        for level in IsolationLevel::ALL {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, level);
            second.observe(&IdPattern::ALL, StatementKinds::All);
            assert_eq!(second.view().unwrap().count(&IdPattern::ALL).unwrap(), 0);
            for recorded in [&mut first, &mut second] {
                recorded.change(batch(&[iri("s"), iri("p"), iri("o")])).unwrap();
            }
            first.commit().unwrap();
            let prepared = second.prepare();
            let committed = second.commit();
            let is_serializable = level == IsolationLevel::Serializable;
            assert_eq!(matches!(prepared, Err(Failure::Changed)), is_serializable, "{level}");
            assert_eq!(matches!(committed, Err(Failure::Changed)), is_serializable, "{level}");
        }
    }

    #[test]
    fn a_pattern_with_a_term_that_another_adds_is_a_conflict_if_it_has_statements_then() {
        for (read, is_conflict) in [("s", true), ("elsewhere", false)] {
            let (_directory, store) = store();
            let [mut first, mut second] = both(&store, IsolationLevel::Serializable);
            second.observe_unknown(Box::new([Some(iri(read)), None, None]), Graphs::All);
            second.change(batch(&[iri("other"), iri("p"), iri("o")])).unwrap();
            first.change(batch(&[iri("s"), iri("p"), iri("o")])).unwrap();
            first.commit().unwrap();
            assert_eq!(second.prepare().is_err(), is_conflict, "{read}");
            assert_eq!(second.commit().is_err(), is_conflict, "{read}");
        }
    }

    #[test]
    fn rust_reads_what_java_wrote_and_says_which_statements_it_cannot_express() {
        let (_directory, store) = store();
        let triple = fulgurite_rdf::oxrdf::Triple::new(
            NamedNode::new("http://example.org/s").unwrap(),
            NamedNode::new("http://example.org/p").unwrap(),
            iri("o"),
        );
        let mut recorded = Recorded::begin(store.clone(), IsolationLevel::SnapshotRead).unwrap();
        recorded.change(batch(&[triple.into(), iri("certainty"), Literal::from(7).into()])).unwrap();
        recorded.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let query = Query::parse("SELECT ?s { ?s ?p 7 }", None).unwrap();
        let QueryResults::Solutions(mut solutions) = query.evaluate(&snapshot).unwrap() else { unreachable!() };
        let subject = solutions.next().unwrap().unwrap().get("s").unwrap().clone();
        assert!(matches!(subject, Term::Triple(_)), "{subject}");
        let read = snapshot.statements(&IdPattern::ALL).next();
        assert!(matches!(read, Some(Err(Error::TripleSubject { .. }))), "{read:?}");
        assert!(store.check().unwrap().is_sound());
    }

    #[test]
    fn a_small_transaction_sees_what_others_commit_below_snapshot() {
        let (_directory, store) = store();
        let [mut first, mut second] = both(&store, IsolationLevel::SnapshotRead);
        second.change(batch(&[iri("s"), iri("p"), Literal::from(2).into()])).unwrap();
        // Reserving numbers of terms is a commit too.
        second.refresh().unwrap();
        assert!(!second.refresh().unwrap());
        first.change(batch(&[iri("s"), iri("p"), Literal::from(1).into()])).unwrap();
        first.commit().unwrap();
        assert!(second.refresh().unwrap());
        assert_eq!(second.view().unwrap().count(&IdPattern::ALL).unwrap(), 2);
    }
}
