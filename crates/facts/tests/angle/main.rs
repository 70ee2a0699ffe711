//! Angle: encodings, schemas, facts as JSON, and queries.

mod benchmark;
mod encodings;
mod evolution;
mod json;
mod limits;
mod memory;
mod mistakes;
mod queries;
mod random;
mod random_naive;
mod random_queries;
mod random_types;
mod reference;
mod stores;
