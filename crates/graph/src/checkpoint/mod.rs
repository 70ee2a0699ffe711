//! Checkpoints: states of the database in another storage. Only changes are sent.

pub mod checkpoints;
pub mod compression;
pub mod delta;
pub mod error;
pub mod fields;
pub mod hashing;
pub mod local;
pub mod manifest;
pub mod names;
pub mod segments;
pub mod storage;
pub mod unsynced;
