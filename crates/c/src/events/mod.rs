//! Event stores: appends, reads, followers, and positions of consumers.

mod appending;
mod consumers;
mod following;
pub mod held;
mod reading;
mod store;
