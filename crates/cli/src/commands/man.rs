//! `man`: the manual pages, made of the same text as the help.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, Man};
use crate::failure::Failure;

/// Writes a page for the program and one for each verb.
pub fn run(arguments: &Man) -> Result<(), Failure> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory).map_err(|error| Failure::file(directory, "cannot be created", &error))?;
    clap_mangen::generate_to(Arguments::command(), directory)
        .map_err(|error| Failure::file(directory, "writing failed", &error))?;
    let path = directory.join("fulgurite.1");
    let _ = writeln!(std::io::stderr(), "manual pages written; read them with: man {}", path.display());
    Ok(())
}
