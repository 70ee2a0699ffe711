//! What the bindings for other languages share.
//!
//! - [`Registry`]: objects by number, so that a handle of a closed object is an error and never a dangling pointer.
//! - [`Opening`]: which object of a database closes it, if a process opens the database several times.
//! - [`HeldCursor`], [`HeldValue`]: cursors and values that keep their transaction, for languages without lifetimes.
//! - [`kind`]: names of errors that all bindings use.
//! - [`type_name`]: names of the types of tables.

mod held;
pub mod kind;
mod openings;
mod registry;
mod types;

pub use held::{HeldCursor, HeldValue};
pub use openings::{Opened, Opening};
pub use registry::Registry;
pub use types::type_name;
