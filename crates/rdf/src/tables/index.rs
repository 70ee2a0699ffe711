//! The indexes of quads, and those of inferred quads.

use fulgurite::Table;

use crate::model::pattern::Order;

/// One index of quads.
#[derive(Clone, Debug)]
pub struct Index {
    pub order: Order,
    pub table: Table,
}

/// Kinds of statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StatementKinds {
    /// Explicit and inferred statements, each quad once.
    #[default]
    All,
    /// Asserted statements, which may be inferred too.
    Explicit,
    /// Statements that are inferred and were not asserted.
    Inferred,
}

/// The tables of inferred quads.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// As [`Tables::default_graph`](crate::tables::Tables::default_graph), of quads that are not explicit.
    pub default_graph: Vec<Index>,
    /// As [`Tables::named_graphs`](crate::tables::Tables::named_graphs), of quads that are not explicit.
    pub named_graphs: Vec<Index>,
    /// Quads that are explicit and inferred: see [`key_of_both`](crate::quads::inferred::key_of_both).
    pub both: Table,
}
