//! [`Packed`]: reads of a completed database.

use fulgurite::{Read, ReadTxn, Table};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::Fact;
use crate::layout::growing::key_entry;
use crate::layout::hashes::{ENTRY_SLOTS, first_slot, hash, may_be, place, slots};
use crate::layout::index::Node;
use crate::layout::places::{Place, entry_of};
use crate::layout::records::{PIECE_HEADER_BYTES, Piece, Record};
use crate::layout::tables::PackedTables;

/// The upper level of a database's index, in memory.
#[derive(Default)]
pub struct Root {
    /// Nodes, in order.
    nodes: Vec<Node<Vec<u8>>>,
}

impl Root {
    /// Reads it.
    pub fn read(txn: &ReadTxn, table: &Table) -> Result<Self> {
        let nodes = txn.range(table, ..)?.map(|entry| Node::new(entry?.1.to_vec()));
        Ok(Self { nodes: nodes.collect::<Result<_>>()? })
    }

    /// The number of the node with the first bound above `key`.
    fn above(&self, key: &[u8]) -> Result<Option<u64>> {
        // Damage sorts before: the node itself reports it.
        let at = self.nodes.partition_point(|node| node.last().is_ok_and(|last| last <= key));
        self.nodes.get(at).map_or(Ok(None), |node| node.above(key))
    }
}

/// A completed database in a snapshot.
#[derive(Clone, Copy)]
pub struct Packed<'t> {
    pub txn: &'t ReadTxn,
    pub tables: &'t PackedTables,
    pub root: &'t Root,
    pub first: FactId,
    pub end: FactId,
}

/// A record, and the piece that it is in.
pub struct Found<'t> {
    pub number: u64,
    pub piece: Piece<'t>,
    pub record: Record,
}

impl<'t> Packed<'t> {
    /// The record with this key.
    pub fn get(self, predicate: PredicateId, key: &[u8]) -> Result<Option<Found<'t>>> {
        let slots = slots(self.end.get() - self.first.get());
        let hash = hash(predicate, key);
        let mut at = first_slot(hash, slots);
        // A sound table has a free slot, and is not searched as a whole.
        let mut searched = 0;
        while searched <= slots {
            let entry = self.txn.get(&self.tables.hashes, (at / ENTRY_SLOTS as u64).to_be_bytes())?;
            let entry = entry.ok_or_else(no_slots)?;
            let (slots_here, []) = entry.as_chunks::<8>() else { return Err(no_slots()) };
            let from = (at % ENTRY_SLOTS as u64) as usize;
            for slot in slots_here.get(from..).unwrap_or_default() {
                let slot = u64::from_le_bytes(*slot);
                let Some(place) = place(slot) else { return Ok(None) };
                if may_be(slot, hash) {
                    let found = self.at(place)?;
                    if found.piece.predicate() == predicate && found.piece.key(found.record) == key {
                        return Ok(Some(found));
                    }
                }
            }
            let left = slots_here.len().checked_sub(from).filter(|left| *left > 0).ok_or_else(no_slots)?;
            searched += left as u64;
            at += left as u64;
            if at >= slots {
                at = 0;
            }
        }
        Err(no_slots())
    }

    /// The fact with this id.
    pub fn fact(self, id: FactId) -> Result<Fact<'t>> {
        let found = self.found(id)?;
        Ok(found.piece.fact(found.record, self.first))
    }

    /// The record of the fact with this id.
    pub fn found(self, id: FactId) -> Result<Found<'t>> {
        let rank = id.get() - self.first.get();
        let (entry, index) = entry_of(rank);
        let places = self.txn.get(&self.tables.places, entry.to_be_bytes())?.ok_or_else(no_places)?;
        let found = self.at(Place::read(&places, index)?)?;
        if found.record.rank == rank { Ok(found) } else { Err(no_places()) }
    }

    /// The record at a place.
    pub fn at(self, place: Place) -> Result<Found<'t>> {
        let piece = self.piece(place.piece)?.ok_or_else(no_record)?;
        let record = piece.record(place.at)?.ok_or_else(no_record)?;
        Ok(Found { number: place.piece, piece, record })
    }

    /// The first record of the predicate with `key` or a greater one.
    pub fn lower_bound(self, predicate: PredicateId, key: &[u8]) -> Result<Option<Found<'t>>> {
        let entry = key_entry(predicate, key);
        let Some(node) = self.root.above(&entry)? else { return Ok(None) };
        let node = self.txn.get(&self.tables.index, node.to_be_bytes())?.ok_or_else(no_node)?;
        let place = Node::new(&*node)?.above(&entry)?.ok_or_else(no_node)?;
        // The group is the last that begins at or below the key, or the predicate's first.
        let mut place = Place::of(place);
        let mut piece = self.piece(place.piece)?.ok_or_else(no_record)?;
        while piece.predicate() == predicate {
            while let Some(record) = piece.record(place.at)? {
                if piece.key(record) >= key {
                    return Ok(Some(Found { number: place.piece, piece, record }));
                }
                place.at = record.end;
            }
            place = Place { piece: place.piece + 1, at: PIECE_HEADER_BYTES };
            match self.piece(place.piece)? {
                Some(next) => piece = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The first record of the piece after another.
    pub fn next_piece(self, number: u64) -> Result<Option<Found<'t>>> {
        let number = number + 1;
        let Some(piece) = self.piece(number)? else { return Ok(None) };
        let record = piece.record(PIECE_HEADER_BYTES)?.ok_or_else(no_record)?;
        Ok(Some(Found { number, piece, record }))
    }

    fn piece(self, number: u64) -> Result<Option<Piece<'t>>> {
        self.txn.get(&self.tables.records, number.to_be_bytes())?.map(Piece::new).transpose()
    }
}

fn no_slots() -> Error {
    Error::Damaged { what: "hashes of facts are missing" }
}

fn no_places() -> Error {
    Error::Damaged { what: "the place of a fact is missing, or that of another" }
}

fn no_record() -> Error {
    Error::Damaged { what: "the record of a fact is missing" }
}

fn no_node() -> Error {
    Error::Damaged { what: "a node of the index is missing" }
}
