//! `events`: the verbs for event stores, one file each.

mod append;
mod check;
mod consumers;
mod event_json;
mod follow;
mod input_event;
mod opened;
mod read;
mod reindex;
mod removal;
mod replay;
mod run;
mod salvage;
mod stats;
mod streams;

pub use run::run;
