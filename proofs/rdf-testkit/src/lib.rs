//! Proofs of the quad store: no power cut leaves half a change, and no damage to its tables does harm.

mod contents;
mod damage;
mod power;
mod workload;

pub use contents::Contents;
pub use damage::{Damage, DamageReport, Damager};
pub use power::QuadSession;
