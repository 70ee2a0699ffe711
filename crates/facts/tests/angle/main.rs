//! Angle: encodings, schemas, facts as JSON, and queries.

mod memory;
mod queries;
