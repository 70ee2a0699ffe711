//! [`Graph`]: vertices and edges without versions.

use std::convert::Infallible;
use std::time::Duration;

use fulgurite::keys::{AsKey, AsValue, Key, ValueCodec};
use fulgurite::{Database, Read, Result, TypedRange, TypedTable, WriteTxn};

use crate::edges::edge::Edge;
use crate::edges::iter::{AllTargets, Edges, Targets};
use crate::edges::layout::{ByRef, GraphOptions};
use crate::edges::query::EdgeQuery;
use crate::edges::table::EdgeTable;
use crate::graphs::load::{self, SORT_BYTES};
use crate::graphs::neighbourhood::{Neighbourhood, Neighbourhoods};

/// A graph whose vertices are identified by `K`, and have values `V`; its edges have values `E`. `[u8; 0]` is a value
/// without content.
///
/// The tables are `NAME.vertices` and `NAME.edges`. A vertex may have edges and no value, and the target of an edge
/// need not be a vertex of the graph.
///
/// See [the crate](crate) for an example.
pub struct Graph<K, V, E> {
    pub(crate) vertices: TypedTable<K, V>,
    pub(crate) edges: EdgeTable<K, E>,
}

impl<K, V, E> Clone for Graph<K, V, E> {
    fn clone(&self) -> Self {
        Self { vertices: self.vertices.clone(), edges: self.edges.clone() }
    }
}

/// Of a graph without versions.
const NO_VERSION: &[u8] = &[];

impl<K: Key, V: ValueCodec, E: ValueCodec> Graph<K, V, E> {
    /// Opens the graph with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::TableMismatch`](fulgurite::Error::TableMismatch) if it exists with other types or options; as
    /// [`Database::create_table`].
    pub fn open(db: &Database, name: &str, options: GraphOptions) -> Result<Self> {
        let vertices = db.typed_table(&format!("{name}.vertices"))?;
        let edges = EdgeTable::open(db, &format!("{name}.edges"), options, false)?;
        Ok(Self { vertices, edges })
    }

    /// Loads many vertices and edges, in any order, in one commit. This is several times faster than transactions. They
    /// are sorted in bounded memory, with temporary files next to the database. Of vertices or edges that occur more
    /// than once, the last is stored.
    ///
    /// Other writers wait meanwhile, and this waits for them at most as long as `patience`.
    ///
    /// # Errors
    /// [`Error::Invalid`](fulgurite::Error::Invalid) if others write for longer; as [`Graph::put_edge`] and
    /// [`Database::bulk_load_unsorted`]. Nothing is loaded then.
    pub fn bulk_load(
        &self,
        db: &Database,
        vertices: impl IntoIterator<Item = (K, V)>,
        edges: impl IntoIterator<Item = Edge<K, E>>,
        patience: Duration,
    ) -> Result<()> {
        let mut load = load::begin(db, patience)?;
        let vertices = vertices.into_iter().map(|(id, value)| Ok::<_, Infallible>((id.encode(), value.encode_value())));
        load.unsorted(self.vertices.as_bytes(), vertices, SORT_BYTES)?;
        let edges = edges.into_iter().map(|edge| self.edges.entry(NO_VERSION, &edge));
        load.unsorted(self.edges.table(), edges, SORT_BYTES)?;
        load.commit().map(drop)
    }

