//! The statements of a pattern in a snapshot, as batches of bytes: rows, and each term once.
//!
//! | bytes | |
//! |---|---|
//! | 8 | 0 if no statements follow; otherwise the handle of an iterator for them, in its first batch, and 1 later |
//! | 4 | the number of rows |
//! | 4 | the number of terms |
//! | 4 | the number of predicates |
//! | 4 | zero |
//! | 16 | the ids of the predicate and the object of the pattern, 0 for each that is not given |
//! | 16 for each row | subject, predicate, object and graph, as below |
//! | 8 for each predicate | its id |
//! | 8 for each term | its id |
//! | the rest | the terms (`terms`) |
//!
//! Numbers are little-endian. Predicates come without their terms, because a store has few of them and Java keeps
//! them. In a row, predicates are positions among the predicates, and the others are positions among the terms.
//! Instead of a position, [`DEFAULT_GRAPH`] is the default graph, and [`GIVEN`] is the subject or predicate of the
//! pattern. Rows with the same id have the same position. Seldom, an id has two positions ([`Distinct`]).

use fulgurite_rdf::{IdPattern, IdQuad, QuadIds, QuadStep, Quads, Snapshot, StatementKinds, TermId};
use jni::sys::jlong;

use super::rows::KEYS_MAX;
use super::terms::push_term;
use crate::error::Result;

/// Stands for the default graph.
const DEFAULT_GRAPH: u32 = u32::MAX;

/// Stands for the subject or predicate of the pattern.
const GIVEN: u32 = u32::MAX - 1;

/// The bytes before the rows.
const HEAD_BYTES: usize = 40;

/// The bytes of a row.
const ROW_BYTES: usize = 16;

/// Batches with more bytes are split, down to one statement.
const BYTES_MAX: usize = 64 << 20;

/// So many terms are read before the bytes are looked at.
const TERMS_AT_ONCE: usize = 256;

/// Larger buffers are freed after a batch.
const KEPT_BYTES: usize = 1 << 20;

/// Statements that are read in batches.
pub struct Statements {
    snapshot: Snapshot,
    rows: QuadIds,
    /// Quads that were read and did not fit into the last batch.
    left: Vec<IdQuad>,
    pattern: IdPattern,
    /// [`BYTES_MAX`], except in tests.
    bytes_max: usize,
}

/// What batches are made in. Batches of a thread share it, to save allocations.
#[derive(Default)]
pub struct Scratch {
    /// The batch.
    pub bytes: Vec<u8>,
    quads: Vec<IdQuad>,
    /// The ids of the terms.
    terms: Distinct,
    /// The ids of the predicates.
    predicates: Distinct,
}

impl Statements {
    /// The statements of a pattern.
    pub fn new(snapshot: &Snapshot, pattern: &IdPattern, kinds: StatementKinds) -> Self {
        let rows = match kinds {
            StatementKinds::All => snapshot.quads(pattern),
            kinds => snapshot.of_kinds(kinds).quads(pattern),
        };
        Self { snapshot: snapshot.clone(), rows, left: Vec::new(), pattern: *pattern, bytes_max: BYTES_MAX }
    }

    /// Puts at most `count` statements into `scratch.bytes`, and returns whether more may follow. These may be none
    /// although others follow: it looks at about [`KEYS_MAX`] keys of indexes at most.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn next(&mut self, count: usize, scratch: &mut Scratch) -> Result<bool> {
        scratch.quads.clear();
        scratch.quads.extend(self.left.drain(..count.min(self.left.len())));
        let (mut is_end, mut keys_left) = (false, KEYS_MAX);
        while scratch.quads.len() < count {
            match self.rows.advance(&mut keys_left)? {
                QuadStep::Quad(quad) => scratch.quads.push(quad),
                QuadStep::Paused => break,
                QuadStep::End => {
                    is_end = true;
                    break;
                }
            }
        }
        self.write(scratch)?;
        while scratch.bytes.len() > self.bytes_max && scratch.quads.len() > 1 {
            let half = scratch.quads.split_off(scratch.quads.len() / 2);
            self.left.splice(..0, half);
            self.write(scratch)?;
        }
        Ok(!is_end || !self.left.is_empty())
    }

    /// Writes the batch of the quads in `scratch`. A batch that is to be split lacks the terms after the first one that
    /// makes it too large.
    fn write(&self, scratch: &mut Scratch) -> Result<()> {
        scratch.write_rows(&self.pattern);
        let Scratch { bytes, quads, terms, .. } = scratch;
        let bytes_max = if quads.len() > 1 { self.bytes_max } else { usize::MAX };
        for ids in terms.ids.chunks(TERMS_AT_ONCE) {
            if bytes.len() > bytes_max {
                break;
            }
            self.snapshot.for_each_term(ids, &mut |term| {
                if bytes.len() <= bytes_max {
                    push_term(bytes, term);
                }
            })?;
        }
        Ok(())
    }
}

impl Scratch {
    /// Frees the memory of a large batch.
    pub fn trim(&mut self) {
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }

