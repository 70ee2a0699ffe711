//! SPARQL queries and updates over [`Quads`](crate::Quads).
