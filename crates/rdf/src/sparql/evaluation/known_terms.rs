//! [`KnownTerms`]: the terms that an evaluation holds beside the store: computed ones, and some of those that it has
//! read.
//!
//! The evaluation by the library and that on ids hold their terms here. Invariant: a computed term has one place in one
//! evaluation, so comparing places compares terms.

use std::cell::RefCell;
use std::collections::HashMap;

use oxrdf::Term;

use super::heap::HeapBytes;
use super::limits::{EvaluationMonitor, Stopped};
use super::term_cache::TermCache;
use crate::TermId;
use crate::error::Result;
use crate::meter;

/// See the module.
pub(crate) struct KnownTerms {
    computed: RefCell<Computed>,
    cache: RefCell<TermCache>,
}

#[derive(Default)]
struct Computed {
    terms: Vec<Term>,
    places: HashMap<Term, u32>,
    bytes: u64,
}

impl KnownTerms {
    pub(crate) fn new(watch: &EvaluationMonitor) -> Self {
        Self { computed: RefCell::default(), cache: RefCell::new(TermCache::new(watch.cached_bytes_max())) }
    }

    /// The computed term at a place.
    pub(crate) fn computed(&self, place: u32) -> Term {
        self.computed.borrow().terms[place as usize].clone()
    }

    /// The place of a computed term, which is new if the term is. Requires: the store has no id for the term.
    pub(crate) fn place(&self, term: Term, watch: &EvaluationMonitor) -> Result<u32, Stopped> {
        let mut computed = self.computed.borrow_mut();
        if let Some(place) = computed.places.get(&term) {
            return Ok(*place);
        }
        // Held twice, in the list and as a key.
        computed.bytes += 2 * (term.heap_bytes() + size_of::<Term>()) as u64;
        watch.check_computed_bytes(computed.bytes)?;
        let place = u32::try_from(computed.terms.len()).map_err(|_| watch.fail_full("computed terms"))?;
        computed.terms.push(term.clone());
        computed.places.insert(term, place);
        Ok(place)
    }

    /// The term of an id, which `read` reads from the store.
    pub(crate) fn stored(
        &self,
        id: TermId,
        watch: &EvaluationMonitor,
        read: impl FnOnce(TermId) -> Result<Term>,
    ) -> Result<Term, Stopped> {
        if let Some(term) = id.inline_term() {
            return Ok(term);
        }
        if let Some(term) = self.look_at(id, Term::clone) {
            return Ok(term);
        }
        let term = watch.keep(meter::uncounted(|| read(id)))?;
        meter::count(term.heap_bytes() as i64);
        self.cache.borrow_mut().note(id, &term);
        Ok(term)
    }

    /// What `look` says of the term of an id, if that is held. The term is not copied.
    pub(crate) fn look_at<T>(&self, id: TermId, look: impl FnOnce(&Term) -> T) -> Option<T> {
        self.cache.borrow().get(id).map(look)
    }
}

#[cfg(test)]
mod tests {
    use oxrdf::Literal;

    use super::*;
    use crate::model::id::Tag;
    use crate::sparql::Limits;
    use crate::{Error, LimitKind};

    #[test]
    fn a_computed_term_keeps_its_place_and_is_counted_once() {
        let term = |number: usize| Term::from(Literal::new_simple_literal(format!("computed {number:02}")));
        let bytes = 2 * (term(0).heap_bytes() + size_of::<Term>()) as u64;
        let watch = EvaluationMonitor::start(&Limits::new().computed_bytes_max(10 * bytes));
        let terms = KnownTerms::new(&watch);
        for number in (0..10).chain(0..10) {
            let place = terms.place(term(number), &watch).expect("there is room");
            assert_eq!(place as usize, number);
            assert_eq!(terms.computed(place), term(number));
        }
        let error = terms.place(term(10), &watch).expect_err("an eleventh term").into_failure(&watch);
        assert!(matches!(error, Error::LimitReached { what: LimitKind::ComputedTerms, .. }), "{error}");
    }

    #[test]
    fn a_stored_term_is_read_again_only_until_it_is_held() {
        let watch = EvaluationMonitor::start(&Limits::new());
        let terms = KnownTerms::new(&watch);
        let (id, text) = (TermId::new(Tag::IRI, 7), Term::from(Literal::new_simple_literal("read")));
        let mut reads = 0;
        for _ in 0..5 {
            let mut read = |_| {
                reads += 1;
                Ok(text.clone())
            };
            assert_eq!(terms.stored(id, &watch, &mut read).expect("a term"), text);
        }
        assert_eq!(reads, 2, "the cache keeps a term that is read a second time");
        assert_eq!(terms.look_at(id, Term::is_literal), Some(true));
        let failed = terms.stored(TermId::new(Tag::IRI, 8), &watch, |_| Err(Error::Cancelled));
        assert!(matches!(failed.expect_err("it fails").into_failure(&watch), Error::Cancelled));
    }
}