    /// Stores the value of a vertex.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn put_vertex(&self, txn: &mut WriteTxn, id: impl AsKey<K>, value: impl AsValue<V>) -> Result<()> {
        self.vertices.put(txn, id, value)
    }

    /// The value of a vertex.
    ///
    /// # Errors
    /// As [`TypedTable::get`].
    pub fn vertex(&self, txn: &impl Read, id: impl AsKey<K>) -> Result<Option<V>> {
        self.vertices.get(txn, id)
    }

    /// Removes the value of a vertex, and not its edges. Returns whether there was one.
    ///
    /// # Errors
    /// As [`WriteTxn::delete`].
    pub fn remove_vertex(&self, txn: &mut WriteTxn, id: impl AsKey<K>) -> Result<bool> {
        self.vertices.delete(txn, id)
    }

    /// Stores an edge. Replaces the value of the edge with the same source, target, direction, label and time.
    ///
    /// # Errors
    /// [`Error::Invalid`](fulgurite::Error::Invalid) if it has a label or time and the graph has none; as
    /// [`WriteTxn::put`].
    pub fn put_edge(&self, txn: &mut WriteTxn, edge: &Edge<K, E>) -> Result<()> {
        self.edges.put(txn, NO_VERSION, edge)
    }

    /// Removes an edge, whatever its value. Returns whether it existed.
    ///
    /// # Errors
    /// As [`Graph::put_edge`].
    pub fn remove_edge(&self, txn: &mut WriteTxn, edge: &Edge<K, E>) -> Result<bool> {
        self.edges.remove(txn, NO_VERSION, edge)
    }

    /// Removes the edges of a vertex that a query selects, and returns their number.
    ///
    /// # Errors
    /// As [`Graph::edges`] and [`WriteTxn::delete`].
    pub fn remove_edges(&self, txn: &mut WriteTxn, id: impl AsKey<K>, query: &EdgeQuery<K, E>) -> Result<u64> {
        self.edges.remove_matching(txn, NO_VERSION, &id, query)
    }

    /// The value of the edge with the source, target, direction, label and time of `edge`.
    ///
    /// # Errors
    /// As [`Graph::put_edge`] and [`TypedTable::get`].
    pub fn edge_value(&self, txn: &impl Read, edge: &Edge<K, E>) -> Result<Option<E>> {
        self.edges.value(txn, NO_VERSION, edge)
    }

    /// The edges of a vertex that a query selects, in the order of direction, label, time and target.
    ///
    /// # Errors
    /// As [`Read::range`]; the iterator returns errors of reading, and
    /// [`Error::Decode`](fulgurite::Error::Decode).
    pub fn edges<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        id: impl AsKey<K>,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Edges<'t, 'q, T, K, E>> {
        Ok(self.edges.of_vertex(txn, NO_VERSION, &id, query))
    }

    /// The targets of the edges of a vertex that a query selects. Faster than [`Graph::edges`], which decodes values.
    ///
    /// # Errors
    /// As [`Graph::edges`].
    pub fn targets<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        id: impl AsKey<K>,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Targets<'t, 'q, T, K, E>> {
        Ok(self.edges.targets(txn, NO_VERSION, &id, query))
    }

    /// The number of edges of a vertex that a query selects. Without a filter and limits they are counted without being
    /// read, unless the query selects times and no labels of a graph with both.
    ///
    /// # Errors
    /// As [`Read::count`].
    pub fn count_edges(&self, txn: &impl Read, id: impl AsKey<K>, query: &EdgeQuery<K, E>) -> Result<u64> {
        self.edges.count(txn, NO_VERSION, &id, query)
    }

    /// A vertex and its edges.
    ///
    /// # Errors
    /// As [`Graph::edges`].
    pub fn neighbourhood(&self, txn: &impl Read, id: K, query: &EdgeQuery<K, E>) -> Result<Neighbourhood<K, V, E>> {
        let vertex = self.vertices.get(txn, ByRef(&id))?;
        let edges = self.edges.of_vertex(txn, NO_VERSION, &ByRef(&id), query).collect::<Result<_>>()?;
        Ok(Neighbourhood { id, vertex, edges })
    }

    /// The vertices with values, in the order of their ids.
    ///
    /// # Errors
    /// As [`TypedTable::iter`].
    pub fn vertices<'t>(&self, txn: &'t impl Read) -> Result<TypedRange<'t, K, V>> {
        self.vertices.iter(txn)
    }

    /// The edges of all vertices that a query selects, in the order of their sources. Limits are of each vertex.
    ///
    /// # Errors
    /// As [`Graph::edges`].
    pub fn all_edges<'t, 'q, T: Read>(&self, txn: &'t T, query: &'q EdgeQuery<K, E>) -> Result<Edges<'t, 'q, T, K, E>> {
        Ok(self.edges.all(txn, NO_VERSION, query))
    }

    /// The sources and targets of the edges of all vertices that a query selects, in the order of the sources. Faster
    /// than [`Graph::all_edges`], which decodes values.
    ///
    /// # Errors
    /// As [`Graph::edges`].
    pub fn all_targets<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<AllTargets<'t, 'q, T, K, E>> {
        Ok(self.edges.all_targets(txn, NO_VERSION, query))
    }

    /// The number of edges of all vertices that a query selects. If it selects all edges, they are counted without
    /// being read. Otherwise they are read as by [`Graph::all_targets`].
    ///
    /// # Errors
    /// As [`Graph::edges`] and [`Read::count`].
    pub fn count_all_edges(&self, txn: &impl Read, query: &EdgeQuery<K, E>) -> Result<u64> {
        self.edges.count_all(txn, NO_VERSION, query)
    }

    /// All vertices with their edges, in the order of their ids: those with values, and those with edges that the query
    /// selects.
    ///
    /// # Errors
    /// As [`Graph::edges`].
    pub fn neighbourhoods<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Neighbourhoods<'t, 'q, T, K, V, E>>
    where
        K: Clone + 't,
        V: 't,
    {
        Ok(Neighbourhoods::new(Box::new(self.vertices.iter(txn)?), self.edges.all(txn, NO_VERSION, query)))
    }
}
