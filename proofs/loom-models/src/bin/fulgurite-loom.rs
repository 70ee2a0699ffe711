//! Explores the models: `cargo xtask loom`.
#![cfg(not(test))]

use std::process::ExitCode;

fn main() -> ExitCode {
    fulgurite_loom::exploration::main()
}
