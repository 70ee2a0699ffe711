//! Terms that a transaction has met, by the hash of their bytes, so that it asks the dictionary once for each.
//!
//! Terms that the transaction adds are here alone at first: [`KnownTerms::rows`] are what the dictionary gets when they
//! are written, many at once and sorted. Invariant: each of these is found by [`KnownTerms::find`] until it is written.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::dictionary::IriNamespaces;
use crate::model::id::{IdKey, Tag, TermId};
use crate::tables::HashedAlready;

/// Numbers of terms, and what is stored under each.
type TermRows = Vec<(IdKey, Vec<u8>)>;

/// Hashes of terms, and the number of each.
type NumberRows = Vec<([u8; 16], IdKey)>;

/// See the module.
#[derive(Default)]
pub(crate) struct KnownTerms {
    terms: Vec<KnownTerm>,
    by_hash: HashMap<u128, u32, BuildHasherDefault<HashedAlready>>,
    /// The bytes of all terms, one behind the other.
    bytes: Vec<u8>,
    /// Which of them are not written yet.
    unwritten: Vec<u32>,
}

struct KnownTerm {
    start: u32,
    length: u32,
    id: TermId,
    hash: u128,
    /// Whether it is not written yet.
    is_unwritten: bool,
}

/// What is known of a term.
pub(crate) enum KnownLookup {
    /// Its number, and whether it is not written yet.
    Term(TermId, bool),
    /// Another term has its hash.
    Collision,
    /// Nothing.
    Unknown,
}

impl KnownTerms {
    /// What is known of the term with this hash and these bytes.
    pub(crate) fn find(&self, hash: u128, encoded: &[u8]) -> KnownLookup {
        let Some(&place) = self.by_hash.get(&hash) else { return KnownLookup::Unknown };
        let term = &self.terms[place as usize];
        match self.bytes_of(term) == encoded {
            true => KnownLookup::Term(term.id, term.is_unwritten),
            false => KnownLookup::Collision,
        }
    }

    /// Whether a term of such bytes can be kept.
    pub(crate) fn takes(encoded: &[u8]) -> bool {
        encoded.len() <= TERM_BYTES_MAX
    }

    /// Whether nothing more can be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.terms.len() >= TERMS_MAX || self.bytes.len() > BYTES_MAX
    }

    /// Forgets all terms.
    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.by_hash.clear();
        self.bytes.clear();
        self.unwritten.clear();
    }

    /// Keeps a term that the dictionary has. Requires: nothing is known of its hash, and there is room.
    pub(crate) fn note(&mut self, hash: u128, encoded: &[u8], id: TermId) {
        self.push(hash, encoded, id, false);
    }

    /// Keeps a term that is to be written. Requires: as for [`KnownTerms::note`], and that no term of the dictionary
    /// has this hash.
    pub(crate) fn add(&mut self, hash: u128, encoded: &[u8], id: TermId) {
        let place = self.push(hash, encoded, id, true);
        self.unwritten.push(place);
    }

    fn push(&mut self, hash: u128, encoded: &[u8], id: TermId, is_unwritten: bool) -> u32 {
        let (place, start) = (self.terms.len() as u32, self.bytes.len() as u32);
        self.bytes.extend_from_slice(encoded);
        self.terms.push(KnownTerm { start, length: encoded.len() as u32, id, hash, is_unwritten });
        let before = self.by_hash.insert(hash, place);
        debug_assert!(before.is_none(), "a hash is known once");
        place
    }

    /// Whether this is the number of a term that is not written yet, as far as is easily told: numbers are given in
    /// rising order.
    pub(crate) fn is_unwritten(&self, id: TermId) -> bool {
        let number_at = |place: &u32| self.terms[*place as usize].id;
        let at = self.unwritten.binary_search_by_key(&id.payload(), |place| number_at(place).payload());
        at.is_ok_and(|at| number_at(&self.unwritten[at]) == id)
    }

    /// Whether a term is not written yet.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Rows of the tables `terms` and `ids` for terms that are not written yet, each sorted by key.
    pub(crate) fn rows(&self, namespaces: &IriNamespaces) -> (TermRows, NumberRows) {
        let terms = || self.unwritten.iter().map(|&place| &self.terms[place as usize]);
        let mut by_id: Vec<&KnownTerm> = terms().collect();
        by_id.sort_unstable_by_key(|term| term.id);
        let stored = |term: &KnownTerm| {
            let (encoded, mut short) = (self.bytes_of(term), Vec::new());
            let is_short = term.id.tag() == Tag::IRI && namespaces.shorten(encoded, &mut short);
            if is_short { short } else { encoded.to_vec() }
        };
        let rows_of_terms = by_id.into_iter().map(|term| (term.id.key(), stored(term))).collect();
        let mut by_hash: Vec<(u128, TermId)> = terms().map(|term| (term.hash, term.id)).collect();
        by_hash.sort_unstable();
        let rows_of_ids = by_hash.into_iter().map(|(hash, id)| (hash.to_be_bytes(), id.key())).collect();
        (rows_of_terms, rows_of_ids)
    }

    /// All terms are written.
    pub(crate) fn are_written(&mut self) {
        for place in self.unwritten.drain(..) {
            self.terms[place as usize].is_unwritten = false;
        }
    }

    fn bytes_of(&self, term: &KnownTerm) -> &[u8] {
        &self.bytes[term.start as usize..][..term.length as usize]
    }
}

/// Beyond this, terms are forgotten. (Tests come to few.)
const TERMS_MAX: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };
/// As [`TERMS_MAX`], of their bytes.
const BYTES_MAX: usize = 8 << 20;
/// Longer terms are looked up each time.
const TERM_BYTES_MAX: usize = 1 << 10;
const _: () = assert!(BYTES_MAX + TERM_BYTES_MAX <= u32::MAX as usize);
