//! Consumers: followers, and views that are folded from events exactly once.

pub mod follower;
pub mod rebuild;
pub mod signal;
pub mod stop;
pub mod view;
