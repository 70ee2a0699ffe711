//! Other interfaces to a database: typed tables, multimaps, bulk loads, the change feed.

pub mod bulk_load;
pub mod change_feed;
pub mod multimap;
pub mod typed;
