//! An RDF quad store with SPARQL 1.1, in one file of the Fulgurite engine.
//!
//! ```
//! use fulgurite_rdf::sparql::{Query, QueryResults};
//! use fulgurite_rdf::{LoadInput, LoadOptions, RdfFormat, Store, StoreOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("people.ful");
//! let store = Store::open_or_create(path, StoreOptions::new())?;
//! let turtle = "@prefix : <http://example.org/> . :ann :knows :bob . :bob :age 39 .";
//! let input = LoadInput::reader("people", turtle.as_bytes(), RdfFormat::Turtle);
//! store.load(vec![input], &LoadOptions::new())?;
//!
//! let text = "PREFIX : <http://example.org/> ASK { :ann :knows/:age 39 }";
//! let answer = Query::parse(text, None)?.evaluate(&store.snapshot()?)?;
//! assert!(matches!(answer, QueryResults::Boolean(true)));
//! store.close()?;
//! # Ok(()) }
//! ```
//!
//! # Where to begin
//!
//! | you want to | begin at |
//! |---|---|
//! | open a store | [`Store::open_or_create`], [`StoreOptions`] |
//! | load files | [`Store::load`], [`LoadInput`], [`LoadOptions`] |
//! | query | [`sparql::Query`], [`sparql::Limits`] |
//! | update by SPARQL | [`sparql::Update`] |
//! | change quads from Rust | [`Store::update`], [`Transaction`] |
//! | read quads without SPARQL | [`Store::snapshot`], [`Quads`] |
//! | write files | [`dump`], [`sparql::QueryResults::write`] |
//!
//! Terms have 64-bit ids, whose order follows the values of the terms. Quads are in counted tables, one for each order.
//! Transactions, snapshots and durability are the engine's. This crate uses no network: `fulgurite-server` serves a
//! store over HTTP. `docs/reference/rdf.md` and `docs/reference/sparql.md` are the reference.

mod dictionary;
mod error;
mod load;
mod maintenance;
mod meter;
mod model;
mod quads;
pub mod sparql;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod writing;
mod xml;

pub use error::{Error, LimitKind, Result};
pub use fulgurite::{Database, Durability, Isolation};
pub use load::{
    BadStatement, DocumentQuads, LoadInput, LoadOptions, LoadProgress, LoadReport, decompress, parse_document,
};
pub use maintenance::check::StoreCheck;
pub use maintenance::dump::{dump, dump_patterns};
pub use maintenance::salvage::dump_readable;
pub use maintenance::stats::{GraphStats, StoreStats};
pub use maintenance::sweep::{SweepOptions, SweepProgress, SweepReport};
pub use meter::MeteringAllocator;
pub use model::id::{InlineValue, ShortText, TermId, TermKind};
pub use model::pattern::{GraphPattern, IdPattern, IdQuad, Order, Position};
pub use oxrdfio::RdfFormat;
pub use quads::graph_names::GraphNames;
pub use quads::joined::{JoinGraph, JoinPattern, JoinStep, JoinTerm, Joined};
pub use quads::quad_ids::{QuadIds, QuadStep};
pub use quads::reading::Quads;
pub use quads::statements::{StatementBatch, StatementRefs, Statements};
pub use quads::term_pattern::{TermGraphs, TermPattern};
pub use spareval::CancellationToken;
pub use store::database::{Store, StoreOptions};
pub use store::isolation::IsolationLevel;
pub use store::recorded::RecordedTransaction;
pub use store::snapshot::Snapshot;
pub use store::transaction::{Savepoint, Transaction, TransactionView};
pub use tables::StatementKinds;
pub use writing::is_turtle_prefix;
pub use {oxrdf, oxrdfio, sparesults, spareval, spargebra};

/// The example of the manual.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/rdf.md")]
struct Manual;
