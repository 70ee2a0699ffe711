//! Facts about code in a Fulgurite database: a store, and Angle, the language of its schemas and queries.
//!
//! A **fact** belongs to a predicate, and has a key and a value. A predicate has at most one fact with a given key.
//! Each fact has an id, and the ids of a database are dense. Facts, keys, ids and Angle are those of Glean, a system
//! for facts about code.
//!
//! ```
//! use std::sync::Arc;
//!
//! use fulgurite_facts::{Compiler, Schema, Type, Value, decode, encode};
//!
//! # fn main() -> fulgurite_facts::Result<()> {
//! let text = "schema src.1 { predicate File : string  predicate Line : { file : File, number : nat } }";
//! let schema = Arc::new(Schema::parse("src.angle", text)?);
//! let line = schema.find("src.Line").expect("the schema declares it");
//! assert_eq!(line.full_name(), "src.Line.1");
//!
//! // Values are encoded by their types: here a number of two bytes.
//! let bytes = encode(&Type::Nat, &Value::Nat(300))?;
//! assert_eq!((bytes.len(), decode(&Type::Nat, &bytes)?), (2, Value::Nat(300)));
//!
//! // A compiler has checked all derivations of its schema.
//! let compiler = Compiler::new(schema)?;
//! assert_eq!(compiler.stored_derivations().count(), 0);
//! # Ok(()) }
//! ```
//!
//! | you want to | begin at |
//! |---|---|
//! | read a schema | [`Schema`], [`Source`] |
//! | encode a value, or decode one | [`Type`], [`Value`], [`encode()`], [`decode()`] |
//! | write facts from JSON, or print them | [`write_batch`], [`FactSink`], [`Printer`] |
//! | ask | [`Compiler`], [`Query`], [`Reads`] |
//!
//! `docs/reference/angle.md` describes the language.

mod angle;
mod error;
mod ids;
mod json;
mod layout;
mod ownership;
mod query;
mod schema;
mod state;
mod store;
mod value;

pub use angle::diagnostic::Diagnostic;
pub use angle::source::Source;
pub use angle::tree::DeriveWhen;
pub use error::{Error, OtherValue, Result};
pub use ids::{FactId, PredicateId};
pub use json::batch::write_batch;
pub use json::parse::FactSink;
pub use json::print::{Expansion, FactLookup, Printer};
pub use layout::fact::Fact;
pub use ownership::slice::Slice;
pub use query::execution::DerivedFacts;
pub use query::prepared::{Compiler, Page, Query, QueryLimits, QueryResult};
pub use query::reads::{Reads, Visit};
pub use schema::definition::{NamedType, Predicate, Schema};
pub use state::State;
pub use store::batch::Batch;
pub use store::commit::{Committed, Substitute};
pub use store::enumerate::Enumerate;
pub use store::handle::Store;
pub use store::open::StoreOptions;
pub use store::seek::Seek;
pub use store::snapshot::Snapshot;
pub use store::statistics::Statistics;
pub use value::codec::{decode, encode};
pub use value::error::{ValueError, ValueFault};
pub use value::types::{Field, Type};
pub use value::values::{StoredFact, Value};
