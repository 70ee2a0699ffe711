//! The engine's tables of a store: names, indexes, settings, and the hash of terms.

mod hasher;
mod index;
mod open;
mod reads;
mod settings;

pub use hasher::{HashedAlready, TermHasher};
pub use index::{Index, Inferred, StatementKinds};
pub use open::Tables;
pub use reads::{KeySink, Reads};
pub use settings::{NEXT_NUMBER_KEY, Settings, are_orders_of_a_store, damaged, next_number, set_next_number};
