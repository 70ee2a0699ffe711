//! What a transaction adds: terms and explicit quads, which are kept aside and written to the tables many at once,
//! sorted by the keys of each.
//!
//! Invariants: (1) Whatever reads or changes tables of quads or terms has them written first ([`State::settle`]), so
//! that nobody sees that they were kept aside. (2) A quad that is kept aside is in no index, as the transaction sees
//! these, and the store has no tables of inferred quads. (3) What is kept aside was added after the last savepoint: who
//! returns to that forgets it.

use std::collections::HashSet;

use fulgurite::{Read, WriteTxn};
use oxrdf::{GraphNameRef, QuadRef, TermRef};

use super::State;
use super::known::{Found, KnownTerms};
use crate::dictionary::seeded_hash::SeededHash;
use crate::dictionary::{self, bytes};
use crate::error::{Error, Result};
use crate::load::{Ranges, Row, Sorted};
use crate::model::id::{IdKey, TermId};
use crate::model::pattern::{IdQuad, Position};
use crate::quads::changes;
use crate::quads::tables::{Index, Tables};
use crate::store::shared::Shared;

/// What is kept aside, and what that needs.
#[derive(Default)]
pub(crate) struct Additions {
    pub(crate) terms: KnownTerms,
    quads: HashSet<IdQuad, SeededHash>,
    /// Room for the bytes of a term.
    encoded: Vec<u8>,
}

/// A number of a term.
struct Interned {
    id: TermId,
    /// Whether the term is kept aside: then no quad in a table has it.
    is_unwritten: bool,
}

