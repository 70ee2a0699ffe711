//! Write transactions: what they see, what conflicts, and what they leave.

mod edits;
mod guards;
mod large_values;
mod spilled;
mod transactions;
mod writers;
