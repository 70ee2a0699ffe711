//! How a piece of work is measured: clocks and order statistics, memory and space, rounds of engines side by side,
//! processes of their own, directories of a run, and the timed loops of reads.

pub mod child;
pub mod clock;
pub mod java;
pub mod machine;
pub mod page_cache;
pub mod places;
pub mod reads;
pub mod rounds;
pub mod space;
pub mod statistics;
pub mod warm;
pub mod written;
