//! [`Fact`]: a fact as reads return it, by reference to the bytes of its snapshot.

use std::fmt;

use fulgurite::Value;

use crate::ids::{FactId, PredicateId};

/// A fact of a snapshot. Its bytes are those of the database: reading it copies nothing.
#[derive(Clone)]
pub struct Fact<'t> {
    id: FactId,
    predicate: PredicateId,
    key: Part<'t>,
    value: Part<'t>,
}

/// A part of bytes of a database.
#[derive(Clone)]
pub struct Part<'t> {
    whole: Value<'t>,
    from: u32,
    to: u32,
}

impl<'t> Part<'t> {
    /// Requires: `from <= to`, and `to` is at most the length of `whole`.
    pub fn new(whole: Value<'t>, from: usize, to: usize) -> Self {
        debug_assert!(from <= to && to <= whole.len(), "a part is within its whole");
        // Values of the engine are shorter than 4 GiB.
        Self { whole, from: from as u32, to: to as u32 }
    }

    /// The bytes from `from` on.
    pub fn from(whole: Value<'t>, from: usize) -> Self {
        let to = whole.len();
        Self::new(whole, from, to)
    }

    fn bytes(&self) -> &[u8] {
        &self.whole[self.from as usize..self.to as usize]
    }
}

impl<'t> Fact<'t> {
    pub(crate) fn new(id: FactId, predicate: PredicateId, key: Part<'t>, value: Part<'t>) -> Self {
        Self { id, predicate, key, value }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> FactId {
        self.id
    }

    /// Its predicate.
    #[must_use]
    pub fn predicate(&self) -> PredicateId {
        self.predicate
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.key.bytes()
    }

    /// Its value: empty if the predicate's facts have none.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.value.bytes()
    }
}

impl fmt::Debug for Fact<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, value) = (self.key().escape_ascii(), self.value().escape_ascii());
        write!(out, "fact {} of predicate {}: b\"{key}\" -> b\"{value}\"", self.id, self.predicate)
    }
}
