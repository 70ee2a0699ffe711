//! Read and write transactions, as users have them.
//!
//! [`write_txn`] has the write transaction with its puts. What else it does is in a file for each subject.

pub mod commit;
pub mod cursor_mut;
pub mod edit;
pub mod extract_if;
pub mod merges;
pub mod modify;
pub mod pop;
pub mod read_txn;
pub mod tables;
pub mod write_txn;
