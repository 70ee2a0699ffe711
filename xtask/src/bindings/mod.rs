//! `cargo xtask bindings`: the bindings for C, Python and Go.

mod c;
mod command;
mod environment;
mod go;
mod guide;
mod library;
mod python;

pub use command::{BINDINGS, check_c, check_go, check_python};
