//! Terms that an evaluation has read from the dictionary: results, filters and sorting ask for the same ones again and
//! again.
//!
//! A table in which each number has one place. A term is kept when it is requested a second time while its number is
//! the last at its place. So terms that are used once are not copied. Invariant: texts and places together use no more
//! than the limit.

use oxrdf::Term;

use super::heap::HeapBytes;
use crate::TermId;

/// See the module.
pub(crate) struct TermCache {
    places: Vec<CachedText>,
    held: usize,
    text_bytes: u64,
    bytes_max: u64,
}

enum CachedText {
    Free,
    /// This term was read last.
    Seen(TermId),
    Held(TermId, Term),
}

impl TermCache {
    /// An empty one, of so many bytes at most.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { places: Vec::new(), held: 0, text_bytes: 0, bytes_max }
    }

    /// The term of a number, if it is kept.
    pub(crate) fn get(&self, id: TermId) -> Option<&Term> {
        match self.places.get(self.place_of(id))? {
            CachedText::Held(number, term) if *number == id => Some(term),
            _ => None,
        }
    }

    /// A term was read.
    pub(crate) fn note(&mut self, id: TermId, term: &Term) {
        if self.held * 2 >= self.places.len() && !self.grow() && self.places.is_empty() {
            return;
        }
        let at = self.place_of(id);
        let was_seen = matches!(self.places[at], CachedText::Seen(number) if number == id);
        let bytes = term.heap_bytes() as u64;
        let is_kept = was_seen && self.bytes() + bytes <= self.bytes_max;
        if !is_kept && matches!(self.places[at], CachedText::Held(..)) && self.bytes() + bytes > self.bytes_max {
            return;
        }
        let new = if is_kept { CachedText::Held(id, term.clone()) } else { CachedText::Seen(id) };
        if let CachedText::Held(_, old) = std::mem::replace(&mut self.places[at], new) {
            self.held -= 1;
            self.text_bytes -= old.heap_bytes() as u64;
        }
        if is_kept {
            self.held += 1;
            self.text_bytes += bytes;
        }
    }

    fn bytes(&self) -> u64 {
        self.text_bytes + (self.places.len() * size_of::<CachedText>()) as u64
    }

    fn place_of(&self, id: TermId) -> usize {
        let mask = self.places.len().wrapping_sub(1);
        (id.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask
    }

    /// Makes places for four times as many, unless these take more than half of what there may be, or there is too much
    /// text. Returns whether it did.
    fn grow(&mut self) -> bool {
        let count = (4 * self.places.len()).max(PLACES_FIRST);
        let bytes = (count * size_of::<CachedText>()) as u64;
        if bytes > self.bytes_max / 2 || bytes + self.text_bytes > self.bytes_max {
            return false;
        }
        let before = std::mem::take(&mut self.places);
        self.places.resize_with(count, || CachedText::Free);
        for place in before {
            if let CachedText::Held(id, _) | CachedText::Seen(id) = place {
                let at = self.place_of(id);
                // Two that had places of their own have them in a larger table too.
                self.places[at] = place;
            }
        }
        true
    }
}

const PLACES_FIRST: usize = 256;

#[cfg(test)]
mod tests {
    use oxrdf::{Literal, NamedNode};

    use super::*;
    use crate::model::id::Tag;

    fn id(number: u64) -> TermId {
        TermId::new(Tag::IRI, number)
    }

    #[test]
    fn a_term_is_kept_when_it_is_read_again_and_no_other_is_given_for_it() {
        let mut cache = TermCache::new(1 << 20);
        let term = |number: u64| Term::from(NamedNode::new_unchecked(format!("http://a/{number}")));
        for number in (0..100).chain(0..100) {
            cache.note(id(number), &term(number));
        }
        let kept: Vec<u64> = (0..100).filter(|&number| cache.get(id(number)).is_some()).collect();
        assert!(kept.len() > 50, "{kept:?}");
        assert!(kept.iter().all(|&number| cache.get(id(number)) == Some(&term(number))));
        cache.note(id(1000), &term(1000));
        assert_eq!(cache.get(id(1000)), None);
    }

    #[test]
    fn it_never_takes_more_than_it_may() {
        for bytes_max in [0, 1000, 100_000, 1 << 20] {
            let mut cache = TermCache::new(bytes_max);
            for number in 0..20_000_u64 {
                let term = Literal::new_simple_literal("x".repeat((number as usize * 7) % 300)).into();
                // The second time it is kept, if there is room.
                for _ in 0..2 {
                    cache.note(id(number), &term);
                    assert!(cache.bytes() <= bytes_max, "{bytes_max}");
                }
            }
            assert_eq!(cache.held > 0, bytes_max >= 100_000, "{bytes_max}");
        }
    }
}
