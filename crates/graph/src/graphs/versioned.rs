//! [`VersionedGraph`]: a graph for each version of the data.

use std::convert::Infallible;
use std::ops::Bound;
use std::time::Duration;

use fulgurite::keys::{AsKey, AsValue, Key, KeyBuffer, Reader, ValueCodec};
use fulgurite::{Database, Error, Range, Read, Result, TypedRange, TypedTable, Value, WriteTxn};

use crate::edges::edge::Edge;
use crate::edges::iter::{AllTargets, Edges, Targets, decode_error};
use crate::edges::layout::{ByRef, GraphOptions, all_with};
use crate::edges::query::EdgeQuery;
use crate::edges::table::EdgeTable;
use crate::graphs::load::{self, SORT_BYTES};
use crate::graphs::neighbourhood::{Neighbourhood, Neighbourhoods};

/// A graph for each version, a number that the program chooses: a time window, a batch, a revision. A read is of one
/// version exactly: what another version has is not seen.
///
/// The tables are `NAME.vertices` and `NAME.edges`, whose keys begin with the version, newest first, and
/// `NAME.versions`, which has the versions of each vertex.
///
/// ```
/// # use fulgurite::Database;
/// # use fulgurite_graph::{EdgeQuery, Edge, GraphOptions, VersionedGraph};
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = Database::options().create(true).open(directory.path().join("a.ful"))?;
/// let days: VersionedGraph<u64, String, [u8; 0]> = VersionedGraph::open(&db, "days", GraphOptions::new())?;
/// db.update(|txn| {
///     days.put_vertex(txn, 1, 7_u64, "on Monday")?;
///     days.put_vertex(txn, 2, 7_u64, "on Tuesday")?;
///     days.put_edge(txn, 2, &Edge::out(7, 8, []))
/// })?;
/// let snapshot = db.read()?;
/// assert_eq!(days.latest_version(&snapshot, 7_u64)?, Some(2));
/// assert_eq!(days.vertex(&snapshot, 1, 7_u64)?.as_deref(), Some("on Monday"));
/// assert_eq!(days.edges(&snapshot, 1, 7_u64, &EdgeQuery::new())?.count(), 0);
/// # Ok(()) }
/// ```
pub struct VersionedGraph<K, V, E> {
    /// Keys are the version, newest first, and the id.
    vertices: TypedTable<(u64, K), V>,
    edges: EdgeTable<K, E>,
    /// The id, and its versions, newest first.
    versions: TypedTable<(K, u64), [u8; 0]>,
}

impl<K, V, E> Clone for VersionedGraph<K, V, E> {
    fn clone(&self) -> Self {
        Self { vertices: self.vertices.clone(), edges: self.edges.clone(), versions: self.versions.clone() }
    }
}

/// How many vertices of a version are removed at once.
const REMOVED_AT_ONCE: usize = 1024;

/// The value in the table of versions.
const NOTHING: [u8; 0] = [];

/// The number of a version in keys: newest first.
fn key_of(version: u64) -> u64 {
    u64::MAX - version
}

fn bytes_of(version: u64) -> [u8; 8] {
    key_of(version).to_be_bytes()
}

impl<K: Key, V: ValueCodec, E: ValueCodec> VersionedGraph<K, V, E> {
    /// Opens the graph with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// As [`Graph::open`](crate::Graph::open).
    pub fn open(db: &Database, name: &str, options: GraphOptions) -> Result<Self> {
        let vertices = db.typed_table(&format!("{name}.vertices"))?;
        let edges = EdgeTable::open(db, &format!("{name}.edges"), options, true)?;
        let versions = db.typed_table(&format!("{name}.versions"))?;
        Ok(Self { vertices, edges, versions })
    }

