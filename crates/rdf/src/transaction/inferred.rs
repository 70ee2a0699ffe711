//! What a transaction does with inferred quads.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::KeySuffix;
use oxrdf::QuadRef;

use super::{Transaction, TransactionView, check_kinds};
use crate::changes;
use crate::error::{Error, Result};
use crate::inferred::{Inferred, StatementKinds, quad_of_both};
use crate::pattern::{IdPattern, IdQuad};
use crate::quads::Quads;
use crate::tables::Tables;

impl Transaction {
    /// Adds a quad as inferred, and its graph. Tells whether it was not inferred. If it is explicit, it is both then, and stays inferred when
    /// [`Transaction::remove`] takes it away.
    ///
    /// The first inferred quad of a store makes tables for such quads: others that write at the same time are in conflict with it for that.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn insert_inferred<'q>(&mut self, quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        let quad = self.intern_quad(quad.into())?;
        self.insert_inferred_known(&quad)
    }

    /// As [`Transaction::insert_inferred`], of terms that have numbers.
    ///
    /// # Errors
    /// As [`Transaction::insert_ids`].
    pub fn insert_inferred_ids(&mut self, quad: &IdQuad) -> Result<bool> {
        check_kinds(quad)?;
        self.check_terms(quad)?;
        self.insert_inferred_known(quad)
    }

    fn insert_inferred_known(&mut self, quad: &IdQuad) -> Result<bool> {
        let (tables, inferred) = self.make_inferred()?;
        self.inner().write(|txn| changes::insert_inferred(txn, &tables, &inferred, quad))
    }

    /// The tables of inferred quads, which are made if they are not there.
    fn make_inferred(&mut self) -> Result<(Arc<Tables>, Arc<Inferred>)> {
        let tables = self.inner().tables();
        if let Some(inferred) = &tables.inferred {
            let inferred = Arc::clone(inferred);
            return Ok((tables, inferred));
        }
        let inferred = Arc::new(self.inner().write(|txn| Inferred::create(txn, &tables))?);
        let tables = Arc::new(tables.with_inferred(Arc::clone(&inferred)));
        self.inner().set_tables(Arc::clone(&tables));
        Ok((tables, inferred))
    }

    /// Has a quad be inferred no more. Tells whether it was. Its graph stays, and so does the quad if it is explicit.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn remove_inferred<'q>(&mut self, quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        match self.find_quad(quad.into())? {
            Some(quad) => self.remove_inferred_ids(&quad),
            None => Ok(false),
        }
    }

    /// As [`Transaction::remove_inferred`], of terms that have numbers.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`]; what the engine reports.
    pub fn remove_inferred_ids(&mut self, quad: &IdQuad) -> Result<bool> {
        let tables = self.inner().tables();
        let Some(inferred) = &tables.inferred else { return Ok(false) };
        let path = self.inner().shared.path();
        self.inner().write(|txn| changes::remove_inferred(txn, &tables, inferred, path, quad))
    }

    /// Has the quads of a pattern be inferred no more: all that a reasoner has added, of [`IdPattern::ALL`]. Explicit ones stay, and so do
    /// graphs. Returns how many were inferred.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn clear_inferred(&mut self, pattern: &IdPattern) -> Result<u64> {
        let tables = self.inner().tables();
        let Some(inferred) = &tables.inferred else { return Ok(0) };
        let cleared = match *pattern == IdPattern::ALL {
            true => self.clear_all_inferred(inferred),
            false => self.clear_each_inferred(inferred, pattern),
        };
        if cleared.is_err() {
            // Reading on may have failed when some were gone.
            self.inner().lock().is_broken = true;
        }
        cleared
    }

    fn clear_all_inferred(&self, inferred: &Inferred) -> Result<u64> {
        self.inner().write(|txn| {
            let mut cleared = txn.delete_range(&inferred.both, ..)?;
            for indexes in [&inferred.default_graph, &inferred.named_graphs] {
                let mut of_index = 0;
                for index in indexes {
                    of_index = txn.delete_range(&index.table, ..)?;
                }
                cleared += of_index;
            }
            Ok(cleared)
        })
    }

    fn clear_each_inferred(&mut self, inferred: &Inferred, pattern: &IdPattern) -> Result<u64> {
        let mut cleared = 0;
        // It reads on behind what it has given, whatever became of that.
        for quad in self.view.of_kinds(StatementKinds::Inferred).quads(pattern) {
            cleared += u64::from(self.remove_inferred_ids(&quad?)?);
        }
        let mut low = Bound::Unbounded;
        loop {
            let (keys, ended) = self.keys_of_both(inferred, low)?;
            let Some(last) = keys.last().cloned() else { return Ok(cleared) };
            for key in keys {
                let quad = quad_of_both(&key).ok_or_else(|| self.inner().shared.damaged_key(&inferred.both))?;
                if pattern.matches(&quad) {
                    cleared += u64::from(self.remove_inferred_ids(&quad)?);
                }
            }
            if ended {
                return Ok(cleared);
            }
            low = Bound::Excluded(last);
        }
    }

    /// Some keys of quads that are explicit and inferred, and whether these are the last.
    fn keys_of_both(&self, inferred: &Inferred, low: Bound<Vec<u8>>) -> Result<(Vec<Vec<u8>>, bool)> {
        use crate::tables::Reads;

        let (mut keys, mut last) = (Vec::new(), Vec::new());
        let low = low.as_ref().map(|key| &key[..]);
        let mut keep = |key: KeySuffix<'_>| {
            key.complete(&mut last);
            keys.push(last.clone());
        };
        let ended = self.inner().read(|view| {
            let reads = view.reads;
            Ok::<_, Error>(Reads::scan(reads, &inferred.both, low, Bound::Unbounded, KEYS_AT_ONCE, &mut keep)?)
        })?;
        Ok((keys, ended))
    }
}

impl TransactionView {
    /// Whether a quad is inferred, be it explicit too or not, whatever statements the view has.
    ///
    /// # Errors
    /// As [`Quads::term`].
    pub fn is_inferred(&self, quad: &IdQuad) -> Result<bool> {
        self.inner.read(|view| view.is_inferred(quad))
    }
}

const KEYS_AT_ONCE: usize = 4096;
