//! [`Snapshot`]: one state of a database and of those that it is stacked on.

use std::sync::Arc;

use crate::error::Result;
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::Fact;
use crate::ownership::slice::Slice;
use crate::reading::layer::Layer;

/// One state of a database, and of those that it is stacked on. Commits after it do not change it.
///
/// It has the facts of all databases of the stack, except those that a slice hides.
pub struct Snapshot {
    /// The databases, the lowest first.
    pub(crate) layers: Vec<Layer>,
    /// What is hidden: of facts before an id, those that the slice does not have.
    pub(crate) hiding: Vec<(FactId, Arc<Slice>)>,
}

impl Snapshot {
    /// The id of the first fact: [`FactId::FIRST`].
    #[must_use]
    pub fn starting_id(&self) -> FactId {
        self.layers[0].first
    }

    /// The id after that of the last fact.
    #[must_use]
    pub fn first_free_id(&self) -> FactId {
        self.own().end
    }

    /// The id of the first fact of the database itself: the first free id of the base, if it is stacked on one.
    #[must_use]
    pub fn own_starting_id(&self) -> FactId {
        self.own().first
    }

    /// The id of the fact with this key.
    ///
    /// # Errors
    /// Errors of the engine; [`Error::Damaged`](crate::Error::Damaged).
    pub fn id_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<FactId>> {
        for layer in &self.layers {
            if let Some(id) = layer.id_by_key(predicate, key)?
                && self.shows(id)
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The fact with this key.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn fact_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<Fact<'_>>> {
        self.fact_of(&self.layers, predicate, key)
    }

    /// As [`Snapshot::fact_by_key`], of the databases below.
    pub(crate) fn base_fact_by_key(&self, predicate: PredicateId, key: &[u8]) -> Result<Option<Fact<'_>>> {
        self.fact_of(&self.layers[..self.layers.len() - 1], predicate, key)
    }

    fn fact_of<'t>(&self, layers: &'t [Layer], predicate: PredicateId, key: &[u8]) -> Result<Option<Fact<'t>>> {
        for layer in layers {
            if let Some(fact) = layer.get(predicate, key)?
                && self.shows(fact.id())
            {
                return Ok(Some(fact));
            }
        }
        Ok(None)
    }

    /// The fact with this id.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn fact_by_id(&self, id: FactId) -> Result<Option<Fact<'_>>> {
        match self.layer_of(id) {
            Some(layer) if self.shows(id) => layer.fact(id).map(Some),
            _ => Ok(None),
        }
    }

    /// The predicate of the fact with this id.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn predicate_by_id(&self, id: FactId) -> Result<Option<PredicateId>> {
        Ok(self.fact_by_id(id)?.map(|fact| fact.predicate()))
    }

    /// Whether there is a fact with this id, and it is not hidden. Nothing is read.
    #[must_use]
    pub fn has(&self, id: FactId) -> bool {
        self.layer_of(id).is_some() && self.shows(id)
    }

    /// The same snapshot without the facts that `slice` hides.
    #[must_use]
    pub fn sliced(mut self, slice: Arc<Slice>) -> Self {
        let end = self.first_free_id();
        self.hiding.push((end, slice));
        self
    }

    /// Whether the fact is not hidden. Requires: there is a fact with this id.
    pub(crate) fn shows(&self, id: FactId) -> bool {
        self.hiding.iter().all(|(end, slice)| id >= *end || slice.has(id))
    }

    /// The layer with this fact.
    pub(crate) fn layer_of(&self, id: FactId) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| layer.first <= id).filter(|layer| id < layer.end)
    }

    /// The layer of the database itself.
    pub(crate) fn own(&self) -> &Layer {
        self.layers.last().expect("a snapshot is of a database")
    }
}
