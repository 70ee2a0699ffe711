//! A store of facts about code in a Fulgurite database.
//!
//! A **fact** belongs to a predicate, and has a key and a value. A predicate has at most one fact with a given key.
//! Each fact has an id, and the ids of a database are dense. Facts, keys and ids are those of Glean, a system for facts
//! about code.

mod error;
mod ids;

pub use error::{Error, Result};
pub use ids::{FactId, PredicateId};
