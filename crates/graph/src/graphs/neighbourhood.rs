//! [`Neighbourhood`]: a vertex with its edges, which is what one step of a graph algorithm reads.

use std::iter::Peekable;

use fulgurite::keys::{Key, ValueCodec};
use fulgurite::{Read, Result};

use crate::edges::edge::Edge;
use crate::edges::iter::Edges;

/// A vertex and its edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbourhood<K, V, E> {
    /// The vertex.
    pub id: K,
    /// Its value, if it has one.
    pub vertex: Option<V>,
    /// Its edges that the query selects.
    pub edges: Vec<Edge<K, E>>,
}

/// Vertices with values, in the order of their ids.
type Vertices<'t, K, V> = Box<dyn Iterator<Item = Result<(K, V)>> + 't>;

/// An iterator over all vertices with their edges: see [`Graph::neighbourhoods`](crate::Graph::neighbourhoods).
pub struct Neighbourhoods<'t, 'q, T, K, V, E>
where
    T: Read,
    K: Key,
    V: ValueCodec,
    E: ValueCodec,
{
    vertices: Peekable<Vertices<'t, K, V>>,
    edges: Peekable<Edges<'t, 'q, T, K, E>>,
    has_ended: bool,
}

impl<'t, 'q, T: Read, K: Key + Clone, V: ValueCodec, E: ValueCodec> Neighbourhoods<'t, 'q, T, K, V, E> {
    pub(crate) fn new(vertices: Vertices<'t, K, V>, edges: Edges<'t, 'q, T, K, E>) -> Self {
        Self { vertices: vertices.peekable(), edges: edges.peekable(), has_ended: false }
    }

    fn read(&mut self) -> Result<Option<Neighbourhood<K, V, E>>> {
        let vertex_first = match (self.vertices.peek(), self.edges.peek()) {
            (None, None) => return Ok(None),
            (None, Some(_)) => false,
            // Ids are in the order of their bytes.
            (Some(Ok((id, _))), Some(Ok(edge))) => id.encode().as_slice() <= edge.source.encode().as_slice(),
            (Some(_), _) => true,
        };
        let mut found = if vertex_first {
            let Some((id, vertex)) = self.vertices.next().transpose()? else { return Ok(None) };
            Neighbourhood { id, vertex: Some(vertex), edges: Vec::new() }
        } else {
            let Some(edge) = self.edges.next().transpose()? else { return Ok(None) };
            Neighbourhood { id: edge.source.clone(), vertex: None, edges: vec![edge] }
        };
        let id = found.id.encode();
        let is_of = |edge: &Result<Edge<K, E>>| match edge {
            Ok(edge) => edge.source.encode().as_slice() == id.as_slice(),
            Err(_) => true,
        };
        while let Some(edge) = self.edges.next_if(is_of) {
            found.edges.push(edge?);
        }
        Ok(Some(found))
    }
}

impl<T: Read, K: Key + Clone, V: ValueCodec, E: ValueCodec> Iterator for Neighbourhoods<'_, '_, T, K, V, E> {
    type Item = Result<Neighbourhood<K, V, E>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let found = self.read().transpose();
        self.has_ended = !matches!(found, Some(Ok(_)));
        found
    }
}
