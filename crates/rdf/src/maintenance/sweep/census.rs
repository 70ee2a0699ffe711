//! Which numbers of terms quads use: a bit for each number, in pieces, so that numbers which are far apart take little
//! memory.

use std::collections::HashMap;
use std::ops::Bound;

use fulgurite::{KeySuffix, Table};

use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::Position;
use crate::quads::shared::Shared;
use crate::tables::{Reads, Tables};

/// The numbers of dictionary terms that quads have, and that graphs are named by.
#[derive(Debug, Default)]
pub struct Census {
    pieces: HashMap<u64, [u64; PIECE_WORDS]>,
}

impl Census {
    /// Reads all quads, of one index of each kind of graph, and all names of graphs. `each` is called every few
    /// thousand quads.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports; what `each` returns.
    pub fn take(
        reads: &impl Reads,
        tables: &Tables,
        shared: &Shared,
        mut each: impl FnMut(u64) -> Result<()>,
    ) -> Result<Self> {
        let mut census = Self::default();
        for indexes in tables.indexes() {
            let index = indexes.first().expect("a store has indexes of all kinds");
            let order = index.order;
            let note = |key: &[u8]| order.quad_of(key).map(|quad| census.note_all(Position::ALL.map(|at| quad.at(at))));
            go_over(reads, shared, &index.table, note, &mut each)?;
        }
        let note = |key: &[u8]| TermId::from_key(key).map(|graph| census.note_all([graph]));
        go_over(reads, shared, &tables.graphs, note, |_| Ok(()))?;
        Ok(census)
    }

    fn note_all<const N: usize>(&mut self, ids: [TermId; N]) {
        for id in ids.into_iter().filter(|id| id.tag().is_of_dictionary()) {
            let (piece, word, bit) = place_of(id);
            self.pieces.entry(piece).or_default()[word] |= bit;
        }
    }

    /// Whether a term of the dictionary was in use.
    pub fn has(&self, id: TermId) -> bool {
        let (piece, word, bit) = place_of(id);
        self.pieces.get(&piece).is_some_and(|piece| piece[word] & bit != 0)
    }
}

/// Numbers of the dictionary are given out once, whatever the kind of the term: so the payload says which it is.
fn place_of(id: TermId) -> (u64, usize, u64) {
    let number = id.payload();
    let within = number % (PIECE_WORDS as u64 * 64);
    (number / (PIECE_WORDS as u64 * 64), (within / 64) as usize, 1 << (within % 64))
}

/// Hands every key of a table to `note`, which answers nothing for those that cannot have been written.
fn go_over(
    reads: &impl Reads,
    shared: &Shared,
    table: &Table,
    mut note: impl FnMut(&[u8]) -> Option<()>,
    mut each: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let (mut last, mut is_damaged) = (Vec::new(), false);
    let mut low = Bound::Unbounded;
    loop {
        let mut keys = 0;
        let from = low.as_ref().map(|key: &Vec<u8>| &key[..]);
        let ended = reads.scan(table, from, Bound::Unbounded, KEYS_PER_LOOK, |key: KeySuffix<'_>| {
            key.complete(&mut last);
            is_damaged |= note(&last).is_none();
            keys += 1;
        })?;
        if is_damaged {
            return Err(shared.damaged_key(table));
        }
        each(keys)?;
        if ended {
            return Ok(());
        }
        low = Bound::Excluded(last.clone());
    }
}

/// 512 numbers.
const PIECE_WORDS: usize = 8;
const KEYS_PER_LOOK: usize = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::Tag;

    #[test]
    fn a_census_has_the_numbers_that_it_was_told_of_and_no_others() {
        let mut census = Census::default();
        let id = |number| TermId::new(Tag::IRI, number);
        let numbers = [0, 1, 63, 64, 511, 512, 1 << 40];
        numbers.iter().for_each(|&number| census.note_all([id(number), TermId::DEFAULT_GRAPH, TermId::new_blank()]));
        for number in numbers {
            assert!(census.has(id(number)));
            assert_eq!(census.has(id(number + 2)), numbers.contains(&(number + 2)));
        }
        assert_eq!(census.pieces.len(), 3);
    }
}
