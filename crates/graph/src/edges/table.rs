//! [`EdgeTable`]: the table of edges of a graph.

use std::marker::PhantomData;

use fulgurite::keys::{AsKey, Key, KeyBuffer, ValueCodec};
use fulgurite::{Database, Error, Read, Result, Table, TableOptions, WriteTxn};

use crate::edges::edge::Edge;
use crate::edges::iter::{AllTargets, Edges, Targets, decode_error};
use crate::edges::layout::{GraphOptions, all_with};
use crate::edges::query::EdgeQuery;

/// The edges of a graph. In a versioned graph each key begins with a version.
pub struct EdgeTable<K, E> {
    table: Table,
    pub options: GraphOptions,
    types: PhantomData<fn() -> (K, E)>,
}

impl<K, E> Clone for EdgeTable<K, E> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), options: self.options, types: PhantomData }
    }
}

impl<K: Key, E: ValueCodec> EdgeTable<K, E> {
    /// # Errors
    /// [`Error::TableMismatch`] for another graph; as [`Database::create_table`].
    pub fn open(db: &Database, name: &str, options: GraphOptions, is_versioned: bool) -> Result<Self> {
        let types = TableOptions::new().key_type(options.key_type::<K>(is_versioned));
        let types = types.value_type(E::value_type().to_string());
        Ok(Self { table: db.open_or_create_table(name, types)?, options, types: PhantomData })
    }

    /// # Errors
    /// [`Error::Invalid`] if the edge has a label or time, and the graph has none.
    fn key(&self, version: &[u8], edge: &Edge<K, E>) -> Result<KeyBuffer> {
        let GraphOptions { has_labels, has_times } = self.options;
        let wrong = |what: &str, option: &str| {
            let message = format!(
                "an edge has a {what}, but the graph was created without GraphOptions::{option}; create the graph with it, \
                 or leave out the {what}"
            );
            Err(Error::Invalid { message })
        };
        if !has_labels && !edge.label.is_empty() {
            return wrong("label", "labels");
        }
        if !has_times && edge.time != 0 {
            return wrong("time", "times");
        }
        let mut key = KeyBuffer::new();
        key.push(version);
        self.options.push_key(edge, &mut key);
        Ok(key)
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The key and value of an edge.
    ///
    /// # Errors
    /// As [`EdgeTable::put`].
    pub fn entry(&self, version: &[u8], edge: &Edge<K, E>) -> Result<(KeyBuffer, Vec<u8>)> {
        Ok((self.key(version, edge)?, edge.value.encode_value()))
    }

    pub fn put(&self, txn: &mut WriteTxn, version: &[u8], edge: &Edge<K, E>) -> Result<()> {
        let (key, value) = self.entry(version, edge)?;
        txn.put(&self.table, key, value)
    }

    pub fn remove(&self, txn: &mut WriteTxn, version: &[u8], edge: &Edge<K, E>) -> Result<bool> {
        txn.delete(&self.table, self.key(version, edge)?)
    }

    /// The bytes before the direction in the keys of a vertex.
    fn vertex_prefix(version: &[u8], vertex: &impl AsKey<K>) -> Vec<u8> {
        let mut prefix = KeyBuffer::new();
        prefix.push(version);
        vertex.encode_inner(&mut prefix);
        prefix.into_vec()
    }

    /// The edges of a vertex.
    pub fn of_vertex<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: &[u8],
        vertex: &impl AsKey<K>,
        query: &'q EdgeQuery<K, E>,
    ) -> Edges<'t, 'q, T, K, E> {
        let ranges = query.ranges(&Self::vertex_prefix(version, vertex), self.options);
        Edges::new(txn, self.table.clone(), self.options, version.len(), ranges, query)
    }

    /// The targets of the edges of a vertex.
    pub fn targets<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: &[u8],
        vertex: &impl AsKey<K>,
        query: &'q EdgeQuery<K, E>,
    ) -> Targets<'t, 'q, T, K, E> {
        Targets::new(self.of_vertex(txn, version, vertex, query))
    }

    /// The edges of all vertices.
    pub fn all<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: &[u8],
        query: &'q EdgeQuery<K, E>,
    ) -> Edges<'t, 'q, T, K, E> {
        let ranges = vec![all_with(version)];
        Edges::new(txn, self.table.clone(), self.options, version.len(), ranges, query)
    }

    /// The sources and targets of the edges of all vertices.
    pub fn all_targets<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: &[u8],
        query: &'q EdgeQuery<K, E>,
    ) -> AllTargets<'t, 'q, T, K, E> {
        AllTargets::new(self.all(txn, version, query))
    }

    /// The number of edges of all vertices.
    pub fn count_all(&self, txn: &impl Read, version: &[u8], query: &EdgeQuery<K, E>) -> Result<u64> {
        if query.is_unrestricted() {
            return txn.count(&self.table, all_with(version));
        }
        self.all_targets(txn, version, query).try_fold(0, |count, ends| ends.map(|_| count + 1))
    }

    /// The number of edges of a vertex.
    pub fn count(
        &self,
        txn: &impl Read,
        version: &[u8],
        vertex: &impl AsKey<K>,
        query: &EdgeQuery<K, E>,
    ) -> Result<u64> {
        if !self.has_whole_ranges(query) {
            return self.targets(txn, version, vertex, query).try_fold(0, |count, target| target.map(|_| count + 1));
        }
        let ranges = query.ranges(&Self::vertex_prefix(version, vertex), self.options);
        ranges.into_iter().try_fold(0, |sum, range| Ok(sum + txn.count(&self.table, range)?))
    }

    /// Whether a query selects all edges of its ranges.
    fn has_whole_ranges(&self, query: &EdgeQuery<K, E>) -> bool {
        query.is_of_ranges() && query.limits() == [None; 2] && query.selects_by_keys(self.options)
    }

    /// Removes edges of a vertex, and returns their number. If the query does not select all edges of its ranges, the
    /// keys of the selected edges are kept in memory.
    pub fn remove_matching(
        &self,
        txn: &mut WriteTxn,
        version: &[u8],
        vertex: &impl AsKey<K>,
        query: &EdgeQuery<K, E>,
    ) -> Result<u64> {
        if self.has_whole_ranges(query) {
            let ranges = query.ranges(&Self::vertex_prefix(version, vertex), self.options);
            return ranges.into_iter().try_fold(0, |sum, range| Ok(sum + txn.delete_range(&self.table, range)?));
        }
        let edges = self.of_vertex(txn, version, vertex, query);
        let keys: Vec<KeyBuffer> = edges.map(|edge| self.key(version, &edge?)).collect::<Result<_>>()?;
        let removed = keys.len() as u64;
        keys.into_iter().try_for_each(|key| txn.delete(&self.table, key).map(drop))?;
        Ok(removed)
    }

    /// The value of an edge.
    pub fn value(&self, txn: &impl Read, version: &[u8], edge: &Edge<K, E>) -> Result<Option<E>> {
        let value = txn.get(&self.table, self.key(version, edge)?)?;
        value.map(|value| E::decode_value(&value).map_err(decode_error)).transpose()
    }
}
