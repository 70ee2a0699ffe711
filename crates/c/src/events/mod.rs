//! Event stores: appends, reads, changes of streams, followers and servers, and positions of consumers.

mod appending;
mod consumers;
pub mod feeds;
mod following;
pub mod held;
mod queries;
mod reading;
mod store;
mod streams;
