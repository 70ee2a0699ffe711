//! Batches of terms between two readings, with the terms that they have: so that a short reading finds room that is
//! taken already, and the terms that statements have in common.
//!
//! Numbers stand for the same terms in all snapshots, as [`Predicates`](crate::dictionary::predicates::Predicates)
//! says: what was read from one is good for another. Readers wait for nobody: each thread has a place, and who finds it
//! taken makes a batch of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::dictionary::term_batch::TermBatch;

/// See the module. It holds a batch for each place at most.
#[derive(Default)]
pub struct TermBatches {
    places: [Place; PLACES],
}

/// Far enough from the next one that two threads do not share what the processor moves at once.
#[derive(Default)]
#[repr(align(128))]
struct Place(Mutex<Option<TermBatch>>);

impl TermBatches {
    /// A batch, which may have terms.
    pub fn lend(&self) -> TermBatch {
        let kept = self.place().0.try_lock().ok().and_then(|mut place| place.take());
        kept.unwrap_or_default()
    }

    /// Keeps a batch for the next user. Requires: it wants no terms.
    pub fn take_back(&self, mut batch: TermBatch) {
        batch.trim();
        if let Ok(mut place) = self.place().0.try_lock() {
            *place = Some(batch);
        }
    }

    fn place(&self) -> &Place {
        &self.places[PLACE.with(|place| *place)]
    }
}

thread_local! {
    /// Threads take places in turn.
    static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
}

static NEXT: AtomicUsize = AtomicUsize::new(0);
const PLACES: usize = 16;

#[cfg(test)]
mod tests {
    use oxrdf::NamedNodeRef;

    use super::*;
    use crate::dictionary::bytes;
    use crate::model::id::{Tag, TermId};

    fn iri_of(batch: &mut TermBatch, id: TermId) -> Option<String> {
        let place = batch.place(id, false)?;
        batch.wanted.is_empty().then(|| batch.term(place).to_string())
    }

    #[test]
    fn a_batch_comes_back_with_its_terms_to_the_thread_that_had_it_and_to_nobody_at_the_same_time() {
        let (batches, id) = (TermBatches::default(), TermId::new(Tag::IRI, 7));
        let mut batch = batches.lend();
        batch.know_iri(id, "http://a/");
        batches.take_back(batch);
        let mut batch = batches.lend();
        assert_eq!(iri_of(&mut batch, id).as_deref(), Some("<http://a/>"));
        assert_eq!(iri_of(&mut batches.lend(), id), None);
    }

    #[test]
    fn a_batch_that_has_grown_large_is_kept_empty() {
        // Those that are longer than 64 KiB are not among the texts.
        for length in [60_000, 100_000] {
            let (batches, long) = (TermBatches::default(), "x".repeat(length));
            let mut stored = Vec::new();
            bytes::encode(NamedNodeRef::new_unchecked(&long).into(), &mut stored).expect("it is a term");
            let mut batch = batches.lend();
            for number in 0..10 {
                let place = batch.place(TermId::new(Tag::IRI, number), false).expect("a place");
                batch.fill(place, &stored, "").expect("it is sound");
            }
            batch.wanted.clear();
            batches.take_back(batch);
            assert_eq!(iri_of(&mut batches.lend(), TermId::new(Tag::IRI, 7)), None, "{length}");
        }
    }
}
