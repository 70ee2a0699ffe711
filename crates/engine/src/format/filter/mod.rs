//! The filter of a run.

mod key_filter;
mod line;

pub use key_filter::{build_filter, filter_line, filter_line_passes, filter_passes};
pub use line::{LINE_BYTES, has_bits};
