//! The simulation: the engine's work in the background, interleaved with the foreground step by step, as a seed
//! decides.
//!
//! The engine is the real one, with its thread in the background. All threads (that one, one that changes, asks and
//! closes, and one that only asks) hand a baton to each other at every lock, wait, time and call of the disk
//! (`fulgurite::planted::simulation`), so that a seed decides all that comes in between, and is run again as it was.
//! A lock that is held is waited for in the scheduler: this lets threads hand over while they hold locks, which they
//! do in life, and a deadlock is found rather than slept in. Time is simulated too: merges that wait for a second
//! without commits, or for an hour after a full disk, cost nothing.
//!
//! - `scheduler`: who runs, and what time it is.
//! - `disk`: calls that are steps, that fail, and at which the power may be cut.
//! - `model`: what every version holds; `reading`: answers compared with it.
//! - `world`: the state of a simulation; `deck`: what lives are drawn from; `run`: a database's lives; `writing`:
//!   transactions, tables and loads; `endings`: soundness, space, cuts and recoveries.
//! - `tally`: what was done and met, and must have been.

mod deck;
mod disk;
mod endings;
mod model;
mod reading;
mod run;
mod scheduler;
mod tally;
mod world;
mod writing;

pub use run::{Plan, simulate};
pub use tally::Tally;
