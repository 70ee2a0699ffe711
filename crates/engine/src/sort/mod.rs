//! External sort: key-value records in any order come out in order of their keys, in bounded memory.
//!
//! [`Sorter`] gathers records in an arena. When that reaches the memory budget it is sorted and written as a *run* to a
//! file beside the database; [`Sorted`] merges the runs. What fits in memory never touches the disk.
//!
//! The stages, each in a file of its own: `arena` holds records, `order` sorts them by caching eight bytes of each
//! key beside it, `run` writes and reads runs, `merge` merges them, `scratch` names their files, `sorter` decides.
//! Records that lie elsewhere in memory are sorted there by [`Order`] alone.

mod arena;
mod merge;
mod order;
mod run;
mod scratch;
mod sorter;

pub use order::{Order, Records, Walk};
pub use scratch::remove_leftovers;
pub use sorter::{SortOptions, Sorted, Sorter};
