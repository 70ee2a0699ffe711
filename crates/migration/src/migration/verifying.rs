//! Reads a copy, and compares it with what was copied.

use fulgurite_rdf::{IdPattern, Quads, Snapshot, StatementKinds, Store, TermId};

use super::copying::Copied;
use super::statement_sum::{DEFAULT_GRAPH_HASH, StatementSum, term_hash};
use crate::error::{Error, Result};
use crate::store::Rdf4jStore;

/// Compares statements and namespaces. `told` is called with the number of statements after each.
///
/// # Errors
/// [`Error::Differs`]; [`Error::Store`].
pub fn verify(store: &Store, source: &Rdf4jStore, copied: &Copied, told: &mut dyn FnMut(u64)) -> Result<()> {
    let snapshot = store.snapshot()?;
    let mut reader = Reader { terms: (0..TERMS_KEPT).map(|_| None).collect(), done: 0, told };
    for (what, kinds, expected) in [
        ("explicit", StatementKinds::Explicit, &copied.explicit),
        ("inferred", StatementKinds::Inferred, &copied.inferred),
    ] {
        let found = reader.sum(&snapshot.of_kinds(kinds))?;
        if found.count != expected.count {
            let (found, expected) = (found.count, expected.count);
            return Err(Error::Differs { what: format!("it has {found} {what} statements instead of {expected}") });
        }
        if found != *expected {
            return Err(Error::Differs { what: format!("the hashes of the {what} statements differ") });
        }
    }
    let mut expected = source.namespaces().to_vec();
    expected.sort();
    let mut found = snapshot.namespaces()?;
    found.sort();
    if found == expected { Ok(()) } else { Err(Error::Differs { what: "the namespaces differ".into() }) }
}

struct Reader<'r> {
    /// The hashes of terms that were read last, each in the slot of its number.
    terms: Box<[Option<(TermId, u128)>]>,
    done: u64,
    told: &'r mut dyn FnMut(u64),
}

impl Reader<'_> {
    fn sum(&mut self, snapshot: &Snapshot) -> Result<StatementSum> {
        let mut sum = StatementSum::default();
        for quad in snapshot.quads(&IdPattern::ALL) {
            let quad = quad?;
            let graph = match quad.graph {
                TermId::DEFAULT_GRAPH => DEFAULT_GRAPH_HASH,
                graph => self.hash(snapshot, graph)?,
            };
            let (subject, predicate) = (self.hash(snapshot, quad.subject)?, self.hash(snapshot, quad.predicate)?);
            sum.add([subject, predicate, self.hash(snapshot, quad.object)?, graph]);
            self.done += 1;
            (self.told)(self.done);
        }
        Ok(sum)
    }

    fn hash(&mut self, snapshot: &Snapshot, id: TermId) -> Result<u128> {
        // Numbers of one kind differ in their low bits.
        let slot = id.to_bits() as usize % TERMS_KEPT;
        if let Some((_, hash)) = self.terms[slot].filter(|(known, _)| *known == id) {
            return Ok(hash);
        }
        let hash = term_hash(snapshot.term(id)?.as_ref());
        self.terms[slot] = Some((id, hash));
        Ok(hash)
    }
}

const TERMS_KEPT: usize = 1 << 19;
