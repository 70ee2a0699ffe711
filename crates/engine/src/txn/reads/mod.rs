//! Every way to read one table as a transaction sees it: its own changes, then the deltas, the runs and the tree.
//!
//! [`read_methods`] shows where a get begins; [`layers`] has gets, [`walk`] has all walks in the order of keys.

pub mod bounds;
pub mod count;
pub mod cursor;
pub mod key_batches;
pub mod key_range;
pub mod layers;
pub mod leaf_batches;
pub mod owned_range;
pub mod range;
pub mod read_methods;
pub mod read_set;
pub mod salvage;
pub mod walk;
