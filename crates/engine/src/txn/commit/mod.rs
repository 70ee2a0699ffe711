//! The state that the transactions of an open database share, and how their changes become commits.
//!
//! Begin with [`steps`], which names the steps of a commit. [`check`] defines a conflict, [`core`] has the shared
//! state.

pub mod begin;
pub mod check;
pub mod commit_spilled;
pub mod core;
pub mod exclusive;
pub mod footprints;
pub mod in_place;
pub mod journal;
pub mod merges;
pub mod note;
pub mod proposal;
pub mod rotation;
pub mod spilled_proposal;
pub mod steps;
