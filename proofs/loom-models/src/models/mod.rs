//! What threads do in each model, and which faults must be found there.

mod all;
mod commit;
mod database;
mod delta;
mod group_sync;
mod model;
mod prefix;
mod reclaim;
mod slots;
mod turn;

pub use all::MODELS;
pub use model::Model;
