//! The arguments of the command line. Doc comments of arguments and verbs are the help that users read.

#[cfg(feature = "facts")]
pub mod code;
#[cfg(feature = "events")]
pub mod events;
#[cfg(feature = "facts")]
pub mod facts;
#[cfg(feature = "facts")]
pub mod facts_database;
#[cfg(feature = "facts")]
pub mod facts_files;
#[cfg(feature = "facts")]
pub mod facts_serve;
mod program;
#[cfg(feature = "rdf")]
pub mod rdf;
#[cfg(any(feature = "facts", feature = "rdf"))]
pub mod serving;
mod shared;
mod verbs;

pub use program::{Arguments, Verb};
pub use shared::{CreateArguments, FileFormat, OutputFormat, RangeArguments, WriteArguments};
pub use verbs::{
    Backup, Changes, Check, Compact, Completions, Count, Del, Export, Get, Image, Import, Man, Put, Restore, Scan,
    Stats, Tables,
};
