//! External sort: key-value records in any order come out in order of their keys, in bounded memory.
//!
//! [`Sorter`] gathers records in an arena. When that reaches the memory budget it is sorted and written as a *run* to a
//! file beside the database; [`Sorted`] merges the runs. Input that fits in memory is never written to disk.
//!
//! The stages, each in a file of its own: `arena` holds records, `order` sorts them by caching eight bytes of each key
//! beside it, `run` writes and reads runs, `merge` merges them, `scratch` names their files, `sorter` decides.
//! [`Order`] alone sorts records that are elsewhere in memory.

mod arena;
mod merge;
mod order;
mod run;
mod scratch;
mod sorter;

pub use order::{Order, Records, Walk};
pub use scratch::remove_leftovers;
pub use sorter::{SortOptions, Sorted, Sorter};
