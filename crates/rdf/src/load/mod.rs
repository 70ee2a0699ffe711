//! The bulk loader.

mod options;

pub use options::{BadStatement, LoadInput, LoadOptions, LoadProgress, LoadReport};
