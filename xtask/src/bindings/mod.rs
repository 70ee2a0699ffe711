//! `cargo xtask bindings`: the bindings for C, Python and Go.

mod bench;
mod c;
mod command;
mod environment;
mod go;
mod guide;
mod library;
mod packaging;
mod python;

pub use bench::bench;
pub use command::{BINDINGS, check_c, check_go, check_python};
pub use packaging::INSTALL_C;
