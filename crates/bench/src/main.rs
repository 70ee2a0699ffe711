//! Benchmarks of Fulgurite beside other engines: `cargo xtask bench core`, `cargo xtask bench writers` and
//! `cargo xtask bench sustained`.
//!
//! Reading order: `workload` names what is measured and `plan` says on which data; `suite` runs it through `reads`,
//! `writes` and `worker`; `report` prints it and `bars` judges it. `writers` and `sustained` are suites of their own, with the same
//! parts.

mod arguments;
mod bars;
mod child;
mod clock;
mod command_line;
mod counting_disk;
mod dataset;
mod engines;
mod error;
mod fulgurite;
mod machine;
mod places;
mod plan;
#[cfg(test)]
mod planted;
mod planted_writing;
mod queries;
mod random;
mod reads;
mod report;
mod rounds;
mod self_test;
mod shape;
mod space;
mod statistics;
mod suite;
mod sustained;
mod values;
mod verify;
mod warm;
mod worker;
mod workload;
mod writers;
mod writes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fulgurite_rivals::{Engine, Lmdb};

use arguments::{Command, Format, Options};
use error::{Error, Result};
use fulgurite::Fulgurite;
use report::Report;
use self_test::LmdbAgain;
use worker::Task;

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)).and_then(execute) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            match error {
                Error::Usage(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Runs a command; says whether everything that was judged is as it should be.
fn execute(command: Command) -> Result<bool> {
    match command {
        Command::Help => {
            print!("{}", arguments::help());
            Ok(true)
        }
        Command::HelpWriters => {
            print!("{}", writers::arguments::help());
            Ok(true)
        }
        Command::Writers(options) => run_writers(&options),
        Command::HelpSustained => {
            print!("{}", sustained::arguments::help());
            Ok(true)
        }
        Command::Sustained(options) => run_sustained(&options),
        Command::SustainedTask(arguments) => sustained::work(&arguments).map(|()| true),
        Command::Fill(arguments) => writers::recovery::fill(&arguments).map(|()| true),
        Command::Worker(arguments) => {
            let task = Task::parse(&arguments)?;
            match task.self_test {
                true => task.run::<LmdbAgain, Lmdb>()?,
                false => task.run::<Fulgurite, Lmdb>()?,
            }
            Ok(true)
        }
        Command::Core(options) if options.self_test => core::<LmdbAgain, Lmdb>(&options),
        Command::Core(options) => core::<Fulgurite, Lmdb>(&options),
    }
}

fn core<F: Engine, L: Engine>(options: &Options) -> Result<bool> {
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let directory = options.directory.clone().map_or_else(default_directory, Ok)?;
    eprintln!("{}; queries: --seed {seed}", machine::summary(None));
    let mut report = suite::run::<F, L>(options, &directory, seed)?;
    complete(&mut report, seed, options.out.as_deref())?;
    print_report(&report, options.format, judgement(options, &report))
}

fn run_writers(options: &writers::Options) -> Result<bool> {
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let directory = options.directory.clone().map_or_else(default_directory, Ok)?;
    eprintln!("{}; queries: --seed {seed}", machine::summary(None));
    let mut report = writers::run(options, &directory, seed)?;
    complete(&mut report, seed, options.out.as_deref())?;
    print_report(&report, options.format, writers::judgement(options, &report))
}

fn run_sustained(options: &sustained::Options) -> Result<bool> {
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let directory = options.directory.clone().map_or_else(default_directory, Ok)?;
    eprintln!("{}; queries: --seed {seed}", machine::summary(None));
    if options.self_test {
        let (judgement, good) = sustained::self_test(options, &directory, seed)?;
        print!("{judgement}");
        return Ok(good);
    }
    let mut report = sustained::run(options, &directory, seed)?;
    complete(&mut report, seed, options.out.as_deref())?;
    print_report(&report, options.format, sustained::judgement(options, &report))
}

/// Notes what the figures were measured on, and writes their lines to a file that was asked for.
fn complete(report: &mut Report, seed: u64, out: Option<&Path>) -> Result<()> {
    report.notes.push(format!("{}; queries: --seed {seed}", machine::summary(report.search)));
    match out {
        Some(path) => std::fs::write(path, report.json()).map_err(|error| Error::io("write", path, error)),
        None => Ok(()),
    }
}

/// Prints what was found and how it is judged; passes on whether all is well.
fn print_report(report: &Report, format: Format, (judgement, good): (String, bool)) -> Result<bool> {
    match format {
        Format::Table => print!("{}\n{judgement}", report.table()),
        Format::Json => {
            print!("{}", report.json());
            eprint!("{judgement}");
        }
    }
    Ok(good)
}

/// The verdicts and a last line, and whether all is well.
fn judgement(options: &Options, report: &Report) -> (String, bool) {
    if options.self_test {
        return self_test::judgement(report);
    }
    if options.quick {
        return ("bars: not judged (--quick)\n".to_owned(), true);
    }
    let (verdicts, unmeasured) = bars::judge(&bars::bars(), report);
    bars::judgement(&verdicts, unmeasured)
}

/// `bench` beside the directory of this program, which cargo puts into `target/release`.
fn default_directory() -> Result<PathBuf> {
    let program = std::env::current_exe().map_err(|error| Error::io("find", Path::new("this program"), error))?;
    let target = program.ancestors().nth(2).unwrap_or(Path::new("."));
    Ok(target.join("bench"))
}

fn seed_of_the_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| random::mix(since.as_nanos() as u64))
}