    /// Writes whether statements follow the batch.
    pub fn set_following(&mut self, number: jlong) {
        self.bytes[..8].copy_from_slice(&number.to_le_bytes());
    }

    /// Writes the head and the rows, and notes the ids of their terms.
    fn write_rows(&mut self, pattern: &IdPattern) {
        let Self { bytes, quads, terms, predicates } = self;
        terms.begin();
        predicates.begin();
        bytes.clear();
        bytes.reserve(HEAD_BYTES + ROW_BYTES * quads.len());
        bytes.resize(HEAD_BYTES, 0);
        // Quads with the same subject often follow each other.
        let mut subject = (TermId::DEFAULT_GRAPH, GIVEN);
        for quad in &*quads {
            if pattern.subject.is_none() && quad.subject != subject.0 {
                subject = (quad.subject, terms.position(quad.subject));
            }
            let positions = [
                subject.1,
                if pattern.predicate.is_some() { GIVEN } else { predicates.position(quad.predicate) },
                terms.position(quad.object),
                if quad.graph == TermId::DEFAULT_GRAPH { DEFAULT_GRAPH } else { terms.position(quad.graph) },
            ];
            let mut row = [0; ROW_BYTES];
            for (place, position) in row.as_chunks_mut::<4>().0.iter_mut().zip(positions) {
                *place = position.to_le_bytes();
            }
            bytes.extend_from_slice(&row);
        }
        for (number, at) in [(quads.len(), 8), (terms.ids.len(), 12), (predicates.ids.len(), 16)] {
            bytes[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
        }
        for (id, at) in [(pattern.predicate, 24), (pattern.object, 32)] {
            bytes[at..at + 8].copy_from_slice(&id.map_or(0, TermId::to_bits).to_le_bytes());
        }
        for id in predicates.ids.iter().chain(&terms.ids) {
            bytes.extend_from_slice(&id.to_bits().to_le_bytes());
        }
    }
}

/// The ids of a batch, in the order in which they were first met. An id is found by a hash. If two ids have one hash,
/// the later one replaces the earlier one, which has another position when it is met again.
#[derive(Default)]
struct Distinct {
    ids: Vec<TermId>,
    /// By the hashes of ids, the position of the id that was met last. It may be one of an earlier batch, so a position
    /// counts only if it has the id. Empty before the first batch.
    positions: Vec<u32>,
}

/// The number of hashes is a power of two, with this many bits. Java asks for as many statements at most, and these
/// have about as many terms.
const HASH_BITS: u32 = 12;

impl Distinct {
    /// Begins another batch.
    fn begin(&mut self) {
        self.ids.clear();
        self.positions.resize(1 << HASH_BITS, 0);
    }

    /// The position of an id, which is added if it is not found. Requires: a batch has begun.
    #[inline]
    fn position(&mut self, id: TermId) -> u32 {
        let hash = id.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS);
        let position = &mut self.positions[hash as usize];
        if self.ids.get(*position as usize) != Some(&id) {
            *position = self.ids.len() as u32;
            self.ids.push(id);
        }
        *position
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
    use fulgurite_rdf::{Store, StoreOptions};

    use super::*;

    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://a/{name}"))
    }

    /// Rows and terms of a batch.
    fn counts(bytes: &[u8]) -> (u32, u32) {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        (number(8), number(12))
    }

