//! A store of RDF quads on the storage engine: terms as 64-bit numbers that order as their values do, quads in counted tables,
//! snapshots, transactions, bulk loads, and SPARQL.
//!
//! It knows no network. [`Store`] is the entrance; what SPARQL reads through is [`Quads`].

mod base_iri;
mod changes;
mod check;
mod dictionary;
mod dump;
mod error;
mod id;
mod inferred;
mod isolation;
mod load;
mod meter;
mod pattern;
mod plan;
mod predicates;
mod quads;
mod seeded_hash;
mod shared;
mod snapshot;
pub mod sparql;
mod statements;
mod stats;
mod store;
mod sweep;
mod tables;
mod term_batch;
mod term_batches;
#[cfg(test)]
mod tests;
mod transaction;
mod used;
mod view;
mod writing;
mod xml;

pub use check::StoreCheck;
pub use dump::dump;
pub use error::{Error, Result};
pub use fulgurite::{Database, Durability, Isolation};
pub use id::{InlineValue, ShortText, TermId, TermKind};
pub use inferred::StatementKinds;
pub use isolation::IsolationLevel;
pub use load::{BadStatement, DocumentQuads, LoadInput, LoadOptions, LoadProgress, LoadReport, parse_document};
pub use meter::MeteringAllocator;
pub use oxrdfio::RdfFormat;
pub use pattern::{GraphPattern, IdPattern, IdQuad, Order, Position};
pub use quads::{GraphNames, QuadIds, Quads};
pub use snapshot::Snapshot;
pub use spareval::CancellationToken;
pub use statements::{StatementBatch, StatementRefs, Statements};
pub use stats::{GraphStats, StoreStats};
pub use store::{Store, StoreOptions};
pub use sweep::{SweepOptions, SweepProgress, SweepReport};
pub use transaction::{Savepoint, Transaction, TransactionView};
pub use {oxrdf, oxrdfio, sparesults, spareval, spargebra};

/// The example of the manual.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/rdf.md")]
struct Manual;
