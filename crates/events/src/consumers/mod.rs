//! Consumers: followers, and views that are folded from events exactly once.

pub mod follower;
pub mod rebuild;
#[cfg(unix)]
pub mod remote;
#[cfg(unix)]
pub mod serve;
pub mod signal;
pub mod stop;
pub mod view;
#[cfg(unix)]
pub mod wire;