    /// Loads many vertices and edges of a version, in any order, in one commit: see
    /// [`Graph::bulk_load`](crate::Graph::bulk_load). What the version has already stays, unless it is loaded again.
    /// The iterator of the vertices is cloned, for the table of versions.
    ///
    /// ```
    /// # use fulgurite::Database;
    /// # use fulgurite_graph::{Edge, EdgeQuery, GraphOptions, VersionedGraph};
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = Database::options().create(true).open(directory.path().join("a.ful"))?;
    /// use std::time::Duration;
    ///
    /// let days: VersionedGraph<u64, u64, [u8; 0]> = VersionedGraph::open(&db, "days", GraphOptions::new())?;
    /// let ring = (0..1000).map(|id| Edge::out(id, (id + 1) % 1000, []));
    /// days.bulk_load(&db, 7, (0..1000).map(|id| (id, id * id)), ring, Duration::from_secs(10))?;
    /// let snapshot = db.read()?;
    /// assert_eq!(days.vertex(&snapshot, 7, 9_u64)?, Some(81));
    /// assert_eq!(days.count_edges(&snapshot, 7, 999_u64, &EdgeQuery::new())?, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Graph::bulk_load`](crate::Graph::bulk_load). Nothing is loaded then.
    pub fn bulk_load<W>(
        &self,
        db: &Database,
        version: u64,
        vertices: W,
        edges: impl IntoIterator<Item = Edge<K, E>>,
        patience: Duration,
    ) -> Result<()>
    where
        W: IntoIterator<Item = (K, V)>,
        W::IntoIter: Clone,
    {
        let mut load = load::begin(db, patience)?;
        let (number, vertices) = (key_of(version), vertices.into_iter());
        let versions = vertices.clone().map(|(id, _)| {
            let key = AsKey::<(K, u64)>::encode(&Of(&id, number));
            Ok::<_, Infallible>((key, NOTHING))
        });
        load.unsorted(self.versions.as_bytes(), versions, SORT_BYTES)?;
        let vertices = vertices.map(|(id, value)| {
            let key = AsKey::<(u64, K)>::encode(&In(number, &id));
            Ok::<_, Infallible>((key, value.encode_value()))
        });
        load.unsorted(self.vertices.as_bytes(), vertices, SORT_BYTES)?;
        let bytes = bytes_of(version);
        let edges = edges.into_iter().map(|edge| self.edges.entry(&bytes, &edge));
        load.unsorted(self.edges.table(), edges, SORT_BYTES)?;
        load.commit().map(drop)
    }

