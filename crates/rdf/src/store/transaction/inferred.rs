//! What a transaction does with inferred quads.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::KeySuffix;
use oxrdf::QuadRef;

use super::Transaction;
use super::TransactionView;
use super::check_kinds;
use super::inner::QuadReads;
use crate::error::Result;
use crate::model::id::IdKey;
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad};
use crate::quads::changes;
use crate::quads::inferred::{key_of_both, prefix_of_both, quad_of_both};
use crate::quads::reading::Quads;
use crate::tables::{Index, Inferred, StatementKinds};
use crate::tables::{Reads, Tables};

impl Transaction {
    /// Adds an inferred quad, and its graph if it is new. Returns whether the quad was new as an inferred one. A quad
    /// that is already explicit is then both, and remains inferred after [`Transaction::remove`].
    ///
    /// The first inferred quad of a store creates tables for such quads. This conflicts with concurrent transactions
    /// that change quads, or read some with [`Isolation::Serializable`](crate::Isolation::Serializable).
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn insert_inferred<'q>(&mut self, quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        let quad = self.intern_quad(quad.into())?;
        self.insert_inferred_known(&quad)
    }

    /// As [`Transaction::insert_inferred`], by term ids.
    ///
    /// # Errors
    /// As [`Transaction::insert_ids`].
    pub fn insert_inferred_ids(&mut self, quad: &IdQuad) -> Result<bool> {
        check_kinds(quad)?;
        let inner = self.inner();
        inner.lock().check_terms(&inner.shared, quad)?;
        self.insert_inferred_known(quad)
    }

    fn insert_inferred_known(&mut self, quad: &IdQuad) -> Result<bool> {
        let (tables, inferred) = self.make_inferred()?;
        self.inner().write(|txn| changes::insert_inferred(txn, &tables, &inferred, quad))
    }

    /// The tables of inferred quads, which are made if they are not there.
    fn make_inferred(&mut self) -> Result<(Arc<Tables>, Arc<Inferred>)> {
        let tables = self.inner().tables_to_change()?;
        if let Some(inferred) = &tables.inferred {
            let inferred = Arc::clone(inferred);
            return Ok((tables, inferred));
        }
        let inferred = Arc::new(self.inner().write(|txn| Inferred::create(txn, &tables))?);
        let tables = Arc::new(tables.with_inferred(Arc::clone(&inferred)));
        self.inner().lock().tables = Some(Arc::clone(&tables));
        Ok((tables, inferred))
    }

    /// Removes an inferred quad. Returns whether it was inferred. Its graph remains, and so does the quad if it is also
    /// explicit.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn remove_inferred<'q>(&mut self, quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        match self.find_quad(quad.into())? {
            Some(quad) => self.remove_inferred_ids(&quad),
            None => Ok(false),
        }
    }

    /// As [`Transaction::remove_inferred`], by term ids.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`](crate::Error::TransactionBroken); errors of the engine.
    pub fn remove_inferred_ids(&mut self, quad: &IdQuad) -> Result<bool> {
        let tables = self.inner().tables_seen()?;
        let Some(inferred) = &tables.inferred else { return Ok(false) };
        let path = self.inner().shared.path();
        self.inner().write(|txn| changes::remove_inferred(txn, &tables, inferred, path, quad))
    }

    /// Removes the inferred quads that match a pattern; [`IdPattern::ALL`] removes everything that a reasoner has
    /// added. Explicit quads and graphs remain. Returns the number of quads that were inferred.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn clear_inferred(&mut self, pattern: &IdPattern) -> Result<u64> {
        let tables = self.inner().tables_seen()?;
        let Some(inferred) = &tables.inferred else { return Ok(0) };
        let cleared =
            self.clear_both(inferred, pattern).and_then(|both| Ok(both + self.clear_alone(inferred, pattern)?));
        if cleared.is_err() {
            // Reading on may have failed when some were gone.
            self.inner().lock().is_broken = true;
        }
        cleared
    }

    /// Takes away what notes quads of a pattern as both. It goes over what the pattern has of them, or else of explicit
    /// ones: there is no other order of those that are both.
    fn clear_both(&self, inferred: &Inferred, pattern: &IdPattern) -> Result<u64> {
        if *pattern == IdPattern::ALL {
            return self.inner().write(|txn| Ok(txn.delete_range(&inferred.both, ..)?));
        }
        if pattern.subject.is_none() && !pattern.is_all_of_its_graphs() {
            return self.clear_both_of_explicit(inferred, pattern);
        }
        let (prefix, mut cleared) = (prefix_of_both(pattern), 0);
        let (end, mut low) = (prefix.end(), Bound::Included(prefix.as_bytes().to_vec()));
        loop {
            let (keys, ended) = self.keys_of_both(inferred, low, end.as_ref())?;
            let Some(last) = keys.last().cloned() else { return Ok(cleared) };
            for key in keys {
                let quad = quad_of_both(&key).ok_or_else(|| self.inner().shared.damaged_key(&inferred.both))?;
                if pattern.matches(&quad) {
                    cleared += u64::from(self.inner().write(|txn| Ok(txn.delete(&inferred.both, &key)?))?);
                }
            }
            if ended {
                return Ok(cleared);
            }
            low = Bound::Excluded(last);
        }
    }

    fn clear_both_of_explicit(&self, inferred: &Inferred, pattern: &IdPattern) -> Result<u64> {
        let mut cleared = 0;
        for quad in self.view.of_kinds(StatementKinds::Explicit).quads(pattern) {
            let key = key_of_both(&quad?);
            cleared += u64::from(self.inner().write(|txn| Ok(txn.delete(&inferred.both, key.as_bytes())?))?);
        }
        Ok(cleared)
    }

    /// Some keys of quads that are explicit and inferred, and whether these are the last.
    fn keys_of_both(
        &self,
        inferred: &Inferred,
        low: Bound<Vec<u8>>,
        end: Option<&IdKey>,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        let (mut keys, mut last) = (Vec::new(), Vec::new());
        let low = low.as_ref().map(|key| &key[..]);
        let high = end.map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
        let mut keep = |key: KeySuffix<'_>| {
            key.complete(&mut last);
            keys.push(last.clone());
        };
        let ended = self.inner().read(|view| {
            let reads = view.reads;
            Ok(Reads::scan(reads, &inferred.both, low, high, KEYS_AT_ONCE, &mut keep)?)
        })?;
        Ok((keys, ended))
    }

    /// Takes quads of a pattern away that are inferred and not explicit.
    fn clear_alone(&mut self, inferred: &Inferred, pattern: &IdPattern) -> Result<u64> {
        let whole: &[&[Index]] = match (pattern.is_all_of_its_graphs(), pattern.graph) {
            (false, _) => &[],
            (true, GraphPattern::Any) => &[&inferred.default_graph, &inferred.named_graphs],
            (true, GraphPattern::AnyNamed) => &[&inferred.named_graphs],
            (true, _) => &[&inferred.default_graph],
        };
        if whole.is_empty() {
            let mut cleared = 0;
            // It reads on behind what it has given, whatever became of that.
            for quad in self.view.of_kinds(StatementKinds::Inferred).quads(pattern) {
                cleared += u64::from(self.remove_inferred_ids(&quad?)?);
            }
            return Ok(cleared);
        }
        self.inner().write(|txn| {
            let mut cleared = 0;
            for indexes in whole {
                let mut of_index = 0;
                for index in *indexes {
                    of_index = txn.delete_range(&index.table, ..)?;
                }
                cleared += of_index;
            }
            Ok(cleared)
        })
    }
}

impl TransactionView {
    /// Whether a quad is inferred, even if it is also explicit, and whatever kinds the view is restricted to.
    ///
    /// # Errors
    /// As [`Quads::term`].
    pub fn is_inferred(&self, quad: &IdQuad) -> Result<bool> {
        self.inner.read_quads(QuadReads::ALL, |view| view.is_inferred(quad))
    }
}

const KEYS_AT_ONCE: usize = 4096;
