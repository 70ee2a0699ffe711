//! IRIs of predicates that have been read, for as long as the store is open.
//!
//! A store has few predicates, and every statement has one. A number is never given to another term, so that nothing
//! here is ever wrong; each place is filled once, by the first that comes, so that readers wait for nobody and share
//! nothing that changes. Only what is committed is remembered.

use std::sync::OnceLock;

use crate::model::id::TermId;

/// See the module. It holds [`PLACES`] IRIs of [`IRI_BYTES_MAX`] at most.
#[derive(Default)]
pub struct Predicates {
    places: OnceLock<Box<[Place]>>,
}

type Place = OnceLock<(TermId, Box<str>)>;

impl Predicates {
    /// The IRI of a number, if it is known.
    #[inline]
    pub fn get(&self, id: TermId) -> Option<&str> {
        let (number, iri) = self.places.get()?[place_of(id)].get()?;
        (*number == id).then_some(iri)
    }

    /// Remembers an IRI, if there is room for it.
    pub fn remember(&self, id: TermId, iri: &str) {
        if iri.len() <= IRI_BYTES_MAX {
            let places = self.places.get_or_init(|| (0..PLACES).map(|_| OnceLock::new()).collect());
            places[place_of(id)].get_or_init(|| (id, iri.into()));
        }
    }
}

fn place_of(id: TermId) -> usize {
    (id.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PLACES
}

const PLACES: usize = 1024;
const IRI_BYTES_MAX: usize = 512;
