//! `facts`: the verbs for databases of facts, one file each.

mod code;
mod create;
mod database;
mod derived;
mod files;
mod finish;
mod query;
mod run;
mod schema;
mod serve;
mod shell;
mod slicing;
mod stats;
mod write;

pub use run::run;