    #[test]
    fn a_batch_has_each_term_once_and_a_large_batch_is_split() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let long = "x".repeat(20 << 20);
        store
            .update(|txn| {
                for number in 0..10 {
                    let object = Literal::from(format!("{number}{}", if number < 4 { &long } else { "" }));
                    txn.insert(&Quad::new(iri("s"), iri("p"), object, GraphName::DefaultGraph))?;
                }
                Ok(())
            })
            .unwrap();
        let snapshot = store.snapshot().unwrap();
        let mut scratch = Scratch::default();
        let mut statements = Statements::new(&snapshot, &IdPattern::ALL, StatementKinds::All);
        let mut rows = 0;
        let mut batches = 0;
        while statements.next(10, &mut scratch).unwrap() || !scratch.quads.is_empty() {
            let (read, terms) = counts(&scratch.bytes);
            assert_eq!(terms, read + 1);
            assert!(scratch.bytes.len() <= BYTES_MAX);
            rows += read;
            batches += 1;
        }
        assert_eq!(rows, 10);
        assert!(batches > 1);
    }

    #[test]
    fn a_batch_without_statements_may_be_followed_by_others() {
        let directory = tempfile::tempdir().unwrap();
        let orders = ["spo", "spog"].map(|name| fulgurite_rdf::Order::parse(name).unwrap());
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new().orders(orders)).unwrap();
        let quad = |number: i64| Quad::new(iri("s"), iri("p"), Literal::from(number), GraphName::DefaultGraph);
        store.update(|txn| (0..20_000).try_for_each(|number| txn.insert(&quad(number)).map(drop))).unwrap();
        let snapshot = store.snapshot().unwrap();
        let object = snapshot.id(Literal::from(19_999).as_ref().into()).unwrap();
        let mut scratch = Scratch::default();
        let pattern = IdPattern { object, ..IdPattern::ALL };
        let mut statements = Statements::new(&snapshot, &pattern, StatementKinds::All);
        assert!(statements.next(10, &mut scratch).unwrap());
        assert_eq!(counts(&scratch.bytes), (0, 0));
        assert!(!statements.next(10, &mut scratch).unwrap());
        assert_eq!(counts(&scratch.bytes), (1, 2));
    }

    #[test]
    fn large_terms_after_many_small_ones_are_returned_in_small_batches_and_little_memory() {
        const BYTES_MAX: usize = 256 << 10;
        let (small, large) = (3000, 400);
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        store
            .update(|txn| {
                for number in 0..small + large {
                    let length = if number < small { 0 } else { 4096 };
                    let object = Literal::from(format!("{number:05} {}", "x".repeat(length)));
                    txn.insert(&Quad::new(iri("s"), iri("p"), object, GraphName::DefaultGraph))?;
                }
                Ok(())
            })
            .unwrap();
        let snapshot = store.snapshot().unwrap();
        let quads: Vec<IdQuad> = snapshot.quads(&IdPattern::ALL).map(|quad| quad.unwrap()).collect();
        assert_eq!(quads.len(), small + large);
        let mut scratch = Scratch::default();
        let mut statements = Statements::new(&snapshot, &IdPattern::ALL, StatementKinds::All);
        statements.bytes_max = BYTES_MAX;
        let (mut read, mut count, mut follows) = (Vec::new(), 4096, true);
        while follows {
            follows = statements.next(count, &mut scratch).unwrap();
            assert!(scratch.quads.len() <= count && scratch.bytes.len() <= BYTES_MAX);
            // A buffer grows to twice its bytes at most.
            assert!(scratch.bytes.capacity() <= 3 * BYTES_MAX, "{}", scratch.bytes.capacity());
            let mut terms = Vec::new();
            for id in &scratch.terms.ids {
                push_term(&mut terms, snapshot.term(*id).unwrap().as_ref());
            }
            let ids = scratch.terms.ids.len() + scratch.predicates.ids.len();
            let head = HEAD_BYTES + ROW_BYTES * scratch.quads.len() + 8 * ids;
            assert!(scratch.bytes[head..] == terms, "a batch has all of its terms");
            read.extend_from_slice(&scratch.quads);
            // Fewer statements than are left from the batch before.
            count = (count / 2).max(32);
        }
        assert!(read == quads);
    }

    #[test]
    fn an_id_of_a_batch_has_one_position_wherever_it_is_unless_its_place_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let (first, second, class) = (iri("first"), iri("second"), iri("class"));
        store
            .update(|txn| {
                for (subject, object) in [(&first, &class), (&second, &class), (&first, &second), (&second, &first)] {
                    for predicate in ["p", "q"] {
                        let graph = GraphName::DefaultGraph;
                        txn.insert(&Quad::new(subject.clone(), iri(predicate), object.clone(), graph))?;
                    }
                }
                Ok(())
            })
            .unwrap();
        let snapshot = store.snapshot().unwrap();
        let mut scratch = Scratch::default();
        // The second batch of the scratch must not find what the first one had.
        for _ in 0..2 {
            let mut statements = Statements::new(&snapshot, &IdPattern::ALL, StatementKinds::All);
            assert!(!statements.next(10, &mut scratch).unwrap());
            assert_eq!(counts(&scratch.bytes), (8, 3));
            assert_eq!(scratch.predicates.ids.len(), 2);
            for (index, quad) in scratch.quads.iter().enumerate() {
                let row = &scratch.bytes[HEAD_BYTES + ROW_BYTES * index..][..ROW_BYTES];
                let position = |at: usize| u32::from_le_bytes(row[4 * at..4 * at + 4].try_into().unwrap()) as usize;
                assert_eq!(scratch.terms.ids[position(0)], quad.subject);
                assert_eq!(scratch.predicates.ids[position(1)], quad.predicate);
                assert_eq!(scratch.terms.ids[position(2)], quad.object);
                assert_eq!(position(3), DEFAULT_GRAPH as usize);
            }
        }
    }

    #[test]
    fn ids_with_one_hash_keep_their_positions_in_the_rows_they_are_in() {
        const COUNT: u64 = 2 << HASH_BITS;
        let id = |number: u64| TermId::from_bits(1 << 56 | number).unwrap();
        let mut ids = Distinct::default();
        // Later batches find the positions of earlier ones.
        for first in [0, 0, 7, 1 << 20] {
            ids.begin();
            for round in 0..2 {
                for number in 0..COUNT {
                    let position = ids.position(id(first + number)) as usize;
                    assert_eq!(ids.ids[position], id(first + number));
                    assert!(round == 1 || position == number as usize);
                }
            }
            assert!(ids.ids.len() > COUNT as usize, "some ids have one hash");
            let last = ids.position(id(first + COUNT - 1));
            assert_eq!(ids.position(id(first + COUNT - 1)), last);
        }
    }
}
