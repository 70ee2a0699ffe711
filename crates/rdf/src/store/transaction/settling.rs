//! Inserting terms and quads: what a transaction adds is kept in [`Additions`](super::additions::Additions) until it
//! must be in the tables.

use fulgurite::Read;
use oxrdf::{GraphNameRef, QuadRef, TermRef};

use super::additions::{ENCODED_BYTES_KEPT, QUADS_MAX};
use super::known::{KnownLookup, KnownTerms};
use super::state::State;
use crate::dictionary::{self, bytes};
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::IdQuad;
use crate::quads::changes;
use crate::quads::shared::Shared;
use crate::tables::Tables;

/// A number of a term.
struct Interned {
    id: TermId,
    /// Whether the term is kept aside: then no quad in a table has it.
    is_unwritten: bool,
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

    /// Adds an explicit quad. Returns whether it was not explicit before.
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
            KnownLookup::Term(id, is_unwritten) => return Ok(Interned { id, is_unwritten }),
            KnownLookup::Collision => {
                // The dictionary must have the other first.
                self.settle(shared)?;
                is_kept = false;
            }
            KnownLookup::Unknown => {}
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
