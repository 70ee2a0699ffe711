//! What is stored and asked for: keys of several shapes, values, data sets of both, and queries with the answers to
//! expect.

pub mod dataset;
pub mod queries;
pub mod random;
pub mod shape;
pub mod values;
pub mod zipf;
