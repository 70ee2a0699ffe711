//! Write transactions: what they see, what conflicts, and what they leave.

mod cursors;
mod edits;
mod guards;
mod large_values;
mod letters;
mod modify;
mod spilled;
mod transactions;
mod writers;
