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
//! pattern. A row has the positions of the row before where the ids are the same.

use fulgurite_rdf::{IdPattern, IdQuad, QuadIds, Quads, Snapshot, StatementKinds, TermId};
use jni::sys::jlong;

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

/// Larger buffers are freed after a batch.
const KEPT_BYTES: usize = 1 << 20;

/// Statements that are read in batches.
pub struct Statements {
    snapshot: Snapshot,
    rows: QuadIds,
    /// Quads that were read and did not fit into the last batch.
    left: Vec<IdQuad>,
    pattern: IdPattern,
}

/// What batches are made in. Batches of a thread share it, to save allocations.
#[derive(Default)]
pub struct Scratch {
    /// The batch.
    pub bytes: Vec<u8>,
    quads: Vec<IdQuad>,
    /// The ids of the terms.
    ids: Vec<TermId>,
    /// The ids of the predicates.
    predicates: Vec<TermId>,
}

impl Statements {
    /// The statements of a pattern.
    pub fn new(snapshot: &Snapshot, pattern: &IdPattern, kinds: StatementKinds) -> Self {
        let rows = match kinds {
            StatementKinds::All => snapshot.quads(pattern),
            kinds => snapshot.of_kinds(kinds).quads(pattern),
        };
        Self { snapshot: snapshot.clone(), rows, left: Vec::new(), pattern: *pattern }
    }

    /// Puts at most `count` statements into `scratch.bytes`, and returns whether more may follow.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn next(&mut self, count: usize, scratch: &mut Scratch) -> Result<bool> {
        scratch.quads.clear();
        scratch.quads.append(&mut self.left);
        for quad in self.rows.by_ref().take(count.saturating_sub(scratch.quads.len())) {
            scratch.quads.push(quad?);
        }
        let is_end = scratch.quads.len() < count;
        self.write(scratch)?;
        while scratch.bytes.len() > BYTES_MAX && scratch.quads.len() > 1 {
            let half = scratch.quads.split_off(scratch.quads.len() / 2);
            self.left.splice(..0, half);
            self.write(scratch)?;
        }
        Ok(!is_end || !self.left.is_empty())
    }

    fn write(&self, scratch: &mut Scratch) -> Result<()> {
        scratch.write_rows(&self.pattern);
        let Scratch { bytes, ids, .. } = scratch;
        Ok(self.snapshot.terms(ids, &mut |term| push_term(bytes, term))?)
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
        let Self { bytes, quads, ids, predicates } = self;
        ids.clear();
        predicates.clear();
        bytes.clear();
        bytes.reserve(HEAD_BYTES + ROW_BYTES * quads.len());
        bytes.resize(HEAD_BYTES, 0);
        let mut row = [Column::default(); 4];
        for quad in &*quads {
            let [subject, predicate, object, graph] = &mut row;
            let positions = [
                if pattern.subject.is_some() { GIVEN } else { subject.position(quad.subject, ids) },
                if pattern.predicate.is_some() { GIVEN } else { predicate.position(quad.predicate, predicates) },
                object.position(quad.object, ids),
                if quad.graph == TermId::DEFAULT_GRAPH { DEFAULT_GRAPH } else { graph.position(quad.graph, ids) },
            ];
            bytes.extend_from_slice(bytemuck::cast_slice(&positions.map(u32::to_le)));
        }
        for (number, at) in [(quads.len(), 8), (ids.len(), 12), (predicates.len(), 16)] {
            bytes[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
        }
        for (id, at) in [(pattern.predicate, 24), (pattern.object, 32)] {
            bytes[at..at + 8].copy_from_slice(&id.map_or(0, TermId::to_bits).to_le_bytes());
        }
        for id in predicates.iter().chain(&*ids) {
            bytes.extend_from_slice(&id.to_bits().to_le_bytes());
        }
    }
}

/// What a column has in the last row.
#[derive(Clone, Copy, Default)]
struct Column {
    id: Option<TermId>,
    position: u32,
}

impl Column {
    /// The position of the next id of the column, which is added to `ids` if it is another one.
    fn position(&mut self, id: TermId, ids: &mut Vec<TermId>) -> u32 {
        if self.id != Some(id) {
            *self = Self { id: Some(id), position: ids.len() as u32 };
            ids.push(id);
        }
        self.position
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
}
