//! Tables: how they are created, renamed and counted.

mod estimates;
mod renames;
mod tables;
