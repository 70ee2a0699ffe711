//! A store of facts about code in a Fulgurite database.
//!
//! A **fact** belongs to a predicate, and has a key and a value. A predicate has at most one fact with a given key.
//! Each fact has an id, and the ids of a database are dense. Facts, keys and ids are those of Glean, a system for facts
//! about code.

mod error;
mod ids;
mod layout;
mod ownership;
mod state;
mod store;

pub use error::{Error, OtherValue, Result};
pub use ids::{FactId, PredicateId};
pub use layout::fact::Fact;
pub use ownership::slice::Slice;
pub use state::State;
pub use store::batch::Batch;
pub use store::commit::{Committed, Substitute};
pub use store::enumerate::Enumerate;
pub use store::handle::Store;
pub use store::open::StoreOptions;
pub use store::seek::Seek;
pub use store::snapshot::Snapshot;
pub use store::statistics::Statistics;
