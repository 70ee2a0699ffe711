//! The read and write transactions of the public API.
//!
//! [`write_txn`] has the write transaction and its puts. Its other methods are in a file for each subject.

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
