//! Whether anything uses a term: a quad of whatever kind, or the name of a graph.
//!
//! The term is looked up in the indexes that begin with each place of a quad. In a transaction these are reads of
//! ranges: it conflicts with every transaction that changes the answer.

use std::ops::Bound;

use crate::error::Result;
use crate::model::id::{TermId, TermKind};
use crate::model::pattern::Position;
use crate::tables::Index;
use crate::tables::{Reads, Tables};

/// An index that begins with a place of quads.
pub struct Probe {
    index: Index,
    place: Position,
}

impl Probe {
    /// For every kind of index and every place one; nothing if one is missing.
    pub fn all(tables: &Tables) -> Option<Vec<Self>> {
        let mut probes = Vec::new();
        for indexes in tables.indexes() {
            for place in indexes.first()?.order.positions() {
                let index = indexes.iter().find(|index| index.order.positions().first() == Some(place))?;
                probes.push(Self { index: index.clone(), place: *place });
            }
        }
        Some(probes)
    }
}

/// Whether a quad has a term, or a graph is named by it. Requires: `probes` are all of these tables.
///
/// # Errors
/// What the engine reports.
pub fn is_used(reads: &impl Reads, tables: &Tables, probes: &[Probe], id: TermId) -> Result<bool> {
    let (key, kind) = (id.key(), id.kind());
    let end = key.end();
    let low = Bound::Included(key.as_bytes());
    let high = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
    for Probe { index, place } in probes {
        let can_be_there = match place {
            Position::Subject => kind != TermKind::Literal,
            Position::Graph => matches!(kind, TermKind::Iri | TermKind::BlankNode),
            Position::Predicate => kind == TermKind::Iri,
            Position::Object => true,
        };
        if can_be_there && reads.range(&index.table, (low, high))?.next().transpose()?.is_some() {
            return Ok(true);
        }
    }
    let can_name = matches!(kind, TermKind::Iri | TermKind::BlankNode);
    Ok(can_name && reads.get(&tables.graphs, key.as_bytes())?.is_some())
}
