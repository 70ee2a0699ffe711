//! Consumers: followers, and views that are folded from events exactly once.

pub mod follower;
#[cfg(unix)]
mod hello;
#[cfg(unix)]
mod named;
pub mod parallel;
pub mod rebuild;
mod rebuilding;
#[cfg(unix)]
pub mod remote;
#[cfg(unix)]
pub mod serve;
pub mod signal;
pub mod stop;
pub mod view;
#[cfg(unix)]
pub mod wire;
