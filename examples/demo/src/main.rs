//! Shows what Fulgurite does, on real data: WordNet as tables of a key-value store, Debian's packages as RDF, an index
//! of code as facts, and the flights of a year as events.
//!
//! Reading order: [`run`] (the order of the acts), then an act each: [`load`], [`questions`], [`change`], [`crash`],
//! [`packages`], [`code`], [`flights`].

mod change;
mod code;
mod crash;
mod debian;
mod error;
mod figures;
mod flights;
mod load;
mod packages;
mod questions;
mod report;
mod run;
mod schema;
mod wordnet;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueHint};

use crate::run::Run;

/// Load WordNet into a database, query it, crash it and recover it; load Debian's packages as RDF and query them by
/// SPARQL; index code and ask about it; append flights as events and replay them.
///
/// `cargo xtask demo` builds this program and runs it on the data of the repository.
#[derive(Debug, Parser)]
#[command(name = "fulgurite-demo", version, max_term_width = 100)]
struct Arguments {
    /// The directory of the data: `data` in the repository.
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    data: Option<PathBuf>,
    /// The database to create. The RDF store and the event store are created next to it.
    #[arg(long, value_name = "FILE", default_value = "wordnet.ful", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Index an earlier output of rust-analyzer, also if this machine has rust-analyzer.
    #[arg(long)]
    code_sample: bool,
    /// Replace the databases if they exist.
    #[arg(long)]
    yes: bool,
    /// Used by the program itself: commit to the database until killed, and print the number of each commit.
    #[arg(long, hide = true)]
    commit_until_killed: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = if arguments.commit_until_killed {
        crash::commit_until_killed(&arguments.out)
    } else {
        run::run(&Run {
            data: arguments.data.as_deref(),
            path: &arguments.out,
            yes: arguments.yes,
            code_sample: arguments.code_sample,
        })
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has ended, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fulgurite-demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &error::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
