//! [`Folding`]: the records of a completed database, from entries by key.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use fulgurite::LeafBatches;

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::growing::{KEYED_BYTES, keyed_id};
use crate::layout::hashes::{ENTRY_SLOTS, FREE, first_slot, hash, slot, slots};
use crate::layout::index::{Node, NodeBuilder, bound};
use crate::layout::places::{ENTRY_PLACES, PLACE_BYTES, Place};
use crate::layout::records::PieceBuilder;
use crate::reading::layer::KEY_PREDICATE_BYTES;

/// What follows from the records that were written: how they are found.
pub struct Written {
    /// Nodes of the index, and those of the upper level.
    nodes: Vec<Vec<u8>>,
    root: Vec<Vec<u8>>,
    /// The last bounds of the nodes since the last of the upper level.
    upper: NodeBuilder,
    /// The place of each fact, by id.
    places: Vec<[u8; PLACE_BYTES]>,
    /// The place of each fact, by the hash of its key.
    slots: Vec<u64>,
}

impl Written {
    /// Nothing yet, of so many facts.
    pub fn new(facts: u64) -> Result<Self> {
        let count = |number| usize::try_from(number).map_err(|_| Error::TooLarge);
        let (places, slots) = (vec![[0; PLACE_BYTES]; count(facts)?], vec![FREE; count(slots(facts))?]);
        Ok(Self { nodes: Vec::new(), root: Vec::new(), upper: NodeBuilder::default(), places, slots })
    }

    fn add(&mut self, rank: u64, hash: u64, place: Place) -> Result<()> {
        let unused = || Error::Damaged { what: "an entry by key has an id that is not in use" };
        let at = usize::try_from(rank).ok().and_then(|rank| self.places.get_mut(rank));
        *at.ok_or_else(unused)? = place.encode()?;
        let count = self.slots.len();
        let mut at = first_slot(hash, count as u64) as usize;
        // There are more slots than facts.
        while self.slots[at] != FREE {
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        self.slots[at] = slot(hash, place)?;
        Ok(())
    }

    fn add_node(&mut self, node: Vec<u8>) -> Result<()> {
        self.upper.push(Node::new(&node)?.last()?, self.nodes.len() as u64)?;
        self.nodes.push(node);
        if self.upper.is_full() {
            self.root.push(self.upper.finish());
        }
        Ok(())
    }

    /// The nodes of the index.
    pub fn nodes(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.nodes)
    }

    /// The nodes of its upper level.
    pub fn root(&mut self) -> Vec<Vec<u8>> {
        if !self.upper.is_empty() {
            self.root.push(self.upper.finish());
        }
        std::mem::take(&mut self.root)
    }

    /// The entries of places.
    pub fn place_entries(&mut self) -> Vec<Vec<u8>> {
        self.places.split_off(0).chunks(ENTRY_PLACES).map(<[_]>::concat).collect()
    }

    /// The entries of hashes.
    pub fn hash_entries(&mut self) -> Vec<Vec<u8>> {
        let entries = self.slots.chunks(ENTRY_SLOTS);
        entries.map(|slots| slots.iter().flat_map(|slot| slot.to_le_bytes()).collect()).collect()
    }
}

/// The pieces of records of the entries by key, in order. The index, places and hashes are left in a [`Written`].
pub struct Folding<'t> {
    batches: LeafBatches<'t>,
    first: FactId,
    written: Rc<RefCell<Written>>,
    /// The piece that is being filled, and its number.
    piece: PieceBuilder,
    number: u64,
    /// The predicate of the last entry, and its key.
    predicate: Option<PredicateId>,
    last: Vec<u8>,
    /// The first record of the group that is being filled, and the group's bytes.
    group: Option<(Place, usize)>,
    node: NodeBuilder,
    full: VecDeque<Vec<u8>>,
    next: u64,
    ended: bool,
}

impl<'t> Folding<'t> {
    /// Of the entries in `batches`; `first` is the database's first fact.
    pub fn new(batches: LeafBatches<'t>, first: FactId, written: Rc<RefCell<Written>>) -> Self {
        Self {
            batches,
            first,
            written,
            piece: PieceBuilder::default(),
            number: 0,
            predicate: None,
            last: Vec::new(),
            group: None,
            node: NodeBuilder::default(),
            full: VecDeque::new(),
            next: 0,
            ended: false,
        }
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        while self.full.is_empty() && !self.ended {
            match self.batches.next().transpose()? {
                Some(batch) => batch.iter().try_for_each(|(entry, value)| self.push(entry, value))?,
                None => {
                    self.end_group(None)?;
                    self.end_piece();
                    self.end_node()?;
                    self.ended = true;
                }
            }
        }
        Ok(self.full.pop_front())
    }

    fn push(&mut self, entry: &[u8], value: &[u8]) -> Result<()> {
        let damaged = || Error::Damaged { what: "an entry by key has no predicate" };
        let Some((predicate, key)) = entry.split_first_chunk::<KEY_PREDICATE_BYTES>() else { return Err(damaged()) };
        let Some(predicate) = PredicateId::new(u64::from_be_bytes(*predicate)) else { return Err(damaged()) };
        let (id, value) = (keyed_id(value)?, &value[KEYED_BYTES..]);
        let rank = id.get().checked_sub(self.first.get()).ok_or_else(damaged)?;
        if self.predicate != Some(predicate) {
            self.end_group(None)?;
            self.end_piece();
            self.predicate = Some(predicate);
        } else {
            if self.group.is_some_and(|(_, bytes)| bytes >= GROUP_BYTES) {
                self.end_group(Some(key))?;
            }
            if !self.piece.has_room(key, value) {
                self.end_piece();
            }
        }
        let at = self.piece.push(predicate, rank, key, value);
        let place = Place { piece: self.number, at };
        self.written.borrow_mut().add(rank, hash(predicate, key), place)?;
        let bytes = key.len() + value.len() + RECORD_BYTES;
        self.group = Some(self.group.map_or((place, bytes), |(first, before)| (first, before + bytes)));
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Ends the group, if there is one. `next` is the first key of the predicate's next group.
    fn end_group(&mut self, next: Option<&[u8]>) -> Result<()> {
        let (Some((place, _)), Some(predicate)) = (self.group.take(), self.predicate) else { return Ok(()) };
        let mut entry = Vec::new();
        bound(predicate, &self.last, next, &mut entry);
        self.node.push(&entry, place.number()?)?;
        if self.node.is_full() {
            self.end_node()?;
        }
        Ok(())
    }

    fn end_node(&mut self) -> Result<()> {
        if self.node.is_empty() {
            return Ok(());
        }
        self.written.borrow_mut().add_node(self.node.finish())
    }

    fn end_piece(&mut self) {
        if !self.piece.is_empty() {
            self.full.push_back(self.piece.finish());
            self.number += 1;
        }
    }
}

impl Iterator for Folding<'_> {
    type Item = Result<([u8; 8], Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.read().transpose()?;
        let number = self.next;
        self.next += 1;
        Some(item.map(|piece| (number.to_be_bytes(), piece)))
    }
}

/// A group of records ends when it has this size: a search reads half of it.
const GROUP_BYTES: usize = 800;
/// Bytes of a record besides key and value, if both are short.
const RECORD_BYTES: usize = 7;
