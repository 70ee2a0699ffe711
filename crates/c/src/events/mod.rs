//! Event stores: appends, reads, changes of streams, followers, and positions of consumers.

mod appending;
mod consumers;
mod following;
pub mod held;
mod queries;
mod reading;
mod store;
mod streams;
