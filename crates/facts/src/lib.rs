//! Facts about code in a Fulgurite database: a store, and Angle, the language of its schemas and queries.
//!
//! A **fact** belongs to a predicate, and has a key and a value. A predicate has at most one fact with a given key.
//! Each fact has an id, and the ids of a database are dense. Facts, keys, ids and Angle are those of Glean, a system
//! for facts about code.
//!
//! ```
//! use fulgurite_facts::{Expansion, FactDatabase, QueryLimits, Schema};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("code.ful");
//! let schema = "schema src.1 { predicate File : string  predicate Line : { file : File, number : nat } }";
//! let database = FactDatabase::create(&path, Schema::parse("src.angle", schema)?)?;
//! let facts = r#"[{ "predicate": "src.Line.1", "facts": [{ "key": { "file": { "key": "a.rs" }, "number": 7 } }] }]"#;
//! assert_eq!(database.write_json(facts.as_bytes(), None)?.new, 2);
//!
//! let reader = database.reader()?;
//! let page = reader.query(r#"N where src.Line { file = "a.rs", number = N }"#, &QueryLimits::default())?;
//! assert_eq!(reader.print(&page, Expansion::FLAT)?[0].to_string(), "7");
//! # Ok(()) }
//! ```
//!
//! | you want to | begin at |
//! |---|---|
//! | create, open, write and query a database | [`FactDatabase`], [`FactReader`] |
//! | read a schema | [`Schema`], [`Source`] |
//! | encode a value, or decode one | [`Type`], [`Value`], [`encode()`], [`decode()`] |
//! | write facts from JSON elsewhere, or print them | [`write_batch`], [`FactSink`], [`Printer`] |
//! | compile queries for other sources of facts | [`Compiler`], [`Query`], [`Reads`] |
//! | store facts as bytes, or stack databases | [`Store`], [`StoreOptions`], [`Batch`], [`Snapshot`] |
//! | store derived facts | [`FactDatabase::derive`] |
//! | complete a database | [`FactDatabase::complete`], [`State`] |
//! | keep a database in LMDB | [`StoreOptions::backend`], [`Backend`] |
//! | hide facts of some files | [`Snapshot::slice_of`], [`FactReader::sliced`], [`StoreOptions::hide_units`] |
//! | find the owners of facts | [`Snapshot::unit_facts`], [`Snapshot::owners_of`] |
//! | copy facts with their owners | [`Snapshot::claims`], [`Snapshot::each_derivation`] |
//!
//! `docs/reference/facts.md` has the guarantees and the bytes, `docs/reference/angle.md` the language.

mod angle;
mod cancellation;
mod database;
mod error;
mod ids;
mod json;
mod layout;
#[cfg(feature = "lmdb")]
mod lmdb;
mod ownership;
mod query;
mod reading;
mod schema;
mod state;
mod store;
mod value;

pub use angle::diagnostic::Diagnostic;
pub use angle::source::Source;
pub use angle::tree::DeriveWhen;
pub use cancellation::CancellationToken;
pub use database::derivation::{DerivationLimits, DerivationRound, Derived};
pub use database::handle::FactDatabase;
pub use database::reader::FactReader;
pub use database::validation::Validated;
pub use database::writing::Written;
pub use error::{Error, OtherValue, Result};
pub use ids::{FactId, PredicateId};
pub use json::batch::write_batch;
pub use json::parse::FactSink;
pub use json::print::{Expansion, FactLookup, Printer};
pub use json::strict::strict_json;
pub use layout::fact::Fact;
pub use ownership::owners::Owner;
pub use ownership::slice::Slice;
pub use query::execution::DerivedFacts;
pub use query::prepared::{Compiler, EachResult, FoundResult, Page, PageFlow, Query, QueryLimits, QueryResult};
pub use query::primitives::lower_case;
pub use query::reads::{Reads, Visit};
pub use reading::claims::Claims;
pub use reading::counts::Statistics;
pub use reading::enumerate::Enumerate;
pub use reading::owners::UnitFacts;
pub use reading::seek::Seek;
pub use reading::snapshot::Snapshot;
pub use schema::definition::{NamedType, Predicate, Schema};
pub use state::State;
pub use store::backing::Backend;
pub use store::batch::Batch;
pub use store::commit::{Committed, Substitute};
pub use store::handle::Store;
pub use store::open::StoreOptions;
pub use value::codec::{decode, encode};
pub use value::error::{ValueError, ValueFault};
pub use value::references::references_of;
pub use value::types::{Field, Type};
pub use value::values::{StoredFact, Value};
