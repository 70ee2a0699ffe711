//! What a transaction adds: terms and explicit quads, which are kept aside and written to the tables many at once,
//! sorted by the keys of each.
//!
//! Invariants: (1) Whatever reads or changes tables of quads or terms has them written first
//! ([`State::settle`](super::state::State::settle)), so that nobody sees that they were kept aside. (2) A quad that is
//! kept aside is in no index, as the transaction sees these, and the store has no tables of inferred quads. (3) What is
//! kept aside was added after the last savepoint: who returns to that forgets it.

use std::collections::HashSet;

use fulgurite::WriteTxn;

use super::known::KnownTerms;
use crate::dictionary::seeded_hash::SeededHash;
use crate::error::Result;
use crate::model::id::{IdKey, TermId};
use crate::model::pattern::{IdQuad, Position};
use crate::quads::packed_rows::{Ranges, Row, Sorted};
use crate::quads::shared::Shared;
use crate::tables::Index;
use crate::tables::Tables;

/// What is kept aside, and what that needs.
#[derive(Default)]
pub(crate) struct Additions {
    pub(crate) terms: KnownTerms,
    pub(super) quads: HashSet<IdQuad, SeededHash>,
    /// Room for the bytes of a term.
    pub(super) encoded: Vec<u8>,
}

impl Additions {
    /// Forgets what is kept aside, and all terms.
    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.quads.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.quads.is_empty() && !self.terms.has_unwritten()
    }

    pub(super) fn write(&self, txn: &mut WriteTxn, tables: &Tables, shared: &Shared) -> Result<()> {
        if self.terms.has_unwritten() {
            let (terms, ids) = self.terms.rows(&shared.iri_namespaces);
            txn.put_many(&tables.terms, terms)?;
            txn.put_many(&tables.ids, ids)?;
        }
        let is_of_default = |quad: &&IdQuad| quad.graph == TermId::DEFAULT_GRAPH;
        let of_default = self.quads.iter().filter(is_of_default).count();
        if of_default > 0 {
            let quads = self.quads.iter().filter(is_of_default);
            put_quads::<3>(txn, &tables.default_graph, quads, of_default)?;
        }
        if of_default < self.quads.len() {
            let quads = self.quads.iter().filter(|quad| !is_of_default(quad));
            put_quads::<4>(txn, &tables.named_graphs, quads, self.quads.len() - of_default)?;
        }
        Ok(())
    }
}

/// Puts quads that are in none of these indexes into all of them.
fn put_quads<'q, const PLACES: usize>(
    txn: &mut WriteTxn,
    indexes: &[Index],
    quads: impl Iterator<Item = &'q IdQuad>,
    count: usize,
) -> Result<()> {
    if count < SORTED_FROM_QUADS {
        for quad in quads {
            for index in indexes {
                txn.put(&index.table, index.order.key_of(quad).as_bytes(), &[])?;
            }
        }
        return Ok(());
    }
    let row = |quad: &IdQuad| Position::ALL.map(|position| quad.at(position).to_bits());
    let rows: Vec<Row> = quads.map(row).collect();
    let ranges = (count >= PACKED_FROM_QUADS).then(|| Ranges::of(&rows));
    for index in indexes {
        let positions = index.order.positions();
        let columns: [usize; PLACES] = std::array::from_fn(|place| column_of(positions[place]));
        let sorted = match &ranges {
            Some(ranges) => Sorted::new(&rows, ranges, columns),
            None => Sorted::plain(&rows, columns),
        };
        txn.put_many(&index.table, sorted.iter().map(|numbers| (key_of(numbers), [])))?;
    }
    Ok(())
}

/// Where a row has the number of this place.
fn column_of(position: Position) -> usize {
    Position::ALL.iter().position(|&other| other == position).expect("all has each")
}

fn key_of<const PLACES: usize>(numbers: [u64; PLACES]) -> IdKey {
    let mut key = IdKey::default();
    for number in numbers {
        key.push(TermId::from_bits(number).expect("these are the bits of a quad's numbers"));
    }
    key
}

/// So many quads are kept aside at most. (Tests come to few, here and below.)
pub(super) const QUADS_MAX: usize = if cfg!(test) { 1 << 8 } else { 1 << 17 };
/// Fewer are put one by one.
const SORTED_FROM_QUADS: usize = 8;
/// Fewer are sorted as they are: what it takes to pack them costs as much as to sort some hundreds.
const PACKED_FROM_QUADS: usize = if cfg!(test) { 1 << 6 } else { 1 << 10 };
/// A larger room for the bytes of a term is not kept.
pub(super) const ENCODED_BYTES_KEPT: usize = 1 << 16;
