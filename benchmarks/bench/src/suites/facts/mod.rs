//! The command `glean`: facts here and in LMDB, the queries of Glean's benchmark, listings of code, and images.

mod browsing;
mod command;
mod images;
mod queries;
mod query_rows;
mod report;
mod schema;
mod store_rows;
mod workload;

pub use command::execute;
