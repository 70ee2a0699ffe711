//! Stores that RDF4J wrote are copied whole; what is not such a store is refused, and leaves no file.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

mod copies;
mod damage;
mod fixture;
mod refusals;
