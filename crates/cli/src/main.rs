//! Command line for Fulgurite databases: reads the arguments, runs the verb, and returns an exit code.

mod arguments;
mod column;
mod commands;
mod database;
mod entries;
mod failure;
mod internal_error;
mod json;
mod notation;
mod output;
mod progress;
mod records;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use notation::printable;

/// Counts memory for `rdf query --memory-max` and similar limits.
#[cfg(feature = "rdf")]
#[global_allocator]
static ALLOCATOR: fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();

fn main() -> ExitCode {
    internal_error::report_panics();
    match internal_error::catch(|| commands::run(arguments::Arguments::parse().verb)) {
        Err(internal_error) => ExitCode::from(internal_error.exit_code()),
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            if !failure.is_silent() {
                // One line, even if a name in a damaged file has line ends. If standard error is closed, the exit code
                // must do.
                let _ = writeln!(std::io::stderr(), "fulgurite: {}", printable(&failure.to_string()));
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
