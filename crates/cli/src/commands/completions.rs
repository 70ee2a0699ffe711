//! `completions`: what a shell needs to complete our arguments.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::failure::Failure;
use crate::output::standard_output;

/// Prints the completions for a shell.
pub fn run(arguments: &Completions) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "fulgurite", &mut text);
    let mut out = standard_output();
    out.write_all(&text).and_then(|()| out.flush()).map_err(Failure::Output)
}
