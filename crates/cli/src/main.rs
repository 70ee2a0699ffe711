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

use notation::printable;

/// Counts memory for `rdf query --memory-max` and similar limits.
#[cfg(feature = "rdf")]
#[global_allocator]
static ALLOCATOR: fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();

fn main() -> ExitCode {
    #[cfg(unix)]
    block_file_size_signal();
    internal_error::report_panics();
    match internal_error::catch(|| commands::run(arguments::Arguments::of_process().verb)) {
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

/// Blocks the signal of a file that would exceed the limit of the system (`ulimit -f`). The write then returns an
/// error, which the program prints. Threads and programs that are started later inherit this.
#[cfg(unix)]
fn block_file_size_signal() {
    use nix::sys::signal::{SigSet, Signal};

    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // If it fails, the signal ends the program.
    let _ = signals.thread_block();
}
