//! Benchmarks of Fulgurite beside other engines: `cargo xtask bench` and the name of a suite.
//!
//! Reading order: `house` starts a suite, with `arguments`, and prints its `report` with what `judge` makes of it. Of `core`, `workload`
//! names what is measured and `plan` says on which data; `suite` runs it through `reads`, `writes` and `worker`, and `bars` are its
//! bars. `writers`, `sustained`, those of `tables`, that of `quads` and `limits` are suites of their own, with the same parts. `compare`
//! compares what two runs have written.

mod arguments;
mod bars;
mod child;
mod clock;
mod command_line;
mod compare;
mod core_suite;
mod counting_disk;
mod dataset;
mod engines;
mod error;
mod fulgurite;
mod house;
mod judge;
mod limits;
mod machine;
mod places;
mod plan;
#[cfg(test)]
mod planted;
mod planted_writing;
mod quads;
mod queries;
mod random;
mod reads;
mod report;
mod rounds;
mod self_test;
mod shape;
mod single_rounds;
mod space;
mod statistics;
mod suite;
mod sustained;
mod tables;
mod values;
mod verify;
mod warm;
mod worker;
mod workload;
mod writers;
mod writes;

use std::process::ExitCode;

use error::Error;

fn main() -> ExitCode {
    match house::start(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            match error {
                Error::Usage(_) | Error::Input { .. } => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
