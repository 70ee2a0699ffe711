//! Adds batches to a store that is not empty: all of them in one transaction, which goes to the disk as it grows.

use fulgurite::{Table, TableOptions, WriteTxn};

use super::batch::Batch;
use super::build::unscoped;
use crate::dictionary;
use crate::error::Result;
use crate::id::{Tag, TermId};
use crate::pattern::IdQuad;
use crate::shared::Shared;
use crate::tables::Tables;

/// Adds batches within a transaction.
pub struct Applier<'a> {
    shared: &'a Shared,
    tables: &'a Tables,
    txn: WriteTxn,
    /// Blank nodes of the documents and their numbers; gone before the commit.
    blanks: Table,
    pub quads: u64,
    pub terms: u64,
}

impl<'a> Applier<'a> {
    /// # Errors
    /// What the engine reports.
    pub fn new(shared: &'a Shared, tables: &'a Tables, mut txn: WriteTxn) -> Result<Self> {
        let blanks = txn.create_table("loading_blank_nodes", TableOptions::new())?;
        Ok(Self { shared, tables, txn, blanks, quads: 0, terms: 0 })
    }

    /// # Errors
    /// What the engine reports.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let terms = &batch.terms;
        let mut ids = Vec::with_capacity(terms.len());
        for index in 0..terms.len() {
            let (tag, bytes) = (terms.tag(index), terms.bytes(index));
            let is_scoped = batch.scoped.binary_search_by_key(&(index as u32), |(triple, _)| *triple).is_ok();
            ids.push(match tag {
                // It gets its number below.
                _ if is_scoped => TermId::DEFAULT_GRAPH,
                Tag::BLANK => self.blank(bytes)?,
                _ => self.intern(tag, terms.hash(index), bytes)?,
            });
        }
        for (triple, blanks) in &batch.scoped {
            let mut blanks = blanks.iter().map(|&blank| ids[blank as usize]);
            let encoded = unscoped(terms.bytes(*triple as usize), &mut blanks, self.shared.path())?;
            ids[*triple as usize] = self.intern(Tag::TRIPLE, self.shared.hasher.hash(&encoded), &encoded)?;
        }
        let resolve =
            |slot: super::batch::Slot| slot.resolve(&ids).expect("a slot has a number or a term of its batch");
        let quads = batch.quads.iter().map(|quad| {
            let [subject, predicate, object, graph] = quad.map(resolve);
            IdQuad { subject, predicate, object, graph }
        });
        self.insert(quads.collect())
    }

    fn blank(&mut self, bytes: &[u8]) -> Result<TermId> {
        let stored = self.txn.get(&self.blanks, bytes)?;
        if let Some(id) = stored.as_deref().and_then(TermId::from_key) {
            return Ok(id);
        }
        let id = TermId::new_blank();
        self.txn.put(&self.blanks, bytes, id.key().as_bytes())?;
        Ok(id)
    }

    fn intern(&mut self, tag: Tag, hash: u128, encoded: &[u8]) -> Result<TermId> {
        let Self { shared, tables, txn, .. } = self;
        let namespaces = &shared.iri_namespaces;
        if let Some(id) = dictionary::find(txn, tables, namespaces, shared.path(), hash, encoded)? {
            return Ok(id);
        }
        let id = TermId::new(tag, shared.numbers.take(&shared.database, tables)?);
        dictionary::add(txn, tables, namespaces, hash, encoded, id)?;
        self.terms += 1;
        Ok(id)
    }

    /// Puts quads into all indexes, each in its order: so neighbours are put one after the other.
    fn insert(&mut self, mut quads: Vec<IdQuad>) -> Result<()> {
        let is_named = |quad: &IdQuad| quad.graph != TermId::DEFAULT_GRAPH;
        let named: Vec<IdQuad> = quads.iter().copied().filter(is_named).collect();
        quads.retain(|quad| !is_named(quad));
        for (mut quads, indexes) in [(quads, &self.tables.default_graph), (named, &self.tables.named_graphs)] {
            for (place, index) in indexes.iter().enumerate() {
                let places = index.order.positions();
                quads.sort_unstable_by(|left, right| {
                    let at = |quad: &IdQuad, place: usize| places.get(place).map(|&position| quad.at(position));
                    (0..places.len())
                        .map(|place| at(left, place).cmp(&at(right, place)))
                        .find(|order| order.is_ne())
                        .unwrap_or(std::cmp::Ordering::Equal)
                });
                if place > 0 {
                    for quad in &quads {
                        self.txn.put(&index.table, index.order.key_of(quad).as_bytes(), &[])?;
                    }
                    continue;
                }
                quads.dedup();
                let mut new = Vec::with_capacity(quads.len());
                for quad in quads {
                    if self.txn.insert(&index.table, index.order.key_of(&quad).as_bytes(), &[])? {
                        new.push(quad);
                    }
                }
                quads = new;
                self.quads += quads.len() as u64;
            }
            let mut graphs: Vec<TermId> = quads.iter().filter(|quad| is_named(quad)).map(|quad| quad.graph).collect();
            graphs.sort_unstable();
            graphs.dedup();
            for graph in graphs {
                self.txn.insert(&self.tables.graphs, graph.key().as_bytes(), &[])?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// What the engine reports. Nothing was added then.
    pub fn commit(mut self) -> Result<()> {
        self.txn.drop_table(&self.blanks)?;
        self.txn.commit()?;
        Ok(())
    }
}