    /// Stores the value of a vertex in a version.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn put_vertex(
        &self,
        txn: &mut WriteTxn,
        version: u64,
        id: impl AsKey<K>,
        value: impl AsValue<V>,
    ) -> Result<()> {
        txn.put(self.versions.as_bytes(), Of(&id, key_of(version)).encode(), NOTHING)?;
        txn.put(self.vertices.as_bytes(), In(key_of(version), &id).encode(), value.encode_value())
    }

    /// The value of a vertex in a version.
    ///
    /// # Errors
    /// As [`TypedTable::get`].
    pub fn vertex(&self, txn: &impl Read, version: u64, id: impl AsKey<K>) -> Result<Option<V>> {
        self.vertices.get(txn, In(key_of(version), &id))
    }

    /// Removes the value of a vertex in a version. Returns whether there was one.
    ///
    /// # Errors
    /// As [`WriteTxn::delete`].
    pub fn remove_vertex(&self, txn: &mut WriteTxn, version: u64, id: impl AsKey<K>) -> Result<bool> {
        txn.delete(self.versions.as_bytes(), Of(&id, key_of(version)).encode())?;
        txn.delete(self.vertices.as_bytes(), In(key_of(version), &id).encode())
    }

    /// Removes a version: its vertices and edges. Returns how many there were. The time and the changes of the
    /// transaction grow with this number.
    ///
    /// ```
    /// # use fulgurite::Database;
    /// # use fulgurite_graph::{Edge, GraphOptions, VersionedGraph};
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = Database::options().create(true).open(directory.path().join("a.ful"))?;
    /// let days: VersionedGraph<u64, u64, [u8; 0]> = VersionedGraph::open(&db, "days", GraphOptions::new())?;
    /// db.update(|txn| {
    ///     days.put_vertex(txn, 1, 7_u64, 10_u64)?;
    ///     days.put_vertex(txn, 2, 7_u64, 20_u64)?;
    ///     days.put_edge(txn, 1, &Edge::out(7, 8, []))
    /// })?;
    /// assert_eq!(db.update(|txn| days.remove_version(txn, 1))?, 2);
    /// assert_eq!(days.versions(&db.read()?, 7_u64)?, [2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Read::range`] and [`WriteTxn::delete_range`].
    pub fn remove_version(&self, txn: &mut WriteTxn, version: u64) -> Result<u64> {
        let (prefix, number) = (bytes_of(version), key_of(version));
        let (mut low, high) = all_with(&prefix);
        loop {
            let vertices = txn.range(self.vertices.as_bytes(), (low, high.clone()))?.take(REMOVED_AT_ONCE);
            let keys: Vec<Vec<u8>> = vertices.map(|entry| entry.map(|(key, _)| key.to_vec())).collect::<Result<_>>()?;
            let Some(last) = keys.last() else { break };
            low = Bound::Excluded(last.clone());
            for key in &keys {
                let id = K::decode_last(&mut Reader::new(&key[prefix.len()..])).map_err(decode_error)?;
                txn.delete(self.versions.as_bytes(), AsKey::<(K, u64)>::encode(&Of(&id, number)))?;
            }
        }
        let vertices = txn.delete_range(self.vertices.as_bytes(), all_with(&prefix))?;
        Ok(vertices + txn.delete_range(self.edges.table(), all_with(&prefix))?)
    }

    /// The versions in which a vertex has a value, newest first.
    ///
    /// # Errors
    /// As [`Read::range`].
    pub fn versions(&self, txn: &impl Read, id: impl AsKey<K>) -> Result<Vec<u64>> {
        self.versions_of(txn, &id)?.collect()
    }

    fn versions_of<'t>(&self, txn: &'t impl Read, id: &impl AsKey<K>) -> Result<Versions<'t>> {
        let mut prefix = KeyBuffer::new();
        id.encode_inner(&mut prefix);
        let id_bytes = prefix.as_slice().len();
        Ok(Versions { range: txn.prefix(self.versions.as_bytes(), prefix)?, id_bytes })
    }

    /// The newest version in which a vertex has a value.
    ///
    /// # Errors
    /// As [`Read::range`].
    pub fn latest_version(&self, txn: &impl Read, id: impl AsKey<K>) -> Result<Option<u64>> {
        self.versions_of(txn, &id)?.next().transpose()
    }

    /// The values of a vertex with their versions, newest first.
    ///
    /// # Errors
    /// As [`Read::range`] and [`TypedTable::get`].
    pub fn vertex_versions(&self, txn: &impl Read, id: impl AsKey<K>) -> Result<Vec<(u64, V)>> {
        let mut found = Vec::new();
        for version in self.versions_of(txn, &id)? {
            let version = version?;
            if let Some(value) = self.vertices.get(txn, In(key_of(version), &id))? {
                found.push((version, value));
            }
        }
        Ok(found)
    }

    /// Stores an edge in a version.
    ///
    /// # Errors
    /// As [`Graph::put_edge`](crate::Graph::put_edge).
    pub fn put_edge(&self, txn: &mut WriteTxn, version: u64, edge: &Edge<K, E>) -> Result<()> {
        self.edges.put(txn, &bytes_of(version), edge)
    }

    /// Removes an edge from a version. Returns whether it existed.
    ///
    /// # Errors
    /// As [`Graph::put_edge`](crate::Graph::put_edge).
    pub fn remove_edge(&self, txn: &mut WriteTxn, version: u64, edge: &Edge<K, E>) -> Result<bool> {
        self.edges.remove(txn, &bytes_of(version), edge)
    }

    /// Removes the edges of a vertex that a query selects from a version, and returns their number.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges) and [`WriteTxn::delete`].
    pub fn remove_edges(
        &self,
        txn: &mut WriteTxn,
        version: u64,
        id: impl AsKey<K>,
        query: &EdgeQuery<K, E>,
    ) -> Result<u64> {
        self.edges.remove_matching(txn, &bytes_of(version), &id, query)
    }

    /// The value that the edge with the source, target, direction, label and time of `edge` has in a version.
    ///
    /// # Errors
    /// As [`Graph::edge_value`](crate::Graph::edge_value).
    pub fn edge_value(&self, txn: &impl Read, version: u64, edge: &Edge<K, E>) -> Result<Option<E>> {
        self.edges.value(txn, &bytes_of(version), edge)
    }

    /// The edges of a vertex in a version that a query selects.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges).
    pub fn edges<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: u64,
        id: impl AsKey<K>,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Edges<'t, 'q, T, K, E>> {
        Ok(self.edges.of_vertex(txn, &bytes_of(version), &id, query))
    }

    /// The targets of the edges of a vertex in a version that a query selects.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges).
    pub fn targets<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: u64,
        id: impl AsKey<K>,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Targets<'t, 'q, T, K, E>> {
        Ok(self.edges.targets(txn, &bytes_of(version), &id, query))
    }

    /// The number of edges of a vertex in a version that a query selects.
    ///
    /// # Errors
    /// As [`Graph::count_edges`](crate::Graph::count_edges).
    pub fn count_edges(
        &self,
        txn: &impl Read,
        version: u64,
        id: impl AsKey<K>,
        query: &EdgeQuery<K, E>,
    ) -> Result<u64> {
        self.edges.count(txn, &bytes_of(version), &id, query)
    }

    /// A vertex and its edges in a version.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges).
    pub fn neighbourhood(
        &self,
        txn: &impl Read,
        version: u64,
        id: K,
        query: &EdgeQuery<K, E>,
    ) -> Result<Neighbourhood<K, V, E>> {
        let vertex = self.vertex(txn, version, ByRef(&id))?;
        let edges = self.edges.of_vertex(txn, &bytes_of(version), &ByRef(&id), query).collect::<Result<_>>()?;
        Ok(Neighbourhood { id, vertex, edges })
    }

    /// The vertices with values in a version, in the order of their ids.
    ///
    /// # Errors
    /// As [`Read::range`].
    pub fn vertices<'t>(&self, txn: &'t impl Read, version: u64) -> Result<VersionVertices<'t, K, V>> {
        Ok(VersionVertices(self.vertices.prefix(txn, &(key_of(version),))?))
    }

    /// The edges of all vertices in a version that a query selects.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges).
    pub fn all_edges<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: u64,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Edges<'t, 'q, T, K, E>> {
        Ok(self.edges.all(txn, &bytes_of(version), query))
    }

    /// The sources and targets of the edges of all vertices in a version that a query selects.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges).
    pub fn all_targets<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: u64,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<AllTargets<'t, 'q, T, K, E>> {
        Ok(self.edges.all_targets(txn, &bytes_of(version), query))
    }

    /// The number of edges of all vertices in a version that a query selects.
    ///
    /// # Errors
    /// As [`Graph::count_all_edges`](crate::Graph::count_all_edges).
    pub fn count_all_edges(&self, txn: &impl Read, version: u64, query: &EdgeQuery<K, E>) -> Result<u64> {
        self.edges.count_all(txn, &bytes_of(version), query)
    }

    /// All vertices of a version with their edges.
    ///
    /// # Errors
    /// As [`Graph::edges`](crate::Graph::edges).
    pub fn neighbourhoods<'t, 'q, T: Read>(
        &self,
        txn: &'t T,
        version: u64,
        query: &'q EdgeQuery<K, E>,
    ) -> Result<Neighbourhoods<'t, 'q, T, K, V, E>>
    where
        K: Clone + 't,
        V: 't,
        E: 't,
    {
        let vertices = Box::new(self.vertices(txn, version)?);
        Ok(Neighbourhoods::new(vertices, self.edges.all(txn, &bytes_of(version), query)))
    }
}

