//! The reads of quads and terms, written once for snapshots and transactions.

use std::ops::Bound;

use oxrdf::{Term, TermRef};

use crate::dictionary::{self, bytes};
use crate::error::Result;
use crate::id::TermId;
use crate::inferred;
use crate::pattern::{IdPattern, IdQuad};
use crate::plan::plan;
use crate::shared::Shared;
use crate::tables::{Reads, Tables, damaged};

/// What is read, and by whom.
pub struct View<'v, R> {
    pub reads: &'v R,
    pub tables: &'v Tables,
    pub shared: &'v Shared,
}

impl<R: Reads> View<'_, R> {
    pub fn count(&self, pattern: &IdPattern) -> Result<u64> {
        let mut total = 0;
        for step in plan(self.tables, pattern) {
            let (low, high) = step.bounds();
            let (low, high) = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
            let table = &step.index.table;
            let Some(filter) = step.filter else {
                total += inferred::count(self.reads, self.tables, table, low, high)?;
                continue;
            };
            let mut is_damaged = false;
            let mut note = |key: &[u8]| match step.index.order.quad_of(key) {
                Some(quad) => total += u64::from(filter.matches(&quad)),
                None => is_damaged = true,
            };
            inferred::scan(self.reads, self.tables, table, (low, high), usize::MAX, &mut note)?;
            if is_damaged {
                return Err(self.shared.damaged_key(table));
            }
        }
        Ok(total)
    }

    pub fn term(&self, id: TermId) -> Result<Term> {
        if let Some(term) = id.inline_term() {
            return Ok(term);
        }
        let path = self.shared.database.path();
        if !id.tag().is_of_dictionary() {
            return Err(damaged(path, &format!("term {:#x}", id.to_bits()), "a number that stands for no term"));
        }
        dictionary::term(self.reads, self.tables, &self.shared.iri_namespaces, path, id)
    }

    pub fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        if let Some(id) = TermId::of_inline(term) {
            return Ok(Some(id));
        }
        let mut encoded = Vec::new();
        bytes::encode(term, &mut encoded)?;
        self.find(self.shared.hasher.hash(&encoded), &encoded)
    }

    pub fn find(&self, hash: u128, encoded: &[u8]) -> Result<Option<TermId>> {
        let path = self.shared.database.path();
        dictionary::find(self.reads, self.tables, &self.shared.iri_namespaces, path, hash, encoded)
    }

    pub fn contains(&self, quad: &IdQuad) -> Result<bool> {
        inferred::contains(self.reads, self.tables, quad)
    }

    /// Requires: the tables are all that there are.
    pub fn is_inferred(&self, quad: &IdQuad) -> Result<bool> {
        self.tables.inferred.as_ref().map_or(Ok(false), |inferred| inferred.has(self.reads, quad))
    }

    pub fn contains_graph(&self, graph: TermId) -> Result<bool> {
        Ok(self.reads.get(&self.tables.graphs, graph.key().as_bytes())?.is_some())
    }

    pub fn namespaces(&self) -> Result<Vec<(String, String)>> {
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).map(String::from);
            text.map_err(|_| damaged(self.shared.database.path(), "table `namespaces`", "an entry is not UTF-8"))
        };
        let range = self.reads.range(&self.tables.namespaces, Bound::Unbounded, Bound::Unbounded)?;
        range
            .map(|entry| entry.map_err(Into::into).and_then(|(prefix, iri)| Ok((text(&prefix)?, text(&iri)?))))
            .collect()
    }
}
