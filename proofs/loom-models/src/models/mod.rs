//! What threads do in each model, and which faults must be found there.

mod all;
mod commit;
mod database;
mod delta;
mod group_sync;
mod model;
mod reclaim;
mod slots;
mod turn;
mod visible;

pub use all::MODELS;
pub use model::Model;
