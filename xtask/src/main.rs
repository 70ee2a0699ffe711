//! Developer tasks of the Fulgurite workspace: `cargo xtask COMMAND`.
//!
//! Reading order: [`commands`] (their table), [`launch`] and [`miri`] (commands that build a program and run it),
//! [`instructions`] (counts that may not rise), [`lanes`] (programs side by side), [`ci`] (`test`: everything that CI
//! checks), [`tidy`] (rules on the sources that no compiler knows), [`java`] (the Java binding),
//! [`bindings`] (those for C, Python and Go), [`page`] (the editor
//! in the page of the server, and tries of it), [`tools`] (what these install).

mod bench;
mod bindings;
mod ci;
mod command;
mod commands;
mod docs;
mod events;
mod geaflow;
mod instructions;
mod java;
mod lanes;
mod launch;
mod miri;
mod page;
mod step;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    commands::run(&arguments)
}