/// The vertices of a version: see [`VersionedGraph::vertices`].
#[derive(Debug)]
pub struct VersionVertices<'t, K, V>(TypedRange<'t, (u64, K), V>);

impl<K: Key, V: ValueCodec> Iterator for VersionVertices<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|((_, id), value)| (id, value)))
    }
}

/// The versions of a vertex, newest first.
struct Versions<'t> {
    range: Range<'t>,
    /// The bytes of the id in each key.
    id_bytes: usize,
}

impl Iterator for Versions<'_> {
    type Item = Result<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let id_bytes = self.id_bytes;
        let version = |(key, _): (Value<'_>, Value<'_>)| {
            let number = key.get(id_bytes..).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
            let malformed = || Error::Decode { message: "a version does not have eight bytes".to_owned() };
            number.map(key_of).ok_or_else(malformed)
        };
        Some(self.range.next()?.and_then(version))
    }
}

/// The key of a vertex in a version.
struct In<'k, Q>(u64, &'k Q);

impl<K: Key, Q: AsKey<K>> AsKey<(u64, K)> for In<'_, Q> {
    fn encode_inner(&self, out: &mut KeyBuffer) {
        self.0.encode_inner(out);
        self.1.encode_inner(out);
    }

    fn encode_last(&self, out: &mut KeyBuffer) {
        self.0.encode_inner(out);
        self.1.encode_last(out);
    }
}

/// The key of a version of a vertex.
struct Of<'k, Q>(&'k Q, u64);

impl<K: Key, Q: AsKey<K>> AsKey<(K, u64)> for Of<'_, Q> {
    fn encode_inner(&self, out: &mut KeyBuffer) {
        self.0.encode_inner(out);
        self.1.encode_inner(out);
    }
}
