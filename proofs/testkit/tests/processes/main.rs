//! What the operating system does to processes and files, and what databases make of it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

mod child;
mod databases;
mod disk;
