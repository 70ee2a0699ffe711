//! Transactions that record their changes, and repeat them if the commit conflicts: see [`RecordedTransaction`].

use fulgurite_handles::kind;
use fulgurite_rdf::{
    IdPattern, IdQuad, IsolationLevel, RecordedTransaction, StatementKinds, Store, TermId, TermPattern, Transaction,
    TransactionView,
};

use super::terms::{take, take_number, with_term};
use crate::error::{Failure, Result};

/// Beyond this size of the recorded changes, a transaction is not repeated. A conflict is then an error.
const RECORDED_BYTES_MAX: usize = 256 << 20;

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
        /// What they match.
        pattern: Box<TermPattern>,
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
            Self::Remove { pattern, inferred } => {
                let Some(pattern) = pattern.ids(&txn.view())? else { return Ok(0) };
                Ok(if *inferred { txn.clear_inferred(&pattern)? } else { txn.remove_matching(&pattern)? })
            }
            Self::Namespace { prefix, iri: Some(iri) } => {
                txn.set_namespace(prefix, iri).map(|()| 1).map_err(Into::into)
            }
            Self::Namespace { prefix, iri: None } => Ok(u64::from(txn.remove_namespace(prefix)?)),
        }
    }

    /// As [`Change::apply`], in a transaction that is repeated.
    fn repeat(&mut self, txn: &mut Transaction) -> Result<()> {
        self.apply(txn).map(drop)
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
    txn: RecordedTransaction<Change>,
    /// At most so many bytes of changes are kept.
    bytes_max: usize,
    /// Whether the changes have more bytes.
    is_too_large: bool,
}

impl Recorded {
    /// Begins a transaction.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin(store: Store, level: IsolationLevel) -> Result<Self> {
        Self::begin_with(store, level, RECORDED_BYTES_MAX)
    }

    fn begin_with(store: Store, level: IsolationLevel, bytes_max: usize) -> Result<Self> {
        let txn = RecordedTransaction::begin(store, level, bytes_max)?;
        Ok(Self { txn, bytes_max, is_too_large: false })
    }

    /// A view of the transaction.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit.
    pub fn view(&self) -> Result<TransactionView> {
        self.txn.view().ok_or(Failure::Closed)
    }

    /// Notes that a pattern is read.
    pub fn observe(&mut self, pattern: &IdPattern, kinds: StatementKinds) {
        self.txn.observe(pattern, kinds);
    }

    /// Notes that a pattern is read that has a term which the transaction lacks.
    pub fn observe_unknown(&mut self, pattern: TermPattern) {
        self.txn.observe_terms(pattern, StatementKinds::All);
    }

    /// Makes a change, and returns the number of quads that it inserted or removed.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit; errors of the store.
    pub fn change(&mut self, change: Change) -> Result<u64> {
        self.view()?;
        let was_repeated = self.txn.is_repeated();
        let changed: Result<u64> = self.txn.change(|txn| {
            let (changed, bytes) = (change.apply(txn)?, change.bytes());
            Ok((changed, Some((change, bytes))))
        });
        match changed {
            Ok(_) => self.is_too_large |= was_repeated && !self.txn.is_repeated(),
            // Some quads of the batch may be inserted.
            Err(_) => self.txn.forget_changes(),
        }
        changed
    }

    /// Before a read: repeats the transaction on the newest state, if others have committed, its level allows that its
    /// reads change, and its changes are small. Returns whether it did: ids of its terms may have changed then.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn refresh(&mut self) -> Result<bool> {
        self.txn.refresh(Change::repeat)
    }

    /// Checks that no other transaction has changed what this one has read, as far as is known now.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit; a conflict; errors of the store.
    pub fn prepare(&mut self) -> Result<()> {
        self.view()?;
        if self.txn.prepare()? { Ok(()) } else { Err(Failure::Changed) }
    }

    /// Commits the transaction. If it conflicts, repeats it on the newest state. Returns the sequence of the commit.
    ///
    /// # Errors
    /// [`Failure::Closed`] after the commit; a conflict; errors of the store.
    pub fn commit(&mut self) -> Result<u64> {
        self.view()?;
        match self.txn.commit(Change::repeat) {
            Ok(sequence) => Ok(sequence.ok_or(Failure::Changed)?.0),
            Err(Failure::Engine(error)) if self.is_too_large && error.is_retryable() => {
                let mib = self.bytes_max >> 20;
                let text = format!("{error}; the store repeats only a transaction with at most {mib} MiB of changes");
                Err(Failure::Explained(kind::of(&error), text))
            }
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{Literal, NamedNode, Term};
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
    fn a_transaction_with_a_change_that_failed_halfway_is_not_repeated() {
        let (_directory, store) = store();
        let [mut first, mut second] =
            [0, 1].map(|_| Recorded::begin(store.clone(), IsolationLevel::SnapshotRead).unwrap());
        let quad = || batch(&[iri("s"), iri("p"), iri("o")]);
        let Change::Insert { batch: whole, .. } = quad() else { unreachable!() };
        // Another quad, of terms that the batch lacks.
        let mut halfway = whole.to_vec();
        let count = whole.len() - ROW_BYTES - 4;
        halfway[count..count + 4].copy_from_slice(&2_u32.to_le_bytes());
        halfway.extend_from_slice(&[3_u8, 0, 0, 0].repeat(4));
        let change = Change::Insert { batch: halfway.into(), inferred: false };
        assert!(matches!(second.change(change), Err(Failure::Invalid(_))));
        first.change(quad()).unwrap();
        first.commit().unwrap();
        assert!(second.commit().is_err());
    }

    #[test]
    fn a_conflict_of_a_transaction_with_too_many_changes_names_the_limit() {
        let (_directory, store) = store();
        let [mut first, mut second] =
            [0, 1].map(|_| Recorded::begin_with(store.clone(), IsolationLevel::SnapshotRead, 0).unwrap());
        let quad = || batch(&[iri("s"), iri("p"), iri("o")]);
        assert_eq!([first.change(quad()).unwrap(), second.change(quad()).unwrap()], [1, 1]);
        first.commit().unwrap();
        let (kind, text) = second.commit().unwrap_err().kind_and_text();
        assert!(kind == "CONFLICT" && text.contains("with at most 0 MiB of changes"), "{kind} {text}");
    }

    #[test]
    fn a_conflict_is_an_error_and_so_is_what_follows_a_commit() {
        let (_directory, store) = store();
        let [mut first, mut second] =
            [0, 1].map(|_| Recorded::begin(store.clone(), IsolationLevel::Serializable).unwrap());
        second.observe(&IdPattern::ALL, StatementKinds::All);
        let quad = || batch(&[iri("s"), iri("p"), iri("o")]);
        assert_eq!([first.change(quad()).unwrap(), second.change(quad()).unwrap()], [1, 1]);
        first.commit().unwrap();
        assert!(matches!(second.prepare(), Err(Failure::Changed)));
        assert!(matches!(second.commit(), Err(Failure::Changed)));
        assert!(matches!(second.prepare(), Err(Failure::Closed)));
        assert!(matches!(first.change(quad()), Err(Failure::Closed)));
        assert!(matches!(first.commit(), Err(Failure::Closed)));
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
}
