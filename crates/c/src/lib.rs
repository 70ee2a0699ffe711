//! The C library of Fulgurite. `bindings/c/include/fulgurite.h` declares its functions.
//!
//! Nothing that a C program does wrong with handles may harm the process:
//!
//! - C holds objects by handles (`handles`). A handle of a closed object is an error.
//! - A call holds its object until it returns, so closing an object waits for running calls.
//! - A panic becomes the code `FULGURITE_INTERNAL`.
//!
//! Two rules are the caller's: pointers point to as many bytes as their lengths say, and returned bytes are not read
//! after they end. `bindings/c/include/fulgurite.h` says when they end.
#![allow(non_camel_case_types)] // The names of C.

mod arguments;
mod bulk;
mod changes;
mod code;
mod cursors;
mod databases;
mod events;
mod handles;
mod maintenance;
mod merge_functions;
mod options;
mod reads;
mod tables;
mod transactions;
mod writes;

pub use changes::fulgurite_change_kind;
pub use options::{fulgurite_durability, fulgurite_isolation, fulgurite_merge_operator};
