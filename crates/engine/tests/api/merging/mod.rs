//! Merge operators and merge functions.

mod large_merges;
mod merge_functions;
mod merges;
mod overflows;