impl Additions {
    /// Forgets what is kept aside, and all terms.
    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.quads.clear();
    }

    fn is_empty(&self) -> bool {
        self.quads.is_empty() && !self.terms.has_unwritten()
    }

    fn write(&self, txn: &mut WriteTxn, tables: &Tables, shared: &Shared) -> Result<()> {
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

impl State {
    /// Writes what is kept aside to the tables. A transaction that is broken writes nothing.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`]; what the engine reports: then the transaction is broken.
    pub(crate) fn settle(&mut self, shared: &Shared) -> Result<()> {
        if self.additions.is_empty() || self.is_broken {
            return Ok(());
        }
        let txn = self.txn.as_mut().ok_or(Error::TransactionEnded)?;
        let written = self.additions.write(txn, &shared.tables(), shared);
        self.is_broken = written.is_err();
        written?;
        self.additions.quads.clear();
        self.additions.terms.are_written();
        Ok(())
    }

    /// Adds an explicit quad. Tells whether it was not there as such.
    pub(crate) fn insert(&mut self, shared: &Shared, quad: QuadRef<'_>) -> Result<bool> {
        let graph = match quad.graph_name {
            GraphNameRef::NamedNode(node) => Some(node.into()),
            GraphNameRef::BlankNode(node) => Some(node.into()),
            GraphNameRef::DefaultGraph => None,
        };
        let mut is_unwritten = false;
        let mut intern = |term| -> Result<TermId> {
            let interned = self.intern_term(shared, term)?;
            is_unwritten |= interned.is_unwritten;
            Ok(interned.id)
        };
        let quad = IdQuad {
            subject: intern(quad.subject.into())?,
            predicate: intern(quad.predicate.into())?,
            object: intern(quad.object)?,
            graph: graph.map_or(Ok(TermId::DEFAULT_GRAPH), intern)?,
        };
        // A term that was written when a later one was added may have quads.
        let is_unwritten = is_unwritten && self.additions.terms.has_unwritten();
        self.insert_known(shared, &quad, is_unwritten)
    }

    /// As [`State::insert`], of terms that are there. Requires: if `is_unwritten`, one of them is kept aside.
    pub(crate) fn insert_known(&mut self, shared: &Shared, quad: &IdQuad, is_unwritten: bool) -> Result<bool> {
        let tables = self.tables_to_change(shared)?;
        self.writable()?;
        if tables.inferred.is_some() {
            self.settle(shared)?;
            let inserted = changes::insert_explicit(self.writable()?, &tables, shared.path(), quad);
            self.is_broken = inserted.is_err();
            return inserted;
        }
        if self.additions.quads.contains(quad) {
            return Ok(false);
        }
        // Nobody can have a quad of a term that this transaction adds, and it has none itself but what is kept aside.
        if !is_unwritten && self.has_explicit(&tables, quad)? {
            return Ok(false);
        }
        if quad.graph != TermId::DEFAULT_GRAPH {
            let noted = tables.note_graph(self.writable()?, quad.graph);
            self.is_broken = noted.is_err();
            noted?;
        }
        self.additions.quads.insert(*quad);
        if self.additions.quads.len() == QUADS_MAX {
            self.settle(shared)?;
        }
        Ok(true)
    }

    fn has_explicit(&mut self, tables: &Tables, quad: &IdQuad) -> Result<bool> {
        let index = tables.indexes_of(quad.graph).first().expect("a store has indexes of both");
        Ok(self.writable()?.contains_key(&index.table, index.order.key_of(quad).as_bytes())?)
    }

    /// The number of a term, which is given one if it has none.
    pub(crate) fn intern(&mut self, shared: &Shared, term: TermRef<'_>) -> Result<TermId> {
        Ok(self.intern_term(shared, term)?.id)
    }

    fn intern_term(&mut self, shared: &Shared, term: TermRef<'_>) -> Result<Interned> {
        if let Some(id) = TermId::of_inline(term) {
            return Ok(Interned { id, is_unwritten: false });
        }
        let mut encoded = std::mem::take(&mut self.additions.encoded);
        encoded.clear();
        let interned = bytes::encode(term, &mut encoded).and_then(|()| self.intern_encoded(shared, term, &encoded));
        if encoded.capacity() <= ENCODED_BYTES_KEPT {
            self.additions.encoded = encoded;
        }
        interned
    }

    fn intern_encoded(&mut self, shared: &Shared, term: TermRef<'_>, encoded: &[u8]) -> Result<Interned> {
        let hash = shared.hasher.hash(encoded);
        let mut is_kept = KnownTerms::takes(encoded);
        match self.additions.terms.find(hash, encoded) {
            Found::Term(id, is_unwritten) => return Ok(Interned { id, is_unwritten }),
            Found::Collision => {
                // The dictionary has to know of the other before it can tell.
                self.settle(shared)?;
                is_kept = false;
            }
            Found::Unknown => {}
        }
        self.writable()?;
        if is_kept && self.additions.terms.is_full() {
            self.settle(shared)?;
            self.additions.terms.clear();
        }
        let (tables, path) = (shared.tables(), shared.path());
        let txn = self.writable()?;
        let chain = txn.get(&tables.ids, &hash.to_be_bytes())?.map(|chain| chain.to_vec());
        if let Some(chain) = &chain {
            let namespaces = &shared.iri_namespaces;
            if let Some(id) = dictionary::find_in_chain(txn, &tables, namespaces, path, chain, encoded)? {
                dictionary::guard(txn, &tables, id)?;
                if is_kept {
                    self.additions.terms.note(hash, encoded, id);
                }
                return Ok(Interned { id, is_unwritten: false });
            }
        }
        let id = self.number(shared, &tables, term, encoded)?;
        let is_unwritten = is_kept && chain.is_none();
        if is_unwritten {
            self.additions.terms.add(hash, encoded, id);
        } else {
            let added = dictionary::add(self.writable()?, &tables, &shared.iri_namespaces, hash, encoded, id);
            self.is_broken = added.is_err();
            added?;
        }
        Ok(Interned { id, is_unwritten })
    }

    /// A number for a new term, and for the namespace of an IRI.
    fn number(&mut self, shared: &Shared, tables: &Tables, term: TermRef<'_>, encoded: &[u8]) -> Result<TermId> {
        if bytes::iri_text(encoded).is_some() && !self.has_refreshed_namespaces {
            shared.iri_namespaces.refresh(self.writable()?, &shared.database, tables)?;
            self.has_refreshed_namespaces = true;
        }
        let id = TermId::new(bytes::tag_of(term), shared.numbers.take(&shared.database, tables)?);
        shared.iri_namespaces.note(&shared.database, tables, encoded)?;
        Ok(id)
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
const QUADS_MAX: usize = if cfg!(test) { 1 << 8 } else { 1 << 17 };
/// Fewer are put one by one.
const SORTED_FROM_QUADS: usize = 8;
/// Fewer are sorted as they are: what it takes to pack them costs as much as to sort some hundreds.
const PACKED_FROM_QUADS: usize = if cfg!(test) { 1 << 6 } else { 1 << 10 };
/// A larger room for the bytes of a term is not kept.
const ENCODED_BYTES_KEPT: usize = 1 << 16;
